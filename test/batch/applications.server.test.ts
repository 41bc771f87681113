import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PAYOUTS_TASK_QUEUE, payoutBatchWorkflowId } from '../../src/contract/ids.ts';
import { startMemo } from '../../src/contract/memo.ts';
import { addUpdate } from '../../src/contract/workflows.ts';
import { batchesOf, rowsOf } from '../support/batches.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { appsOf } from '../support/rate-limit.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

test('H369 rows without an application have that of their batch, also in its results', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-apps-'));
  const file = join(folder, 'apps.json');
  writeFileSync(file, JSON.stringify(appsOf({ second: 'demo-app' })));
  const world = await PayoutWorld.start({ env: { PAYOUTS_APPS_FILE: file } });
  onTestFinished(async () => {
    await world.stop();
    rmSync(folder, { recursive: true });
  });
  const app = 'second';
  const [own, joined] = rowsOf('success', 'success');
  const ref = { app, batchId: newPartnerOrderId() };
  if (!own || !joined) throw new Error('no rows');
  await world.payouts.start({ ...joined, app });
  await world.payouts.result({ ...joined, app });
  // As a program does that has no client of ours.
  await world.client.workflow.start('payoutBatch', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: payoutBatchWorkflowId(app, ref.batchId),
    args: [{ ...ref, count: 2 }],
    memo: startMemo({ environment: 'test', rejectDuplicate: new Date().toISOString() }),
  });
  const batches = batchesOf(world);
  await batches.handle(ref).executeUpdate(addUpdate, { args: [{ offset: 0, payouts: [own, joined] }] });
  expect((await batches.result(ref)).outcomes.SUCCESS).toBe(2);
  const rows = [];
  for await (const row of batches.results(ref)) rows.push({ app: row.app, outcome: row.outcome });
  expect(rows).toEqual([
    { app, outcome: 'SUCCESS' },
    { app, outcome: 'SUCCESS' },
  ]);
});
