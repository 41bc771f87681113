/**
 * What somebody who can write to the namespace does again after the histories of payouts were deleted: old starts of a
 * batch's part and of a Nexus operation, sent again, resets, and signals with a ciphertext of another place.
 */
import { Client } from '@temporalio/client';
import { RawValue } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import {
  payoutBatchWorkflowId,
  payoutOperationWorkflowId,
  payoutWorkflowId,
} from '../../src/contract/ids.ts';
import { startFactsIn, startMemo } from '../../src/contract/memo.ts';
import { addUpdate, stopStartingSignal, turnSignal } from '../../src/contract/workflows.ts';
import type { PartRequest } from '../../src/domain/batch.ts';
import { isGone } from '../../src/temporal/client-errors.ts';
import { readStartEvent } from '../../src/temporal/histories.ts';
import { eventually } from '../support/eventually.ts';
import { newKey } from '../support/keys.ts';
import { createsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

/** The oldest start that proves nothing, and one that still does. */
const [OLD, FRESH] = [-120_000, 0];

let world: PayoutWorld;
beforeAll(async () => {
  const keys = { PAYOUTS_ENCRYPTION_KEYS: newKey('k1'), PAYOUTS_TOKEN_KEYS: newKey('t1') };
  world = await PayoutWorld.start({ env: { ...keys, PAYOUTS_PLAIN_PAYLOADS: 'refuse' } });
});
afterAll(() => world.stop());

const request = () => payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=0s' });
const at = (ms: number) => new Date(Date.now() + ms).toISOString();

async function deleted(workflowId: string): Promise<void> {
  const { workflowService, options } = world.client;
  await workflowService.deleteWorkflowExecution({
    namespace: options.namespace,
    workflowExecution: { workflowId },
  });
  const look = () => world.client.workflow.getHandle(workflowId).describe();
  await eventually(() =>
    look().then(
      () => undefined,
      (error) => isGone(error) || undefined,
    ),
  );
}

/** What the payout's new start promises. */
async function promisedAgain(
  row: ReturnType<typeof request>,
  again: () => Promise<unknown>,
): Promise<unknown> {
  const workflowId = payoutWorkflowId('default', row.partnerOrderId);
  await deleted(workflowId);
  await again();
  const { runId } = await eventually(() =>
    world.client.workflow
      .getHandle(workflowId)
      .describe()
      .catch(() => undefined),
  );
  const { memo } = await readStartEvent(world.client, workflowId, runId);
  return startFactsIn(memo)['rejectDuplicate'];
}

async function partOf(batchId: string): Promise<string> {
  const query = `WorkflowId STARTS_WITH 'payout-batch-part:default:${batchId}'`;
  return eventually(async () => {
    for await (const run of world.client.workflow.list({ query })) return run.workflowId;
    return undefined;
  });
}

/** It confirms first, and finds the order. */
async function expectPaidOnce(row: ReturnType<typeof request>): Promise<void> {
  expect((await world.payouts.result(row)).outcome).toBe('SUCCESS');
  expect(createsOf(world, row)).toHaveLength(1);
}

// Temporal takes half a minute to delete a history.
describe.concurrent('H356 an old start, sent again, does not promise that its payouts are new', () => {
  async function part(row: ReturnType<typeof request>, ageMs: number, delay = {}) {
    const batchId = newPartnerOrderId();
    const batches = new Batches({ client: world.client, environment: 'test' });
    await batches.start({ batchId, payouts: [row] });
    await eventually(async () => (await batches.state({ batchId })).phase === 'DONE' || undefined);
    const workflowId = await partOf(batchId);
    const { runId } = await world.client.workflow.getHandle(workflowId).describe();
    const { argument } = await readStartEvent(world.client, workflowId, runId);
    expect(Object(argument)).toHaveProperty('startedAt');
    return promisedAgain(row, () =>
      world.client.workflow.signalWithStart('payoutBatchPart', {
        ...{
          taskQueue: 'payouts',
          workflowId,
          signal: turnSignal,
          signalArgs: [{ signal: 'turn', batchId }],
        },
        // Temporal may have taken more than a minute to delete the history.
        args: [{ ...Object(argument), startedAt: at(ageMs) } satisfies PartRequest],
        ...delay,
      }),
    );
  }

  test('of a part of a batch', async ({ expect }) => {
    const row = request();
    const promised = await Promise.all([part(row, OLD), part(request(), FRESH)]);
    expect(promised).toEqual([false, expect.any(String)]);
    await expectPaidOnce(row);
  });

  async function operation(row: ReturnType<typeof request>, ageMs: number, delay = {}) {
    await world.payouts.start(row);
    await world.payouts.result(row);
    return promisedAgain(row, () =>
      world.client.workflow.start('payoutOperation', {
        taskQueue: 'payouts',
        workflowId: payoutOperationWorkflowId('default', row.partnerOrderId, newPartnerOrderId()),
        args: [{ environment: 'test', request: { ...row, app: 'default' }, startedBy: 'nexus:default' }],
        memo: startMemo({ environment: 'test', rejectDuplicate: at(ageMs) }),
        ...delay,
      }),
    );
  }

  test('H364 of one that begins later than it was started', async ({ expect }) => {
    const [ofPart, ofOperation] = [request(), request()];
    const delay = { startDelay: '2s' };
    const [promise] = await Promise.all([
      part(ofPart, FRESH, delay),
      // It promises, but the payout asks how long ago the operation was started.
      operation(ofOperation, FRESH, delay),
    ]);
    expect(promise).toBe(false);
    await expectPaidOnce(ofPart);
    await expectPaidOnce(ofOperation);
  });

  test('of a Nexus operation', async ({ expect }) => {
    const row = request();
    const promised = await Promise.all([operation(row, OLD), operation(request(), FRESH)]);
    expect(promised).toEqual([false, expect.any(String)]);
    await expectPaidOnce(row);
  });
});

describe.concurrent('H361 a reset promises nothing', () => {
  /** Deletes the payout of an ended workflow, and resets that to its beginning: it starts the payout again. */
  async function resetAfterDeletion(row: ReturnType<typeof request>, workflowId: string) {
    return promisedAgain(row, async () => {
      const handle = world.client.workflow.getHandle(workflowId);
      const { events } = await handle.fetchHistory();
      const task = events?.find((event) => event.workflowTaskCompletedEventAttributes);
      await world.client.workflowService.resetWorkflowExecution({
        namespace: world.namespace,
        workflowExecution: { workflowId, runId: (await handle.describe()).runId },
        workflowTaskFinishEventId: task?.eventId ?? null,
        requestId: newPartnerOrderId(),
        reason: 'a test',
      });
    });
  }

  async function endedBatch(row: ReturnType<typeof request>): Promise<string> {
    const batchId = newPartnerOrderId();
    const batches = new Batches({ client: world.client, environment: 'test' });
    await batches.start({ batchId, payouts: [row] });
    await eventually(async () => (await batches.state({ batchId })).phase === 'DONE' || undefined);
    return batchId;
  }

  test('of a part', async ({ expect }) => {
    const row = request();
    const partId = await partOf(await endedBatch(row));
    expect(await resetAfterDeletion(row, partId)).toBe(false);
    await expectPaidOnce(row);
  });

  test('of a batch', async ({ expect }) => {
    const row = request();
    const batchId = await endedBatch(row);
    expect(await resetAfterDeletion(row, payoutBatchWorkflowId('default', batchId))).toBe(false);
    await expectPaidOnce(row);
  });

  // The operation promises it, but the payout asks whether the operation was reset.
  test('of a Nexus operation', async () => {
    const row = request();
    const workflowId = payoutOperationWorkflowId('default', row.partnerOrderId, newPartnerOrderId());
    const operation = await world.client.workflow.start('payoutOperation', {
      taskQueue: 'payouts',
      workflowId,
      args: [{ environment: 'test', request: { ...row, app: 'default' }, startedBy: 'nexus:default' }],
      memo: startMemo({ environment: 'test', rejectDuplicate: at(FRESH) }),
    });
    await operation.result();
    await resetAfterDeletion(row, workflowId);
    await expectPaidOnce(row);
  });
});

test('H362 only the signal of its batch gives a part its turn, not another ciphertext of the part', async () => {
  const row = { ...request(), app: 'default' };
  const batchId = newPartnerOrderId();
  // One of two rows is missing.
  const batch = await world.client.workflow.start('payoutBatch', {
    taskQueue: 'payouts',
    workflowId: payoutBatchWorkflowId('default', batchId),
    args: [{ app: 'default', batchId, count: 2 }],
    memo: startMemo({ environment: 'test', rejectDuplicate: at(FRESH) }),
  });
  await batch.executeUpdate(addUpdate, { args: [{ offset: 0, payouts: [row] }] });
  const part = world.client.workflow.getHandle(await partOf(batchId));
  const { events } = await part.fetchHistory();
  const [start] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  if (!start) throw new Error('no argument');
  const keyless = new Client({ connection: world.client.connection, namespace: world.namespace });
  await keyless.workflow.getHandle(part.workflowId).signal('turn', RawValue.fromPayload(start));
  await part.signal('turn', batchId);
  // A signal that takes effect tells that the two before it have been handled.
  await part.signal(stopStartingSignal, { signal: 'stopStarting', batchId });
  await part.result();
  expect(createsOf(world, row)).toHaveLength(0);
});
