/**
 * Checks that the provider received what the caller requested, that no create of unknown outcome is forgotten, and that
 * results and orders add up to the same sums.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CreateRecord, OrderRecord } from '../../simulator/index.ts';
import { sameBody } from '../../src/client/start-once.ts';
import { sumMoney } from '../../src/contract/money.ts';
import type { PayoutResult } from '../../src/contract/payout.ts';
import { fieldsIn } from '../provider/wiretap.ts';
import { APP_IDS, appOf, metadataValue, partnerOrderIdOf } from './payout-world.ts';
import type { PlannedPayout } from './planned.ts';
import type { Feature, Scene } from './scene.ts';

export class Orders implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async check(): Promise<void> {
    const { plan, system } = this.scene;
    const { orders, creates } = system.provider.control.ledger();
    for (const payout of plan.payouts) {
      const partnerOrderId = partnerOrderIdOf(payout.number);
      const isOurs = (one: { partnerOrderId: string | null }) => one.partnerOrderId === partnerOrderId;
      const sent = creates.filter(isOurs);
      const result = this.scene.results.get(payout.number);
      for (const problem of [
        ...sent.flatMap((create) => bodyProblems(create, payout)),
        ...orders.filter(isOurs).flatMap((order) => orderProblems(order, payout)),
        // A restored Temporal may have forgotten the create.
        ...(result && !plan.restored ? forgottenCreateProblems(result, sent) : []),
        ...(result ? metadataProblems(result, payout) : []),
      ])
        system.world.violation(`${partnerOrderId} ${problem}`);
    }
    // A payout with an order may be open, be reset while the others are checked, or be forgotten by a restore.
    const isCounted = ({ number }: PlannedPayout) =>
      this.scene.results.has(number) ||
      !orders.some((order) => order.partnerOrderId === partnerOrderIdOf(number));
    if (plan.payouts.every(isCounted)) this.checkSums(orders);
  }

  /** The debits in the results equal the debits of the orders. */
  private checkSums(orders: readonly OrderRecord[]): void {
    const results = [...this.scene.results.values()];
    const debits = results.flatMap((result) => result.debits.map(({ pay }) => pay));
    const paid = orders.map(({ pay }) => pay);
    for (const currency of new Set([...debits, ...paid].map((money) => money.currency))) {
      const sumIn = (all: typeof paid) =>
        sumMoney(
          currency,
          all.filter((money) => money.currency === currency),
        ).amount;
      const [reported, debited] = [sumIn(debits), sumIn(paid)];
      if (reported !== debited)
        this.scene.system.world.violation(
          `the results report ${reported} ${currency} as debited, and the orders debited ${debited}`,
        );
    }
  }
}

/** After a create of unknown outcome, only a found order or a person ends the payout. */
function forgottenCreateProblems({ outcome, reason }: PayoutResult, sent: readonly CreateRecord[]): string[] {
  if (outcome !== 'NOT_CREATED' || reason?.code === 'RESOLVED_NOT_CREATED') return [];
  const problem = "ended NOT_CREATED without a person's decision after a create of unknown outcome";
  return sent.some(isUnknown) ? [problem] : [];
}

function isUnknown({ answered }: CreateRecord): boolean {
  return answered === 'dropped' || answered === 429 || (answered !== null && answered >= 500);
}

function metadataProblems({ metadata = {} }: PayoutResult, { request }: PlannedPayout): string[] {
  return sameBody(metadata, request.metadata ?? {}) ? [] : ['ended with other metadata than requested'];
}

/** Every field of the table "Payout creation request" of the spec, and the lock, which determines the payer account. */
function bodyProblems({ body }: CreateRecord, { number, request }: PlannedPayout): string[] {
  const { partnerOrderId, instructedAmount, originCurrency, targetCurrency } = request;
  const { remittancePurposeCode, type, platform, receiver } = request;
  const { lockRateId, ...sent } = fieldsIn(Buffer.from(body));
  const requested: Record<string, unknown> = {
    outOrderId: partnerOrderId,
    instructedAmount: { currency: instructedAmount.currency, amount: Number(instructedAmount.amount) },
    exchange: { originCurrency, targetCurrency },
    remittancePurposeCode,
    type,
    platform,
    receiver,
  };
  const names = new Set([...Object.keys(sent), ...Object.keys(requested)]);
  const other = [...names].filter((name) => !isDeepStrictEqual(sent[name], requested[name]));
  // The parsed number may have lost digits.
  if (!body.includes(`"amount":${instructedAmount.amount}`)) other.push('instructedAmount');
  if (typeof lockRateId !== 'string') other.push('lockRateId');
  return [
    ...other.map((name) => `was sent with another ${name} than requested`),
    ...(body.includes(metadataValue(number)) ? ['was sent with its metadata'] : []),
  ];
}

function orderProblems(
  { instructed, payerId, appId }: OrderRecord,
  { number, request }: PlannedPayout,
): string[] {
  const { currency, amount } = request.instructedAmount;
  const isSame = instructed.currency === currency && instructed.amount === amount;
  return [
    !isSame && `is an order of ${instructed.amount} ${instructed.currency} instead of ${amount} ${currency}`,
    payerId !== request.payerId && `is charged to ${payerId}`,
    appId !== APP_IDS[appOf(number)] && `belongs to the application ${appId}`,
  ].filter((problem) => typeof problem === 'string');
}
