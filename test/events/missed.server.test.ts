/** Events that a workflow could not publish before its end: reconciliation publishes them. */
import { fileURLToPath } from 'node:url';
import { defaultPayloadConverter, TypedSearchAttributes } from '@temporalio/common';
import proto from '@temporalio/proto';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encryptionKeys } from '../../src/config/keys.ts';
import type { RecordedEvent } from '../../src/contract/events.ts';
import { UNPUBLISHED } from '../../src/contract/memo.ts';
import type { ReconciliationReport } from '../../src/domain/reconciliation.ts';
import { dataConverter } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { APP } from '../../src/temporal/namespace.ts';
import { EventEndpoint, eventsFile } from '../support/event-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { reconcile } from '../support/reconciliation.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let endpoint: EventEndpoint;
let world: PayoutWorld;
let worker: Worker;
let done: Promise<void>;

beforeAll(async () => {
  endpoint = await EventEndpoint.start();
  world = await PayoutWorld.start({
    env: {
      PAYOUTS_EVENTS_FILE: eventsFile([{ url: endpoint.url }]),
      PAYOUTS_ENCRYPTION_KEYS: newKey('k1'),
      PAYOUTS_TOKEN_KEYS: newKey('t1'),
    },
  });
  worker = await Worker.create({
    ...{ connection: world.native, namespace: world.namespace, taskQueue: 'ended' },
    dataConverter: dataConverter(encryptionKeys(world.workerEnvironment).payloads, PROCESS_RUNTIME.random),
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('./ended-publisher.ts', import.meta.url)),
    }),
  });
  done = worker.run();
});
afterAll(async () => {
  worker?.shutdown();
  await done;
  await world?.stop();
  await endpoint?.stop();
});

function attentionCleared(partnerOrderId: string, more: Partial<RecordedEvent>): RecordedEvent {
  const data = { app: 'default', partnerOrderId, clientId: 'c', payerId: 'p', phase: 'PROCESSING' };
  const id = `evt_${newPartnerOrderId()}`;
  return { id, type: 'payout.attention_cleared', data, timestamp: '2026-01-31T08:00:00Z', ...more };
}

async function end(memo: Record<string, unknown>, events: RecordedEvent[]): Promise<void> {
  const workflowId = `payout:default:${newPartnerOrderId()}`;
  await world.client.workflow.execute('payout', {
    ...{ taskQueue: 'ended', workflowId, args: [events], memo },
    typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: 'default' }]),
  });
}

test('H183 reconciliation publishes them, once, and no others', async () => {
  const partnerOrderId = newPartnerOrderId();
  const left = attentionCleared(partnerOrderId, {});
  const queued = attentionCleared(partnerOrderId, { isQueued: true });
  await end({ environment: 'test', ...UNPUBLISHED }, [queued, left]);
  await end({ environment: 'another', ...UNPUBLISHED }, [attentionCleared(partnerOrderId, {})]);
  await end({ environment: 'test' }, [attentionCleared(partnerOrderId, {})]);
  // Visibility lags.
  await eventually(async () => {
    await reconcile(world);
    return endpoint.of(partnerOrderId).length > 0 || undefined;
  });
  await reconcile(world);
  // What the second reconciliation queued would arrive before this payout's event.
  const last = newPartnerOrderId();
  await world.pay('success final=0s', { partnerOrderId: last });
  await endpoint.until(last, 'payout.completed');
  expect(endpoint.of(partnerOrderId).map(({ id }) => id)).toEqual([left.id]);
});

test('H352 an answer that is not encrypted for the workflow is not published', async () => {
  const partnerOrderId = newPartnerOrderId();
  const workflowId = `payout:default:${partnerOrderId}`;
  await world.client.workflow.start('payout', {
    ...{ taskQueue: partnerOrderId, workflowId, memo: UNPUBLISHED },
    typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: 'default' }]),
  });
  const {
    workflowService,
    options: { namespace },
  } = world.client;
  const poll = () =>
    world.client.withDeadline(Date.now() + 70_000, () =>
      workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: partnerOrderId } }),
    );
  const { COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION: commandType } = proto.temporal.api.enums.v1.CommandType;
  const commands = [{ commandType, completeWorkflowExecutionCommandAttributes: {} }];
  await workflowService.respondWorkflowTaskCompleted({ namespace, ...(await tokenOf(poll())), commands });
  const asked = tokenOf(poll());
  const reconciling = untilReconciled(workflowId);
  const forged = attentionCleared(partnerOrderId, {});
  await workflowService.respondQueryTaskCompleted({
    ...{ namespace, ...(await asked) },
    completedType: proto.temporal.api.enums.v1.QueryResultType.QUERY_RESULT_TYPE_ANSWERED,
    queryResult: { payloads: [defaultPayloadConverter.toPayload([forged])] },
  });
  const { notReconciled } = await reconciling;
  expect(notReconciled).toContainEqual({ workflowId, reason: 'cannot be read: Error' });
  const last = newPartnerOrderId();
  await world.pay('success final=0s', { partnerOrderId: last });
  await endpoint.until(last, 'payout.completed');
  expect(endpoint.of(partnerOrderId)).toEqual([]);
});

async function tokenOf(task: Promise<{ taskToken?: Uint8Array | null }>) {
  return { taskToken: (await task).taskToken ?? new Uint8Array() };
}

/** Visibility lags, so it may take several runs. */
function untilReconciled(workflowId: string): Promise<ReconciliationReport> {
  return eventually(async () => {
    const report = await reconcile(world);
    return report.notReconciled.some((one) => one.workflowId === workflowId) ? report : undefined;
  });
}
