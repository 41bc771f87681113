/** Payouts that wait for days while notifications arrive, in virtual time. */
import { expect, inject, test } from 'vitest';
import { notificationSignal } from '../../src/contract/workflows.ts';
import { PayoutWorld, partnerOrderIdOf, payoutId } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows } from '../../worlds/sdk.ts';
import { approveShown } from '../support/test-world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const partnerOrderId = partnerOrderIdOf(1);
/** Below the 51,200 events at which Temporal terminates a run, also with a notification per second. */
const MAX_EVENTS = 1_000;

test.each([
  ['for notBefore', 'SCHEDULED'],
  ['for approval', 'AWAITING_APPROVAL'],
])('H163 a payout that waits %s continues as new before signals fill its history', async (_what, phase) => {
  const workflows = await loadWorkflows(inject('workflowBundle'));
  const system = new PayoutWorld({ workflows, seed: 1, env: { PAYOUTS_APPROVAL_EXPIRES: '3d' } });
  const { world, server, payouts } = system;
  const notBefore = new Date(world.now + 6 * HOUR).toISOString();
  await world.finish(
    system.start(1, phase === 'SCHEDULED' ? { notBefore } : { approval: 'required' }),
    MINUTE,
  );
  const isWaiting = () => server.latest(payoutId(1))?.isRunning ?? false;
  const flood = async () => {
    for (; isWaiting() && world.now < Date.parse(notBefore); await world.sleep(20_000))
      await payouts.handle({ partnerOrderId }).signal(notificationSignal, {
        receivedAt: new Date(world.now).toISOString(),
        partnerOrderId,
      });
  };
  world.spawn(flood());
  await world.run({ withinMs: 5 * HOUR });
  expect((await world.finish(payouts.state({ partnerOrderId }), MINUTE)).phase).toBe(phase);
  if (phase === 'AWAITING_APPROVAL') await world.finish(approveShown(payouts, { partnerOrderId }), MINUTE);
  const result = await world.finish(payouts.result({ partnerOrderId }), DAY);
  expect(result.outcome).toBe('SUCCESS');
  const runs = server.runs.filter(({ workflowId }) => workflowId === payoutId(1));
  expect(runs.length).toBeGreaterThan(4);
  for (const { entries } of runs) expect(entries.length).toBeLessThan(MAX_EVENTS);
  const { debits } = system.provider.control.ledgerOf(partnerOrderId);
  expect([debits, world.violations]).toEqual([1, []]);
  await system.end();
});

test('H163 a payout expires without approval at its time, however often it continued as new', async () => {
  const workflows = await loadWorkflows(inject('workflowBundle'));
  const system = new PayoutWorld({ workflows, seed: 1, env: { PAYOUTS_APPROVAL_EXPIRES: '3h' } });
  const { world, payouts } = system;
  await world.finish(system.start(1, { approval: 'required' }), MINUTE);
  const startedAtMs = world.now;
  const result = await world.finish(payouts.result({ partnerOrderId }), DAY);
  expect(result.reason?.code).toBe('APPROVAL_EXPIRED');
  expect((world.now - startedAtMs) / HOUR).toBeCloseTo(3, 1);
  await system.end();
});
