/** Events that a workflow could not publish before its end: reconciliation publishes them. */
import { fileURLToPath } from 'node:url';
import { TypedSearchAttributes } from '@temporalio/common';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/contract/events.ts';
import { UNPUBLISHED } from '../../src/contract/memo.ts';
import { APP } from '../../src/temporal/namespace.ts';
import { EventEndpoint, eventsFile } from '../support/event-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { reconcile } from '../support/reconciliation.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let endpoint: EventEndpoint;
let world: PayoutWorld;
let worker: Worker;
let done: Promise<void>;

beforeAll(async () => {
  endpoint = await EventEndpoint.start();
  world = await PayoutWorld.start({ env: { PAYOUTS_EVENTS_FILE: eventsFile([{ url: endpoint.url }]) } });
  worker = await Worker.create({
    ...{ connection: world.native, namespace: world.namespace, taskQueue: 'ended' },
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
