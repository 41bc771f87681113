/** Puts events into the queue of an endpoint. */
import type { Client } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type { EndpointKey, QueueEvents, RecordedEvent } from '../contract/events.ts';
import { eventDeliveryWorkflowId, PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import { publishSignal, type WorkflowSignatures } from '../contract/workflows.ts';
import { bodyOf } from '../domain/events.ts';
import { currentTrace } from '../observability/tracing.ts';
import { APP } from '../temporal/namespace.ts';

/** A larger body is read from the workflow that published the event. */
const MAX_BODY = 8_192;

/** Resolves when Temporal has accepted the events. Starts the delivery if it does not run. */
export async function queueEvents(
  client: Client,
  key: EndpointKey,
  { workflowId: source, events }: { workflowId: string; events: readonly RecordedEvent[] },
  how: Omit<QueueEvents, 'events'>,
): Promise<void> {
  const trace = currentTrace();
  const queued = events.map((event) => {
    const body = bodyOf(event);
    return {
      ...{ id: event.id, source, ...(trace !== undefined && { trace }) },
      ...(body.length <= MAX_BODY && { type: event.type, body }),
    };
  });
  await client.workflow.signalWithStart<WorkflowSignatures['eventDelivery'], [QueueEvents]>('eventDelivery', {
    ...deliveryOptions(key),
    signal: publishSignal,
    signalArgs: [{ events: queued, ...how }],
  });
}

export function deliveryOptions(key: EndpointKey) {
  const { environment, app, endpoint } = key;
  return {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: eventDeliveryWorkflowId(environment, app, endpoint),
    args: [key] as [EndpointKey],
    memo: { environment },
    typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
    staticSummary: `delivers events to ${endpoint}`,
  };
}
