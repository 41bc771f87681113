import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Batches } from '../../src/client/batches.ts';
import { batchesOf, debitsByRow, manyRows, untilBatch } from '../support/batches.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let world: PayoutWorld;
let batches: Batches;
let worker: OwnProcess | undefined;
const startWorker = () => startProgram('src/workers/main.ts', world.workerEnvironment, /worker ready/);

beforeAll(async () => {
  // A create that waited for its turn when the worker died has an unknown outcome; this setting avoids a review.
  const env = { PAYOUTS_BATCH_WINDOW: '10', PAYMENTS_REPEATED_CREATE: 'safe' };
  world = await PayoutWorld.start({ idle: true, env });
  batches = batchesOf(world);
});
afterAll(async () => {
  await worker?.stop('SIGKILL');
  await world.stop();
});

test('H104 pays each row exactly once while the worker is repeatedly killed with SIGKILL', async () => {
  const rows = manyRows(40);
  const ref = { batchId: newPartnerOrderId() };
  worker = await startWorker();
  await batches.start({ ...ref, payouts: rows });
  for (const started of [1, 15, 30]) {
    await untilBatch(batches, ref, (state) => state.started >= started);
    await worker.stop('SIGKILL');
    worker = await startWorker();
  }
  expect(await batches.result(ref)).toMatchObject({ done: 40, joined: 0, outcomes: { SUCCESS: 40 } });
  expect(debitsByRow(world, rows)).toEqual(rows.map(() => 1));
});
