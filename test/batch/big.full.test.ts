import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Batches } from '../../src/client/batches.ts';
import type { BatchResult } from '../../src/contract/batch.ts';
import { batchesOf, manyRows } from '../support/batches.ts';
import { instantWorker } from '../support/instant/worker.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

/** More rows would take too long for a test. */
const ROWS = 1_001;

let world: PayoutWorld;
let batches: Batches;
let worker: { stop(): Promise<void> };
beforeAll(async () => {
  world = await PayoutWorld.start({ idle: true });
  batches = batchesOf(world);
  worker = await instantWorker(world);
});
afterAll(async () => {
  await worker.stop();
  await world.stop();
});

test('H39 a batch of over a thousand rows: the histories of batch and parts stay bounded, and every row is counted once', async () => {
  const ref = { batchId: newPartnerOrderId() };
  await batches.start({ ...ref, payouts: manyRows(ROWS) });
  const result: BatchResult = await batches.result(ref);
  expect(result).toMatchObject({ count: ROWS, started: ROWS, done: ROWS, outcomes: { SUCCESS: ROWS } });
  const runs = await runsOf("WorkflowType IN ('payoutBatch', 'payoutBatchPart')");
  expect(new Set(runs.filter(({ type }) => type === 'payoutBatchPart').map(({ id }) => id)).size).toBe(
    Math.ceil(ROWS / 500),
  );
  console.log(`${ROWS} rows: ${JSON.stringify(largest(runs))}`);
  for (const { events, bytes } of runs) {
    expect(events).toBeLessThan(500);
    expect(bytes).toBeLessThan(5_000_000);
  }
});

async function runsOf(query: string) {
  const runs = [];
  for await (const { workflowId, runId, type, historyLength, historySize } of world.client.workflow.list({
    query,
  }))
    runs.push({ id: workflowId, runId, type, events: historyLength, bytes: historySize ?? 0 });
  return runs;
}

function largest(runs: Awaited<ReturnType<typeof runsOf>>) {
  return ['payoutBatch', 'payoutBatchPart'].map((wanted) => {
    const own = runs.filter(({ type }) => type === wanted);
    const most = (of: 'events' | 'bytes') => Math.max(...own.map((run) => run[of]));
    return { type: wanted, runs: own.length, mostEvents: most('events'), mostBytes: most('bytes') };
  });
}
