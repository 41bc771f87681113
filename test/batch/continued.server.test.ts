import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Batches } from '../../src/client/batches.ts';
import { payoutWorkflowId } from '../../src/contract/ids.ts';
import { startFactsIn } from '../../src/contract/memo.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { addUpdate } from '../../src/contract/workflows.ts';
import { readStartEvent } from '../../src/temporal/histories.ts';
import { batchesOf, manyRows, untilBatch } from '../support/batches.ts';
import { instantWorker } from '../support/instant/worker.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let world: PayoutWorld;
let batches: Batches;
let worker: { stop(): Promise<void> };
beforeAll(async () => {
  world = await PayoutWorld.start({ idle: true, env: { PAYOUTS_BATCH_WINDOW: '1' } });
  batches = batchesOf(world);
  worker = await instantWorker(world);
});
afterAll(async () => {
  await worker.stop();
  await world.stop();
});

async function runsOf(type: string, batchId: string) {
  const query = `WorkflowType = '${type}' AND WorkflowId STARTS_WITH '${type === 'payoutBatch' ? 'payout-batch' : 'payout-batch-part'}:default:${batchId}'`;
  const runs = [];
  for await (const { status, historyLength, historySize, ...run } of world.client.workflow.list({ query }))
    runs.push({ ...run, status: status.name, events: historyLength, bytes: historySize ?? 0 });
  return runs;
}

describe('H39 a batch keeps its state across continue-as-new', () => {
  test('while large slices arrive one after the other', async () => {
    const ref = { batchId: newPartnerOrderId() };
    const rows = manyRows(1_600).map(long);
    await batches.start({ ...ref, payouts: rows });
    await batches.cancel(ref);
    const { started, outcomes } = await batches.result(ref);
    expect(started + outcomes.notStarted).toBe(1_600);
    const runs = await runsOf('payoutBatch', ref.batchId);
    expect(runs.some(({ status }) => status === 'CONTINUED_AS_NEW')).toBe(true);
    for (const { bytes } of runs) expect(bytes).toBeLessThan(5_000_000);
  });

  test('H367 in a part whose payouts start one by one, and whose requests prove no more as first starts', async () => {
    const ref = { batchId: newPartnerOrderId() };
    const payouts = manyRows(30);
    const held = { ...payoutRequest(newPartnerOrderId()), platform: 'held' };
    payouts.splice(20, 1, held);
    await batches.start({ ...ref, payouts });
    await untilBatch(batches, ref, ({ done }) => done === 20);
    const again = await batches.handle(ref).executeUpdate(addUpdate, { args: [{ offset: 0, payouts }] });
    expect(again).toMatchObject({ added: 30, phase: 'PAYING' });
    await world.client.workflow.getHandle(payoutWorkflowId('default', held.partnerOrderId)).signal('release');
    expect(await batches.result(ref)).toMatchObject({ started: 30, joined: 0, outcomes: { SUCCESS: 30 } });
    const runs = await runsOf('payoutBatchPart', ref.batchId);
    expect(runs.length).toBeGreaterThan(1);
    for (const { events } of runs) expect(events).toBeLessThan(500);
    const starts = await Promise.all(
      runs.map(({ workflowId, runId }) => readStartEvent(world.client, workflowId, runId)),
    );
    const times = starts.map(({ argument }) => Object(argument).startedAt);
    expect(times).toEqual(times.map(() => expect.any(String)));
    expect(new Set(times).size).toBe(1);
    // What a later run starts is new all the same.
    const last = payoutWorkflowId('default', payouts.at(-1)?.partnerOrderId ?? '');
    const { memo } = await world.client.workflow.getHandle(last).describe();
    expect(startFactsIn(memo)['rejectDuplicate']).toEqual(expect.any(String));
  });
});

/** Over 2 kB, so that a slice reaches its byte limit before it holds 500 rows. */
function long(row: PayoutRequest): PayoutRequest {
  const text = 'x'.repeat(250);
  const receiver = {
    ...row.receiver,
    bankName: text,
    bankAccountName: text,
    bankBranchName: text,
    province: text,
    city: text,
  };
  return { ...row, platform: text, openId: 'x'.repeat(120), receiver };
}
