/** The activities of outgoing events. Types only, so that workflows can import them. */

import type { EndpointKey, QueuedEvent, RecordedEvent } from '../../contract/events.ts';
import type { DeliveryReport } from '../../domain/events-delivery.ts';

export interface PublishEvents {
  environment: string;
  app: string;
  /** The workflow that publishes them. */
  workflowId: string;
  events: RecordedEvent[];
}

export interface DeliverEvents extends EndpointKey {
  /** In the order in which they were published. */
  events: QueuedEvent[];
}

/** Calls only Temporal. */
export interface PublishActivities {
  /** Queues each event for every endpoint that wants its type, and starts the deliveries that do not run. Idempotent. */
  publishEvents(publish: PublishEvents): Promise<void>;
}

export interface DeliveryActivities {
  /**
   * Sends the events: those of one order one after another, the others in parallel. A failed request is an outcome; it
   * does not fail the activity. A cancellation, or the end of its time, leaves the remaining events out.
   */
  deliverEvents(deliver: DeliverEvents): Promise<DeliveryReport>;
}
