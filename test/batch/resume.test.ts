import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Batches } from '../../src/client/batches.ts';
import { rowsDigest } from '../../src/contract/batch.ts';
import { batchPartWorkflowId, PAYOUTS_TASK_QUEUE, payoutBatchWorkflowId } from '../../src/contract/ids.ts';
import { checkPayoutRequest, type PayoutRequest } from '../../src/contract/payout-request.ts';
import { addUpdate } from '../../src/contract/workflows.ts';
import type { payoutBatch } from '../../src/workflows/batch/payout-batch.ts';
import { batchesOf, debitsByRow, manyRows, untilBatch } from '../support/batches.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf } from '../support/ledger.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let batches: Batches;
beforeAll(async () => {
  world = await VirtualWorld.start();
  batches = batchesOf(world);
});
afterAll(() => world.stop());

/** As a caller in any language does: by the contract's names alone. */
async function begin(count: number) {
  const ref = { app: 'default', batchId: newPartnerOrderId() };
  const handle = await world.client.workflow.start<typeof payoutBatch>('payoutBatch', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: payoutBatchWorkflowId(ref.app, ref.batchId),
    args: [{ ...ref, count }],
  });
  const add = (offset: number, payouts: PayoutRequest[]) =>
    handle.executeUpdate(addUpdate, { args: [{ offset, payouts }] });
  return { ref, handle, add };
}

function refusal(message: RegExp) {
  return { cause: { type: 'NotAcceptedNow', message: expect.stringMatching(message) } };
}

describe('add', () => {
  test('adding the same slice again has no effect; other content or rows out of range are rejected', async () => {
    const rows = manyRows(3);
    const { ref, handle, add } = await begin(3);
    const first = await add(1, rows.slice(1));
    expect(first).toMatchObject({ phase: 'RECEIVING', added: 2, missing: [{ offset: 0, count: 1 }] });
    const [, one, two] = rows;
    if (!one || !two) throw new Error('three rows');
    // The same in another spelling: 100.00 is 100.
    const same = { ...one, instructedAmount: { amount: '100', currency: 'CNY' }, app: 'default' };
    expect(await add(1, [same, two])).toEqual(first);
    await expect(add(1, [two, one])).rejects.toMatchObject(refusal(/already, with different content/));
    await expect(add(1, [one])).rejects.toMatchObject(refusal(/rows 1 to 2 were added/));
    await expect(add(0, [one, two])).rejects.toMatchObject(refusal(/rows 1 to 2 were added/));
    await expect(add(2, rows)).rejects.toMatchObject(refusal(/has 3 rows/));
    await expect(add(-1, rows)).rejects.toMatchObject(refusal(/offset/));
    await expect(add(0, [])).rejects.toMatchObject(refusal(/payouts/));
    await expect(add(0, manyRows(501))).rejects.toMatchObject(refusal(/at most 500/));
    expect(debitsByRow(world, rows)).toEqual([0, 0, 0]);
    await add(0, rows.slice(0, 1));
    expect((await handle.result()).outcomes.SUCCESS).toBe(3);
    expect(debitsByRow(world, rows)).toEqual([1, 1, 1]);
    expect((await batches.start({ ...ref, payouts: rows })).phase).toBe('DONE');
    await expect(batches.start({ ...ref, payouts: rows.slice(1) })).rejects.toThrow(/it has 3 rows, not 2/);
    await expect(batches.start({ ...ref, payouts: [...rows].reverse() })).rejects.toThrow(
      /row 1 differs|a row from 2 to 3 differs/,
    );
  });

  test('H106 bad rows: takes nothing of their slice and starts nothing until they are corrected', async () => {
    const rows = manyRows(4);
    const [first, second, third, fourth] = rows;
    if (!first || !second || !third || !fourth) throw new Error('four rows');
    const { handle, add } = await begin(4);
    await add(0, [first, second]);
    await expect(
      add(2, [
        { ...third, payerId: '' },
        { ...fourth, receiver: { ...fourth.receiver, bankName: '' } },
      ]),
    ).rejects.toMatchObject({
      cause: {
        type: 'InvalidPayoutRequest',
        details: [
          [
            { path: '2.payerId', message: expect.any(String) },
            { path: '3.receiver.bankName', message: expect.any(String) },
          ],
        ],
      },
    });
    // A duplicate in another slice, which no check of a single slice can find.
    await expect(add(2, [third, { ...fourth, partnerOrderId: second.partnerOrderId }])).rejects.toMatchObject(
      {
        cause: { details: [[{ path: '3.partnerOrderId', message: 'is the same as in row 1' }]] },
      },
    );
    await expect(world.payouts.state(first)).rejects.toThrow();
    await add(2, [third, fourth]);
    expect((await handle.result()).outcomes.SUCCESS).toBe(4);
    expect(debitsByRow(world, rows)).toEqual([1, 1, 1, 1]);
  });

  test('concurrent and repeated slices are each taken once', async () => {
    const rows = manyRows(6);
    const { handle, add } = await begin(6);
    const slices = [0, 2, 4, 0, 2, 4, 4];
    await Promise.all(slices.map((offset) => add(offset, rows.slice(offset, offset + 2))));
    expect((await handle.result()).outcomes.SUCCESS).toBe(6);
    expect(debitsByRow(world, rows)).toEqual(rows.map(() => 1));
  });
});

describe('H104 interruptions of a batch neither stop nor repeat a payout', () => {
  test('the caller dies between two slices: the next caller adds what is missing, and only then payments start', async () => {
    const rows = manyRows(5);
    const { ref, add } = await begin(5);
    await add(3, rows.slice(3, 4));
    expect((await batches.state(ref)).missing).toEqual([
      { offset: 0, count: 3 },
      { offset: 4, count: 1 },
    ]);
    await batches.start({ ...ref, payouts: rows });
    expect(await batches.result(ref)).toMatchObject({ started: 5, outcomes: { SUCCESS: 5 } });
    expect(debitsByRow(world, rows)).toEqual(rows.map(() => 1));
  });

  test('terminated with open payouts and started again: joins them, and each is paid once', async () => {
    const held = world.hold({ operation: 'createCnyOrder' }, 'after');
    const rows = manyRows(3);
    const ref = { batchId: newPartnerOrderId() };
    await batches.start({ ...ref, payouts: rows });
    await eventually(held.arrived);
    await batches.handle(ref).terminate('by a test');
    const payouts = rows.map((row) => world.payouts.handle(row));
    const statuses = await Promise.all(payouts.map(async (payout) => (await payout.describe()).status.name));
    expect(statuses).toEqual(rows.map(() => 'RUNNING'));
    await batches.start({ ...ref, payouts: rows });
    held.release();
    expect(await batches.result(ref)).toMatchObject({ started: 3, joined: 0, outcomes: { SUCCESS: 3 } });
    expect(debitsByRow(world, rows)).toEqual([1, 1, 1]);
  });

  test('reset to its beginning: the slices are missing again, and nothing is paid twice', async () => {
    const rows = manyRows(3);
    const ref = { batchId: newPartnerOrderId() };
    await batches.start({ ...ref, payouts: rows });
    await batches.result(ref);
    const { runId } = await batches.handle(ref).describe();
    const { events } = await batches.handle(ref).fetchHistory();
    const first = events?.find(({ workflowTaskCompletedEventAttributes: task }) => task)?.eventId;
    await world.client.workflowService.resetWorkflowExecution({
      namespace: world.namespace,
      workflowExecution: { workflowId: batches.handle(ref).workflowId, runId },
      reason: 'a test',
      requestId: newPartnerOrderId(),
      workflowTaskFinishEventId: first ?? null,
    });
    await batches.start({ ...ref, payouts: rows });
    expect((await batches.result(ref)).outcomes.SUCCESS).toBe(3);
    expect(rows.map((row) => createsOf(world, row).length)).toEqual([1, 1, 1]);
  });

  test('a terminated part: its rows are missing, and are watched again once added', async () => {
    const rows = manyRows(2);
    const { ref, handle, add } = await begin(2);
    await add(0, rows.slice(0, 1));
    const part = batchPartWorkflowId('default', ref.batchId, 0, digest(rows.slice(0, 1)));
    await world.client.workflow.getHandle(part).terminate('by a test');
    await add(1, rows.slice(1));
    await untilBatch(batches, ref, ({ missing }) => missing.length === 1);
    expect((await batches.state(ref)).missing).toEqual([{ offset: 0, count: 1 }]);
    await batches.start({ ...ref, payouts: rows });
    expect((await handle.result()).outcomes.SUCCESS).toBe(2);
    expect(debitsByRow(world, rows)).toEqual([1, 1]);
  });
});

function digest(rows: readonly PayoutRequest[]): string {
  return rowsDigest(
    rows.flatMap((row) => {
      const checked = checkPayoutRequest(row);
      return checked.ok ? [checked.value] : [];
    }),
  );
}
