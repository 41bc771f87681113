/** A batch that is canceled while the activity that starts its rows waits for a worker, in virtual time. */
import { expect, inject, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { PayoutWorld, payoutRequest } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows } from '../../worlds/sdk.ts';
import type { PendingActivity } from '../../worlds/temporal/pending-activity.ts';

const MINUTE_MS = 60_000;
const ref = { batchId: 'b-1' };
const rows = [1, 2, 3].map((number) => payoutRequest(number));

async function startedBatch() {
  const workflows = await loadWorkflows(inject('workflowBundle'));
  const system = new PayoutWorld({ workflows, seed: 1 });
  const { world, server, client } = system;
  await world.run({ withinMs: MINUTE_MS });
  const batches = new Batches({ client, environment: 'test' });
  const held: PendingActivity[] = [];
  const offer = server.offerActivity.bind(server);
  let isHeld = (attempt: number) => attempt > 0;
  server.offerActivity = (activity) => {
    if (activity.attributes.activityType === 'startPayouts' && isHeld(activity.attempt)) held.push(activity);
    else offer(activity);
  };
  return {
    ...{ system, world, server, batches, held },
    /** A query that arrives during the first workflow task gets no answer, so the caller tries again. */
    start: async () => {
      const start = () => world.finish(batches.start({ ...ref, payouts: rows }));
      await start().catch(start);
    },
    holdOnly: (which: typeof isHeld) => {
      isHeld = which;
    },
    untilHeld: async () =>
      expect(await world.run({ done: () => held.length > 0, withinMs: MINUTE_MS })).toBe('done'),
    release: () => {
      isHeld = () => false;
      for (const activity of held) offer(activity);
    },
    payoutIds: () => server.runs.map(({ workflowId }) => workflowId).filter((id) => id.startsWith('payout:')),
    end: () => system.end(),
  };
}

test('starts no row of a slice that still waited for a worker', async () => {
  const { world, batches, start, untilHeld, release, payoutIds, end } = await startedBatch();
  await start();
  await untilHeld();
  await world.finish(batches.cancel(ref));
  await world.run({ withinMs: MINUTE_MS });
  release();
  expect(await world.finish(batches.result(ref), MINUTE_MS)).toMatchObject({
    started: 0,
    outcomes: { notStarted: 3 },
  });
  await world.run({ withinMs: MINUTE_MS });
  expect(payoutIds()).toEqual([]);
  expect(world.violations).toEqual([]);
  await end();
});

test('reports the rows that an attempt without an answer has started', async () => {
  const { system, world, batches, start, holdOnly, untilHeld, release, payoutIds, end } =
    await startedBatch();
  holdOnly((attempt) => attempt > 1);
  await start();
  // The worker dies with the first attempt.
  expect(await world.run({ done: () => payoutIds().length > 0, withinMs: MINUTE_MS })).toBe('done');
  for (const process of system.processes) process.kill();
  await untilHeld();
  const sent = payoutIds().length;
  for (const process of system.processes) process.start();
  await world.finish(batches.cancel(ref));
  await world.run({ withinMs: MINUTE_MS });
  release();
  expect(await world.finish(batches.result(ref), 60 * MINUTE_MS)).toMatchObject({
    started: sent,
    outcomes: { SUCCESS: sent, notStarted: rows.length - sent },
  });
  expect(payoutIds()).toHaveLength(sent);
  expect(world.violations).toEqual([]);
  await end();
});
