/** The simulator's record of one payout: what arrived, and what was paid. */
import type { PayoutRef } from '../../src/client/payouts.ts';
import type { TestWorld } from './test-world.ts';

export interface Create {
  body: string;
  lockRateId: string | undefined;
}

/** Every create that arrived under this partnerOrderId, with any result. */
export function createsOf(world: TestWorld, { partnerOrderId }: PayoutRef): Create[] {
  return world.simulator.control
    .ledgerOf(partnerOrderId)
    .creates.map(({ body }) => ({ body, lockRateId: /"lockRateId":"([^"]*)"/.exec(body)?.[1] }));
}

/** How often money was debited under this partnerOrderId. */
export function debitsOf(world: TestWorld, { partnerOrderId }: PayoutRef): number {
  return world.simulator.control.ledgerOf(partnerOrderId).debits;
}
