import { beforeAll, expect, inject, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { PAYOUTS_TASK_QUEUE, payoutBatchWorkflowId } from '../../src/contract/ids.ts';
import { addUpdate } from '../../src/contract/workflows.ts';
import type { payoutBatch } from '../../src/workflows/batch/payout-batch.ts';
import { PayoutWorld, payoutId, payoutRequest } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';
import { EventType } from '../../worlds/temporal/history.ts';

const HOUR = 3_600_000;

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

test('a canceled batch ends if its part was stopped right after it was told to start no more payouts', async () => {
  const system = new PayoutWorld({ workflows, seed: 1 });
  const { world, client, server, processes } = system;
  const batches = new Batches({ client, environment: 'test' });
  const workflowId = payoutBatchWorkflowId('default', 'b-1');
  const handle = await world.finish(
    client.workflow.start<typeof payoutBatch>('payoutBatch', {
      ...{ taskQueue: PAYOUTS_TASK_QUEUE, workflowId, memo: { environment: 'test' } },
      args: [{ app: 'default', batchId: 'b-1', count: 2 }],
    }),
  );
  // Rows are missing, so no part has its turn.
  await world.finish(handle.executeUpdate(addUpdate, { args: [{ offset: 0, payouts: [payoutRequest(1)] }] }));
  await world.finish(batches.cancel({ batchId: 'b-1' }));
  const isTold = () =>
    server
      .latest(workflowId)
      ?.entries.some(({ type }) => type === EventType.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED) ??
    false;
  expect(await world.run({ done: isTold, withinMs: 10_000 })).toBe('done');
  for (const process of processes) process.kill();
  const part = server.runs.find(({ workflowId: id }) => id.startsWith('payout-batch-part:'));
  await world.finish(client.workflow.getHandle(part?.workflowId ?? '').terminate('by an operator'));
  for (const process of processes) process.start();
  const { outcomes } = await world.finish(batches.result({ batchId: 'b-1' }), HOUR);
  expect(outcomes).toMatchObject({ stopped: 1, notStarted: 1 });
  await system.end();
});

test('H10 a row whose payout bad input covers, while lists lack the payout, ends with the payout', async () => {
  const system = new PayoutWorld({ workflows, seed: 1 });
  const { world, client, server, service } = system;
  const batches = new Batches({ client, environment: 'test' });
  const lists = service.visibility;
  // Lists do not show the payout that the batch starts.
  lists.lagMs = HOUR / 6;
  const start = () => world.finish(batches.start({ batchId: 'b-1', payouts: [payoutRequest(1)] }));
  // A query that arrives during the first workflow task gets no answer.
  await start().catch(start);
  const isStarted = () => server.latest(payoutId(1))?.isRunning ?? false;
  expect(await world.run({ done: isStarted, withinMs: HOUR })).toBe('done');
  lists.lagMs = 1;
  await world.finish(
    client.workflow.start('payout', {
      ...{ taskQueue: PAYOUTS_TASK_QUEUE, workflowId: payoutId(1), args: [{ nonsense: true }] },
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
    }),
  );
  const isRejected = () => server.latest(payoutId(1))?.isRunning === false;
  expect(await world.run({ done: isRejected, withinMs: HOUR })).toBe('done');
  const { outcomes } = await world.finish(batches.result({ batchId: 'b-1' }), 48 * HOUR);
  expect(outcomes).toMatchObject({ SUCCESS: 1, invalid: 0 });
  expect(world.violations).toEqual([]);
  await system.end();
});

test.each([false, true])(
  'a part whose payout stays open has a bounded history; canceled: %s',
  async (isCanceled) => {
    const system = new PayoutWorld({ workflows, seed: 1, env: { PAYOUTS_APPROVAL_EXPIRES: '60d' } });
    const { world, client, server, payouts, processes } = system;
    const ref = { batchId: 'b-1' };
    const batches = new Batches({ client, environment: 'test' });
    await world.run({ withinMs: HOUR / 60 });
    const row = payoutRequest(1, { approval: 'required' });
    const start = () => world.finish(batches.start({ ...ref, payouts: [row] }));
    // A query that arrives during the first workflow task gets no answer.
    await start().catch(start);
    await world.run({ withinMs: HOUR / 60 });
    if (isCanceled) await world.finish(batches.cancel(ref));
    for (let hours = 0; hours < 10; hours += 1) {
      await world.run({ withinMs: HOUR });
      // The next process replays every history.
      for (const process of processes) process.kill();
      for (const process of processes) process.start();
    }
    const parts = server.runs.filter(({ workflowId: id }) => id.startsWith('payout-batch-part:'));
    expect(parts.filter(({ isRunning }) => isRunning)).toHaveLength(1);
    for (const { entries } of parts) expect(entries.length).toBeLessThan(400);
    await world.finish(payouts.refuse({ partnerOrderId: row.partnerOrderId }, { by: 'olga' }));
    const { outcomes } = await world.finish(batches.result(ref), HOUR);
    expect(outcomes).toMatchObject({ NOT_CREATED: 1, notStarted: 0 });
    expect(world.violations).toEqual([]);
    await system.end();
  },
);
