/** A restore in virtual time. `restored.full.test.ts` restores the database of a real server. */
import { expect, test } from 'vitest';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { snapshotOf } from '../../worlds/temporal/snapshot.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

/** One third scheduled, one third awaiting approval, one third under way. */
const COUNT = 30;

test(`H53 Temporal is restored to a state before ${COUNT} payouts were paid: one POST each`, async () => {
  const world = await VirtualWorld.start({
    env: { PAYOUTS_CONFIRMATION_WINDOW: '3s', PAYOUTS_POLL_FIRST: '2s', PAYOUTS_POLL_MAX: '10s' },
  });
  try {
    const bodies = Array.from({ length: COUNT }, (_, at) => {
      const kinds: Partial<PayoutRequest>[] = [
        { notBefore: new Date(world.clock.wallMs() + 20_000).toISOString() },
        { approval: 'required' },
        { platform: 'sim:slow final=1h' },
      ];
      return payoutRequest(newPartnerOrderId(), { platform: 'sim:success', ...kinds[at % kinds.length] });
    });
    const of = (kind: number) => bodies.filter((_, at) => at % 3 === kind);
    const [scheduled, awaiting, underWay] = [of(0), of(1), of(2)];
    for (const body of bodies) await world.payouts.start(body);
    for (const body of underWay) await world.until(body, ({ phase }) => phase === 'PROCESSING');
    for (const body of awaiting) await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    for (const body of scheduled) await world.until(body, ({ phase }) => phase === 'SCHEDULED');
    const snapshot = snapshotOf(world.system.server);
    for (const body of awaiting) await world.payouts.approve(body, { by: 'olga' });
    for (const body of bodies) await eventually(() => debitsOf(world, body) > 0 || undefined);

    world.system.restore(snapshot);
    for (const body of underWay)
      world.simulator.control.changeOrder(body.partnerOrderId, { status: 'SUCCESS' });
    // In the restored state, no approval is recorded. A payout that was confirmed by then needs none.
    for (const body of awaiting) await world.payouts.approve(body, { by: 'olga' }).catch(() => undefined);
    const results = await Promise.all(bodies.map((body) => world.payouts.result(body)));
    expect(results.map(({ outcome }) => outcome)).toEqual(bodies.map(() => 'SUCCESS'));
    const posts = bodies.map((body) => [createsOf(world, body).length, debitsOf(world, body)]);
    expect(posts).toEqual(bodies.map(() => [1, 1]));
  } finally {
    await world.stop();
  }
});
