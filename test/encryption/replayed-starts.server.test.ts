/**
 * Old starts of a batch's part and of a Nexus operation, sent again by somebody who can write to the namespace, after the
 * histories of their payouts were deleted.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { payoutOperationWorkflowId, payoutWorkflowId } from '../../src/contract/ids.ts';
import { startFactsIn, startMemo } from '../../src/contract/memo.ts';
import { turnSignal } from '../../src/contract/workflows.ts';
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

/** It confirms first, and finds the order. */
async function expectPaidOnce(row: ReturnType<typeof request>): Promise<void> {
  expect((await world.payouts.result(row)).outcome).toBe('SUCCESS');
  expect(createsOf(world, row)).toHaveLength(1);
}

// Temporal takes half a minute to delete a history.
describe.concurrent('H356 an old start, sent again, does not promise that its payouts are new', () => {
  async function part(row: ReturnType<typeof request>, ageMs: number) {
    const batchId = newPartnerOrderId();
    const batches = new Batches({ client: world.client, environment: 'test' });
    await batches.start({ batchId, payouts: [row] });
    await eventually(async () => (await batches.state({ batchId })).phase === 'DONE' || undefined);
    const query = `WorkflowId STARTS_WITH 'payout-batch-part:default:${batchId}'`;
    const workflowId = await eventually(async () => {
      for await (const run of world.client.workflow.list({ query })) return run.workflowId;
      return undefined;
    });
    const { runId } = await world.client.workflow.getHandle(workflowId).describe();
    const { argument } = await readStartEvent(world.client, workflowId, runId);
    expect(Object(argument)).toHaveProperty('startedAt');
    return promisedAgain(row, () =>
      world.client.workflow.signalWithStart('payoutBatchPart', {
        ...{ taskQueue: 'payouts', workflowId, signal: turnSignal, signalArgs: [batchId] },
        // Temporal may have taken more than a minute to delete the history.
        args: [{ ...Object(argument), startedAt: at(ageMs) } satisfies PartRequest],
      }),
    );
  }

  test('of a part of a batch', async ({ expect }) => {
    const row = request();
    const promised = await Promise.all([part(row, OLD), part(request(), FRESH)]);
    expect(promised).toEqual([false, expect.any(String)]);
    await expectPaidOnce(row);
  });

  async function operation(row: ReturnType<typeof request>, ageMs: number) {
    await world.payouts.start(row);
    await world.payouts.result(row);
    return promisedAgain(row, () =>
      world.client.workflow.start('payoutOperation', {
        taskQueue: 'payouts',
        workflowId: payoutOperationWorkflowId('default', row.partnerOrderId, newPartnerOrderId()),
        args: [{ environment: 'test', request: { ...row, app: 'default' }, startedBy: 'nexus:default' }],
        memo: startMemo({ environment: 'test', rejectDuplicate: at(ageMs) }),
      }),
    );
  }

  test('of a Nexus operation', async ({ expect }) => {
    const row = request();
    const promised = await Promise.all([operation(row, OLD), operation(request(), FRESH)]);
    expect(promised).toEqual([false, expect.any(String)]);
    await expectPaidOnce(row);
  });
});
