/** Whether what the provider was asked for is what the caller wanted, and whether no money is lost between the two. */
import type { CreateRecord, OrderRecord } from '../../simulator/index.ts';
import { sumMoney } from '../../src/domain/money.ts';
import { fieldsIn, isFields } from '../provider/wiretap.ts';
import { partnerOrderIdOf } from './payout-world.ts';
import type { PlannedPayout } from './plan.ts';
import type { Feature, Scene } from './scene.ts';

export class Orders implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async judge(): Promise<void> {
    const { plan, there } = this.scene;
    const { orders, creates } = there.provider.control.ledger();
    for (const payout of plan.payouts) {
      const partnerOrderId = partnerOrderIdOf(payout.number);
      const isOurs = (one: { partnerOrderId: string | null }) => one.partnerOrderId === partnerOrderId;
      for (const wrong of [
        ...creates.filter(isOurs).flatMap((create) => oddBody(create, payout)),
        ...orders.filter(isOurs).flatMap((order) => oddOrder(order, payout)),
      ])
        there.world.violation(`${partnerOrderId} ${wrong}`);
    }
    // Of the others nobody has said anything yet.
    if (this.scene.open.size === 0) this.judgeSums(orders);
  }

  /** All that left the accounts of payers is in the results, and nothing else. */
  private judgeSums(orders: readonly OrderRecord[]): void {
    const results = [...this.scene.results.values()];
    const debits = results.flatMap((result) => result.debits.map(({ pay }) => pay));
    const paid = orders.map(({ pay }) => pay);
    for (const currency of new Set([...debits, ...paid].map((money) => money.currency))) {
      const sumIn = (all: typeof paid) =>
        sumMoney(
          currency,
          all.filter((money) => money.currency === currency),
        ).amount;
      const [told, left] = [sumIn(debits), sumIn(paid)];
      if (told !== left)
        this.scene.there.world.violation(`${told} ${currency} are told as debited, and ${left} left`);
    }
  }
}

function oddBody({ body }: CreateRecord, { request }: PlannedPayout): string[] {
  const sent = fieldsIn(Buffer.from(body));
  const receiver = isFields(sent['receiver']) ? sent['receiver'] : {};
  const other = [...Object.entries(request.receiver).filter(([name, value]) => receiver[name] !== value)].map(
    ([name]) => name,
  );
  // Whose account pays, the lock says.
  if (sent['type'] !== request.type) other.push('type');
  // Read as a number it may have lost digits.
  if (!body.includes(`"amount":${request.instructedAmount.amount}`)) other.push('instructedAmount');
  return other.map((name) => `was sent with another ${name} than asked for`);
}

function oddOrder({ instructed, payerId }: OrderRecord, { request }: PlannedPayout): string[] {
  const { currency, amount } = request.instructedAmount;
  const isSame = instructed.currency === currency && instructed.amount === amount;
  return [
    !isSame && `is an order of ${instructed.amount} ${instructed.currency}, and not ${amount} ${currency}`,
    payerId !== request.payerId && `is an order of ${payerId}`,
  ].filter((wrong) => typeof wrong === 'string');
}
