/** Turns a create request into an order: first all checks, then all effects. */
import { illegalParam, Refusal } from '../http/envelope.ts';
import { worsened } from '../money.ts';
import { newId } from '../runtime.ts';
import { type Lock, type Price, type PriceRequest, priceAt, rateOf, sameRequest } from '../state/quotes.ts';
import type { World } from '../world.ts';
import type { Order, Receiver } from './order.ts';
import { type Plan, parseScenario, ScenarioError } from './scenario.ts';

export interface CreateRequest {
  appId: string;
  outOrderId: string | undefined;
  lockRateId: string | undefined;
  request: PriceRequest;
  platform: string | undefined;
  receiver: Receiver;
}

export const SCENARIO_PREFIX = 'sim:';
/** The payer of orders without a lock, if the settings allow such orders. */
const NO_PAYER = 'payer-of-unlocked-orders';

export function createOrder(world: World, wanted: CreateRequest): Order {
  const { order, lock } = draftOrder(world, wanted);
  if (lock) lock.used = true;
  commit(world, order);
  return order;
}

/** The order that `wanted` would create. Checks everything and has no effect. */
export function draftOrder(world: World, wanted: CreateRequest): { order: Order; lock: Lock | undefined } {
  const { settings } = world;
  const plan = planOf(world, wanted);
  const repeated =
    wanted.outOrderId !== undefined && world.orders.byPartnerOrderId(wanted.outOrderId).length > 0;
  if (repeated && settings.repeatedCreate === 'refuse')
    throw new Refusal(settings.repeatedCode, 'out order id already used');
  const lock = lockOf(world, wanted);
  const payerId = lock?.payerId ?? NO_PAYER;
  const price = drifted(lock?.price ?? currentPrice(world, wanted.request), wanted.request, plan, world);
  const problem = world.accounts.problem(payerId, price.pay, settings);
  if (problem === 'not-usable') throw new Refusal(settings.accountNotUsableCode, 'account not usable');
  if (problem === 'insufficient') throw new Refusal(settings.insufficientCode, 'insufficient balance');
  return { order: newOrder(world, wanted, { plan, price, payerId, lock }), lock };
}

/** Adds an order without a create, a lock or a check of the payer's account. */
export function plantOrder(world: World, payerId: string, wanted: CreateRequest): Order {
  const plan = planOf(world, wanted);
  const price = drifted(currentPrice(world, wanted.request), wanted.request, plan, world);
  const order = newOrder(world, wanted, { plan, price, payerId, lock: undefined });
  commit(world, order);
  return order;
}

/** The only way to add an order: debits the payer, stores the order and starts its lifecycle. */
function commit(world: World, order: Order): void {
  world.accounts.debit(order.payerId, order.price.pay, world.settings);
  world.orders.add(order);
  world.life.begin(order);
}

function planOf(world: World, wanted: CreateRequest): Plan {
  const chosen = wanted.outOrderId === undefined ? undefined : world.scenarios.get(wanted.outOrderId);
  if (chosen) return chosen;
  const platform = wanted.platform ?? '';
  try {
    return parseScenario(
      platform.startsWith(SCENARIO_PREFIX) ? platform.slice(SCENARIO_PREFIX.length) : 'success',
    );
  } catch (error) {
    if (error instanceof ScenarioError) throw illegalParam(`platform: ${error.message}`);
    throw error;
  }
}

function lockOf(world: World, wanted: CreateRequest): Lock | undefined {
  const { settings, locks } = world;
  if (wanted.lockRateId === undefined && !settings.lockRequired) return undefined;
  const lock = locks.usable(wanted.lockRateId ?? '');
  if (!lock) throw new Refusal(settings.lockExpiredCode, 'lock expired');
  if (!sameRequest(lock.request, wanted.request))
    throw new Refusal(settings.lockMismatchCode, 'lock belongs to another amount');
  return lock;
}

function currentPrice(world: World, request: PriceRequest): Price {
  const rate = rateOf(request.originCurrency, request.targetCurrency, world.settings);
  const price = rate && priceAt(rate, request, world.settings);
  if (!price) throw illegalParam('exchange');
  return price;
}

/** The scenario `drift`: the order gets a worse rate than the locked one. */
function drifted(price: Price, request: PriceRequest, plan: Plan, world: World): Price {
  if (plan.driftPercent === 0) return price;
  return priceAt(worsened(price.rate, plan.driftPercent), request, world.settings) ?? price;
}

interface Decided {
  plan: Plan;
  price: Price;
  payerId: string;
  lock: Lock | undefined;
}

function newOrder(world: World, wanted: CreateRequest, decided: Decided): Order {
  const { plan, price, payerId, lock } = decided;
  const createdAtMs = world.clock.nowMs();
  return {
    orderId: newId(world.random, 'PO'),
    outOrderId: wanted.outOrderId,
    appId: wanted.appId,
    payerId,
    receiver: beneficiaryOf(wanted.receiver, plan),
    instructed: wanted.request.instructed,
    price,
    lockRateId: plan.lockIgnored ? null : (lock?.lockRateId ?? null),
    plan,
    status: 'PROCESSING',
    auditStatus: plan.auditWhileOpen,
    complete: false,
    v2Status: undefined,
    errorMsg: undefined,
    splits: [],
    returnedMinor: 0n,
    isKnown: false,
    createdAtMs,
    createdAtWallMs: world.clock.wallMs(),
    visibleAtMs: createdAtMs + (plan.readLagMs ?? world.settings.readLagMs),
    finalAtMs: undefined,
    finishedAtWallMs: undefined,
    oddAnswers: 0,
    answerPatches: new Map(),
  };
}

/** The scenario `other-beneficiary`: the order pays another beneficiary. */
function beneficiaryOf(receiver: Receiver, { otherBeneficiary }: Plan): Receiver {
  if (otherBeneficiary === 'account') return { ...receiver, bankAccountNumber: '6217000000009999999' };
  if (otherBeneficiary === 'name') return { ...receiver, bankAccountName: 'Somebody Else' };
  return otherBeneficiary === 'bank' ? { ...receiver, bankName: 'Another Bank' } : receiver;
}
