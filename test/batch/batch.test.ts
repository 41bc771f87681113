import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Batches } from '../../src/client/batches.ts';
import { fairnessKey, payoutBatchWorkflowId } from '../../src/contract/ids.ts';
import { batchesOf, debitsByRow, manyRows, rowsOf, untilBatch } from '../support/batches.ts';
import { terminate, untilStartedAgain } from '../support/reconciliation.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let batches: Batches;
beforeAll(async () => {
  world = await VirtualWorld.start({ env: { PAYOUTS_RECONCILE_EVERY: '1s' } });
  batches = batchesOf(world);
});
afterAll(() => world.stop());

describe('a batch pays each of its rows', () => {
  test('with mixed outcomes: each row ends and is counted as its payout does', async () => {
    const payouts = rowsOf('success', 'failure', 'partial splits=3 failed=1', 'success');
    payouts.push(
      payoutRequest(newPartnerOrderId(), { platform: 'sim:success', limits: { minRate: '99' } }),
      payoutRequest(newPartnerOrderId(), { platform: 'sim:success', app: 'default' }),
    );
    const ref = { batchId: newPartnerOrderId() };
    const state = await batches.start({ ...ref, payouts });
    expect(state).toMatchObject({ count: 6, added: 6, missing: [], rejected: 0 });
    expect(await batches.result(ref)).toMatchObject({
      app: 'default',
      batchId: ref.batchId,
      count: 6,
      started: 6,
      joined: 0,
      done: 6,
      rejected: 0,
      phases: {},
      outcomes: { SUCCESS: 3, FAILED: 1, PARTIAL_SUCCESS: 1, NOT_CREATED: 1, conflict: 0, stopped: 0 },
    });
    expect(debitsByRow(world, payouts)).toEqual([1, 1, 1, 1, 0, 1]);
    expect(await batches.state(ref)).toMatchObject({ phase: 'DONE', sentence: 'All 6 rows have finished.' });
    const [first] = payouts;
    const { memo } = await world.payouts.handle({ partnerOrderId: first?.partnerOrderId ?? '' }).describe();
    expect(memo).toMatchObject({
      start: { rejectDuplicate: expect.stringMatching(/Z$/), environment: 'test', batch: ref.batchId },
    });
  });

  test('joins a row whose payout has the same body, and reports another body as a conflict', async () => {
    const [running, ended, other, fresh] = rowsOf('slow final=1h', 'success', 'success', 'success');
    if (!running || !ended || !other || !fresh) throw new Error('four rows');
    await world.payouts.start(running);
    await world.payouts.start(ended);
    await world.payouts.result(ended);
    await world.payouts.start({ ...other, clientId: 'client-2' });
    const ref = { batchId: newPartnerOrderId() };
    await batches.start({ ...ref, payouts: [running, other, ended, fresh] });
    const state = await untilBatch(batches, ref, ({ done, phases }) => done === 3 && phases.PROCESSING === 1);
    expect(state).toMatchObject({
      started: 1,
      joined: 2,
      rejected: 1,
      outcomes: { SUCCESS: 2, conflict: 1 },
      rows: { conflict: [1], invalid: [], stopped: [] },
    });
    await world.simulator.control.changeOrder(running.partnerOrderId, { status: 'SUCCESS' });
    expect((await batches.result(ref)).outcomes).toMatchObject({ SUCCESS: 3, conflict: 1 });
    expect(debitsByRow(world, [running, ended, fresh])).toEqual([1, 1, 1]);
  });

  test('a payout that waits for a person, or is stopped by one, does not block other rows', async () => {
    const [lost, stopped, fine] = rowsOf('success', 'slow final=1h', 'success');
    if (!lost || !stopped || !fine) throw new Error('three rows');
    world.simulator.control.addFault({
      operation: 'createCnyOrder',
      partnerOrderId: lost.partnerOrderId,
      times: 1,
      fault: { kind: 'drop-before' },
    });
    const ref = { batchId: newPartnerOrderId() };
    await batches.start({ ...ref, payouts: [lost, stopped, fine] });
    const state = await untilBatch(
      batches,
      ref,
      ({ done, phases }) => done === 1 && phases.NEEDS_REVIEW === 1,
    );
    expect(state).toMatchObject({ needingAttention: 1, outcomes: { SUCCESS: 1 } });
    await world.payouts.resolve(lost, { by: 'olga', created: false, then: 'end' });
    // A payout whose workflow was terminated has not ended: it is started again, and the batch records its end.
    await untilStartedAgain(world, stopped, await terminate(world, stopped));
    await world.simulator.control.changeOrder(stopped.partnerOrderId, { status: 'SUCCESS' });
    expect(await batches.result(ref)).toMatchObject({ outcomes: { SUCCESS: 2, NOT_CREATED: 1, stopped: 0 } });
    expect(debitsByRow(world, [lost, stopped, fine])).toEqual([0, 1, 1]);
  });

  test('H375 when canceled: starts no more rows, lets started ones continue, and says what became of each', async () => {
    const narrow = await VirtualWorld.start({ env: { PAYOUTS_BATCH_WINDOW: '2' } });
    try {
      const own = batchesOf(narrow);
      const payouts = manyRows(6);
      const held = narrow.hold({ operation: 'fee' }, 'before');
      const ref = { batchId: newPartnerOrderId() };
      await own.start({ ...ref, payouts });
      await untilBatch(own, ref, ({ started }) => started === 2);
      await own.cancel(ref);
      await untilBatch(own, ref, ({ outcomes }) => outcomes.notStarted === 4);
      held.release();
      expect(await own.result(ref)).toMatchObject({ started: 2, outcomes: { SUCCESS: 2, notStarted: 4 } });
      expect(debitsByRow(narrow, payouts)).toEqual([1, 1, 0, 0, 0, 0]);
      expect(await own.state(ref)).toMatchObject({
        ...{ phase: 'DONE', canceled: true },
        sentence: 'Canceled: 2 of 6 rows have finished (4 never started).',
        nextStep:
          'To pay the other rows, send them in a new batch. Payouts that were already started are joined.',
      });
    } finally {
      await narrow.stop();
    }
  });
});

describe('bad rows are reported by row and field before anything starts', () => {
  test('the client library checks all rows at once, duplicates included, and starts no batch', async () => {
    const [good, bad, twin] = rowsOf('success', 'success', 'success');
    if (!good || !bad || !twin) throw new Error('three rows');
    const ref = { batchId: newPartnerOrderId() };
    const payouts = [
      good,
      { ...bad, payerId: '', receiver: { ...bad.receiver, bankName: 7 } },
      { ...twin, partnerOrderId: good.partnerOrderId },
      { ...twin, app: 'other' },
      'no payout',
    ];
    const refused = batches.start({ ...ref, payouts });
    await expect(refused).rejects.toMatchObject({
      name: 'InvalidPayoutRequestError',
      fields: expect.arrayContaining([
        expect.objectContaining({ path: '1.payerId' }),
        expect.objectContaining({ path: '1.receiver.bankName' }),
        { path: '2.partnerOrderId', message: 'is the same as in payouts[0]' },
        { path: '3.app', message: 'must be default, the application of the batch' },
        expect.objectContaining({ path: '4' }),
      ]),
    });
    await expect(batches.state(ref)).rejects.toThrow();
    await expect(world.payouts.state(good)).rejects.toThrow();
  });

  test('an application that is not configured is bad input', async () => {
    const ref = { app: 'nobody', batchId: newPartnerOrderId() };
    const handle = await world.client.workflow.start('payoutBatch', {
      taskQueue: 'payouts',
      workflowId: payoutBatchWorkflowId(ref.app, ref.batchId),
      args: [{ ...ref, count: 0 }],
    });
    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'InvalidPayoutRequest', details: [[expect.objectContaining({ path: 'count' })]] },
    });
  });
});

test('the fairness key is a fingerprint that Temporal accepts, whatever the id of the client', () => {
  expect(fairnessKey('client-1')).toMatch(/^[0-9a-f]{16}$/);
  expect(fairnessKey('client-1')).not.toBe(fairnessKey('client-2'));
  expect(Buffer.byteLength(fairnessKey('卖家'.repeat(32)))).toBe(16);
});
