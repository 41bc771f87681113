/**
 * The activities of outgoing events. One queues the events of a workflow for the endpoints that want them. The other sends a
 * batch of them to one endpoint: every answer, and every lack of one, is an outcome.
 */
import { activityInfo, Context, cancellationSignal } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { queueEvents } from '../../client/events.ts';
import type { WorkerConfig } from '../../config/config.ts';
import { type EventEndpoint, type EventEndpoints, wantedTypes, wants } from '../../config/events.ts';
import { type EventType, TEST_EVENT_TYPE } from '../../contract/codes.ts';
import type { DeliveryOutcome, EndpointKey, QueuedEvent, RecordedEvent } from '../../contract/events.ts';
import { eventsQuery } from '../../contract/workflows.ts';
import { bodyOf } from '../../domain/events.ts';
import { type DeliveryReport, orderKey } from '../../domain/events-delivery.ts';
import { isTraceParent, type SpanStart } from '../../observability/trace.ts';
import { inSpan } from '../../observability/tracing.ts';
import { type Clock, inParallel, type Runtime, repeat } from '../../runtime/runtime.ts';
import { unlessGone } from '../../temporal/client-errors.ts';
import type { EventResponse, EventTransport } from '../../webhooks/event-transport.ts';
import { signedHeaders } from '../../webhooks/sign-event.ts';
import { onlyHere, requireHere } from '../shared/execution.ts';

const HEARTBEAT_EVERY_MS = 2_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** No request begins later, so that the activity ends in time, and a long batch does not outgrow the history. */
const LAST_START_MS = 10_000;

interface Delivery {
  environment: string;
  endpoints: EventEndpoints;
  client: Client;
  transport: EventTransport;
  runtime: Runtime;
}

const outcomesSchema = z.array(
  z.object({
    id: z.string(),
    kind: z.enum(['delivered', 'gone', 'skipped', 'unreadable', 'failed', 'unread']),
  }),
);

interface DeliverEvents extends EndpointKey {
  /** In the order in which they were published. */
  events: QueuedEvent[];
}

export function deliveryActivities(delivery: Delivery) {
  const { environment, endpoints, runtime } = delivery;
  const { clock } = runtime;
  return {
    /**
     * Sends the events: those of one order one after another, the others in parallel. A failed request is an outcome; it does
     * not fail the activity. A cancellation, or the end of its time, leaves the remaining events out.
     */
    async deliverEvents(deliver: DeliverEvents): Promise<DeliveryReport> {
      requireHere({ environment }, { environment: deliver.environment });
      const endpoint = endpoints.get(deliver.app)?.find(({ name }) => name === deliver.endpoint);
      if (!endpoint) return { outcomes: [], atMs: clock.wallMs(), isUnknown: true };
      const batch = new Batch(delivery, endpoint);
      const context = Context.current();
      const stop = repeat(clock, HEARTBEAT_EVERY_MS, () => context.heartbeat(batch.outcomes));
      try {
        await batch.send(deliver.events);
      } finally {
        stop();
      }
      return { outcomes: batch.outcomes, atMs: clock.wallMs() };
    },
  };
}

type Read = { type: string; body: string } | { kind: 'unreadable' } | { kind: 'unread'; reason: string };

class Batch {
  readonly outcomes: DeliveryOutcome[] = [];
  private readonly parts: Delivery;
  private readonly endpoint: EventEndpoint;
  private readonly untilMs: number;
  private isGone = false;

  constructor(parts: Delivery, endpoint: EventEndpoint) {
    this.parts = parts;
    this.endpoint = endpoint;
    this.untilMs = parts.runtime.clock.nowMs() + LAST_START_MS;
  }

  /** Skips what an earlier attempt delivered before its worker died. */
  async send(events: readonly QueuedEvent[]): Promise<void> {
    const { heartbeatDetails } = activityInfo();
    const before = outcomesSchema.safeParse(heartbeatDetails).data ?? [];
    for (const { id, kind } of before) if (kind === 'delivered') this.outcomes.push({ id, kind });
    const delivered = new Set(this.outcomes.map(({ id }) => id));
    const orders = new Map<string, QueuedEvent[]>();
    for (const event of events.filter(({ id }) => !delivered.has(id))) {
      const key = event.source === '' ? event.id : orderKey(event.source);
      orders.set(key, [...(orders.get(key) ?? []), event]);
    }
    await inParallel([...orders.values()], (order) => this.sendInOrder(order));
  }

  /** After a failure, the later events of the order wait. */
  private async sendInOrder(events: readonly QueuedEvent[]): Promise<void> {
    const { clock } = this.parts.runtime;
    for (const event of events) {
      if (this.isGone || clock.nowMs() > this.untilMs || cancellationSignal().aborted) return;
      const outcome = await this.sendOne(event);
      this.outcomes.push(outcome);
      Context.current().heartbeat(this.outcomes);
      if (outcome.kind === 'gone') this.isGone = true;
      if (outcome.kind === 'failed' || outcome.kind === 'unread' || outcome.kind === 'gone') return;
    }
  }

  private async sendOne(event: QueuedEvent): Promise<DeliveryOutcome> {
    const { id } = event;
    const read = await this.read(event);
    if (!('body' in read)) return { id, ...read };
    const { type, body } = read;
    if (type !== TEST_EVENT_TYPE && !wants(this.endpoint, type)) return { id, kind: 'skipped' };
    return { id, ...verdict(await this.postInTrace(event, body)) };
  }

  /** The type and the body, from the publishing workflow if the queue has only a reference. */
  private async read({ id, source, type, body }: QueuedEvent): Promise<Read> {
    if (type !== undefined && body !== undefined) return { type, body };
    try {
      const handle = this.parts.client.workflow.getHandle(source);
      const events = await unlessGone(() => handle.query(eventsQuery));
      const event = events?.find((one) => one.id === id && one.timestamp !== undefined);
      return event ? { type: event.type, body: bodyOf(event) } : { kind: 'unreadable' };
    } catch {
      return { kind: 'unread', reason: 'NO_WORKER' };
    }
  }

  /** The receiver can continue the trace of the payout. */
  private postInTrace({ id, trace }: QueuedEvent, body: string): Promise<EventResponse> {
    const span: SpanStart = {
      name: 'deliver event',
      kind: 'client',
      ...(isTraceParent(trace) && { parent: trace }),
      attributes: { 'payouts.event.id': id, 'payouts.endpoint': this.endpoint.name },
    };
    return inSpan(span, (traceparent) => this.post(id, body, traceparent ? { traceparent } : {}));
  }

  private async post(id: string, body: string, more: Record<string, string>): Promise<EventResponse> {
    const { transport, runtime } = this.parts;
    const { clock } = runtime;
    const { url, keys, allowPrivateAddress } = this.endpoint;
    const deadline = new AbortController();
    const stop = clock.after(REQUEST_TIMEOUT_MS, () => deadline.abort());
    const headers = { ...more, ...signedHeaders(keys, { id, body, atMs: clock.wallMs() }) };
    try {
      return await transport.post({ url, headers, body, allowPrivateAddress, signal: deadline.signal });
    } finally {
      stop();
    }
  }
}

function verdict(answer: EventResponse): { kind: 'delivered' | 'gone' } | { kind: 'failed'; reason: string } {
  if ('code' in answer) return { kind: 'failed', reason: answer.code };
  const { status } = answer;
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  return status === 410 ? { kind: 'gone' } : { kind: 'failed', reason: `HTTP_${status}` };
}

interface PublishEvents {
  environment: string;
  app: string;
  /** The workflow that publishes them. */
  workflowId: string;
  events: RecordedEvent[];
}

/** Calls only Temporal. */
export function publishActivities(config: WorkerConfig, client: Client, clock: Clock) {
  const here = onlyHere(config.env.PAYMENTS_ENVIRONMENT, clock);
  return {
    /** Queues each event for every endpoint that wants its type, and starts the deliveries that do not run. Idempotent. */
    publishEvents: (publish: PublishEvents) =>
      here(publish, async () => {
        const { environment, app, workflowId, events } = publish;
        const queued = await Promise.allSettled(
          (config.events.get(app) ?? []).map(async (endpoint) => {
            const wanted = events.filter(({ type }) => wants(endpoint, type));
            if (wanted.length === 0) return;
            const key = { environment, app, endpoint: endpoint.name };
            await queueEvents(client, key, { workflowId, events: wanted }, { atMs: clock.wallMs() });
          }),
        );
        // An endpoint that cannot take them must not keep them from the others. The retry repeats them; deliveries
        // recognize repeated ids.
        for (const one of queued) if (one.status === 'rejected') throw one.reason;
      }),
  };
}

/** For the result of the first activity of a workflow. */
export function eventTypesOf({ events }: WorkerConfig, app: string): { eventTypes?: EventType[] } {
  const eventTypes = wantedTypes(events, app);
  return eventTypes ? { eventTypes } : {};
}
