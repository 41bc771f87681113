/** The messages of outgoing events: of the workflows that publish them, and of the delivery to one endpoint. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { DeliveryOutcome, EndpointState, QueueEvents } from '../domain/event-delivery.ts';
import type { RecordedEvent } from '../domain/event-log.ts';

/** Of a payout, a follow-up, a batch or a token renewal: the events that it has recorded, the latest last. */
export const eventsQuery = defineQuery<RecordedEvent[]>('events');

/** Of a delivery. */
export const publishSignal = defineSignal<[QueueEvents]>('publish');
export const endpointStateQuery = defineQuery<EndpointState>('state');
/** Sends everything that waits again, also to a disabled endpoint. `by`: who decides. */
export const enableEndpointUpdate = defineUpdate<EndpointState, [{ by: string }]>('enable');
/** Sends one event of the type `endpoint.test` now, without a retry. */
export const testEndpointUpdate = defineUpdate<DeliveryOutcome>('test');
