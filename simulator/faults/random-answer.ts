/** The fault `random-answer`: sends a random answer instead of the true one, but never a false one that no client can detect. */

import { isTrueOrDetectable, madeDetectable, type TrueTrade } from '../answers/ended.ts';
import { type DrawContext, type DrawnAnswer, drawAnswer, toAnswer } from '../answers/random-answer.ts';
import { type Answer, ORDER_NOT_EXIST } from '../http/envelope.ts';
import type { Exchange } from '../http/exchange.ts';
import { parsedOrNothing } from '../http/operation.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import type { Order } from '../orders/order.ts';
import { payoutOrderView, tradeDetailView, tradeResultView, withoutOddity } from '../orders/views.ts';
import { chance, type Random, seededRandom, seedOf } from '../runtime.ts';
import type { World } from '../world.ts';
import type { Fault, OperationName } from './rules.ts';

type RandomAnswer = Extract<Fault, { kind: 'random-answer' }>;

/** All other operations only read, or create what costs nothing: a quote, a token. */
const OPERATIONS_WITH_EFFECT: readonly OperationName[] = [
  'createCnyOrder',
  'oauthToken',
  'receivingAccountCreate',
];
const MAX_OTHERS = 10;
/** A code that the spec does not name and no setting uses. */
const UNNAMED_CODE = 65_432;

export async function answerAtRandom(exchange: Exchange, fault: RandomAnswer, random: Random): Promise<void> {
  const { operation, received } = exchange;
  const commits = fault.effect ? fault.effect === 'commit' : chance(random, 0.5);
  const truth =
    OPERATIONS_WITH_EFFECT.includes(operation.name) && !commits
      ? exchange.preview()
      : dataOf(await exchange.perform());
  const asked = askedOf(exchange);
  const drawn = drawAnswer(operation.name, random, contextOf(exchange, asked, truth));
  const answer = restricted(exchange, fault, asked, drawn, random);
  const bare = operation.style === 'V1' && received.world.settings.v1Envelope === 'bare';
  exchange.sendFalse(toAnswer(answer, operation.style, bare), drawn.sort);
}

interface AskedAbout {
  clientId: string;
  partnerOrderId: string;
  order: Order | undefined;
}

function askedOf({ operation, received }: Exchange): AskedAbout {
  const parsed = parsedOrNothing(received.rawBody);
  const body = isJsonObject(parsed) ? parsed : {};
  const clientId = textIn(body, 'client_id');
  const { orders } = received.world;
  if (operation.name === 'queryDetail') {
    const order = orders.byOrderId(received.params['orderId'] ?? '');
    return { clientId, partnerOrderId: order?.outOrderId ?? '', order };
  }
  const partnerOrderId = textIn(body, 'partner_order_id') || textIn(body, 'outOrderId');
  return { clientId, partnerOrderId, order: orders.byPartnerOrderId(partnerOrderId)[0] };
}

function textIn(body: JsonObject, field: string): string {
  const value = body[field];
  return typeof value === 'string' ? value : '';
}

function contextOf({ operation, received }: Exchange, asked: AskedAbout, truth: unknown): DrawContext {
  const { world } = received;
  const view = viewOf(operation.name, world, asked.clientId);
  const others = view ? othersThan(world, asked.order).map(view) : [];
  const echo = echoOf(operation.name, asked, received.params['orderId']);
  return { truth, others, echo, terms: asked.order?.price };
}

function echoOf(operation: string, { clientId, partnerOrderId }: AskedAbout, orderId = ''): JsonObject {
  if (operation === 'queryResult' || operation === 'queryPayDetail')
    return { client_id: clientId, partner_order_id: partnerOrderId };
  if (operation === 'createCnyOrder') return { receiver: { outOrderId: partnerOrderId } };
  if (operation === 'queryDetail') return { orderId };
  return operation === 'accountQuery' ? { client_id: clientId } : {};
}

function viewOf(
  operation: string,
  world: World,
  clientId: string,
): ((order: Order) => JsonObject) | undefined {
  if (operation === 'queryResult') return (order) => tradeResultView(withoutOddity(order), clientId, world);
  if (operation === 'queryPayDetail')
    return (order) => tradeDetailView(withoutOddity(order), clientId, world);
  if (operation === 'queryDetail' || operation === 'createCnyOrder')
    return (order) => payoutOrderView(withoutOddity(order), world);
  return undefined;
}

function othersThan(world: World, order: Order | undefined): Order[] {
  return [...world.orders.all()].filter((other) => other !== order).slice(-MAX_OTHERS);
}

/** Removes what the fault must not say about an order. */
function restricted(
  exchange: Exchange,
  fault: RandomAnswer,
  asked: AskedAbout,
  drawn: DrawnAnswer,
  random: Random,
): DrawnAnswer {
  const { operation, received } = exchange;
  const { name } = operation;
  const honest = withTrueBeneficiary(asked.order, drawn);
  if (name === 'createCnyOrder') return withoutStatedRefusal(exchange, honest);
  const present = mayDenyOrder(asked.order, fault, received.world) ? honest : withoutDenial(name, honest);
  if (name !== 'queryResult' && name !== 'queryPayDetail') return present;
  const { clientId, partnerOrderId, order } = asked;
  const about = {
    asked: { clientId, partnerOrderId, target: order?.price.target },
    truth: order && trueTrade(order, clientId, received.world),
    mayContradict: contradictingQuery(partnerOrderId) === name,
  };
  const data = madeDetectable(present.data, random, (candidate) =>
    isTrueOrDetectable(name, candidate, about),
  );
  return { ...present, data };
}

/** An order that pays another beneficiary is recognized by these fields only: the trade queries do not have them. */
function withTrueBeneficiary(order: Order | undefined, drawn: DrawnAnswer): DrawnAnswer {
  const { data } = drawn;
  if (!order?.plan.otherBeneficiary || !isJsonObject(data)) return drawn;
  const { bankAccountNumber, bankAccountName, bankName } = order.receiver;
  const named = isJsonObject(data['receiver']) ? data['receiver'] : {};
  const receiver = { ...named, bankAccountNumber, bankAccountName, bankName };
  return { ...drawn, data: { ...data, receiver } };
}

function trueTrade(order: Order, clientId: string, world: World): TrueTrade {
  const plain = withoutOddity(order);
  return {
    queryResult: tradeResultView(plain, clientId, world),
    queryPayDetail: tradeDetailView(plain, clientId, world),
  };
}

/** The trade query of an order whose false answers only the other query can reveal (see `isTrueOrDetectable`). */
function contradictingQuery(partnerOrderId: string): 'queryResult' | 'queryPayDetail' {
  return chance(seededRandom(seedOf(partnerOrderId)), 0.5) ? 'queryResult' : 'queryPayDetail';
}

/**
 * Whether the answer may be "order not exist" although the order exists. Right after the creation, it is read lag.
 * Later, only a client that knows of the order can detect it.
 */
function mayDenyOrder(
  order: Order | undefined,
  { denyMs }: RandomAnswer,
  { clock, remembers }: World,
): boolean {
  if (order === undefined) return true;
  const { createdAtMs, isKnown, outOrderId = '' } = order;
  return clock.nowMs() - createdAtMs < denyMs || (isKnown && remembers(outOrderId, createdAtMs));
}

function withoutDenial(operation: string, drawn: DrawnAnswer): DrawnAnswer {
  if (!['queryResult', 'queryPayDetail', 'queryDetail'].includes(operation)) return drawn;
  const code = Number(drawn.code) === ORDER_NOT_EXIST ? UNNAMED_CODE : drawn.code;
  return { ...drawn, code, status: drawn.status === 404 ? 500 : drawn.status };
}

/** After a create that took effect, no code is sent that the settings define as "not created". */
function withoutStatedRefusal({ received, wasCreated }: Exchange, drawn: DrawnAnswer): DrawnAnswer {
  const { settings } = received.world;
  const stated = [
    settings.lockExpiredCode,
    settings.insufficientCode,
    settings.repeatedCode,
    settings.lockMismatchCode,
    settings.accountNotUsableCode,
  ];
  return wasCreated && stated.includes(Number(drawn.code)) ? { ...drawn, code: UNNAMED_CODE } : drawn;
}

/** The data of an answer, with or without an envelope; undefined for a refusal. */
function dataOf({ status, text, code }: Answer): unknown {
  const body = parsedOrNothing(text);
  if (code === null) return body;
  return status < 300 && (code === 0 || code === 200) && isJsonObject(body) ? body['data'] : undefined;
}
