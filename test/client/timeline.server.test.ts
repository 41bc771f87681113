/** The timeline of a payout, from histories that only the real server writes. */
import { expect, test } from 'vitest';
import { PayoutWorld } from '../support/payout-world.ts';
import { resetBefore } from '../support/resets.ts';

test('an approval that a Workflow Reset applies again stays in the timeline', async () => {
  const world = await PayoutWorld.start();
  try {
    const ref = await world.pay('success final=0s', { approval: 'required' });
    const { quote } = await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.payouts.approve(ref, { by: 'ann', note: 'checked', lockRateId: quote?.lockRateId });
    await world.payouts.result(ref);
    await resetBefore(world, world.payouts.handle(ref), 'createPayout');
    await world.payouts.result(ref);
    const { steps } = await world.payouts.timeline(ref);
    const approvals = steps.filter(({ what }) => what === 'Approved by ann');
    expect(approvals).toMatchObject([{ detail: expect.stringContaining('checked') }]);
  } finally {
    await world.stop();
  }
});
