/** The activities of outgoing events: one queues them for the endpoints that want them, the other sends them to one. */
import { activityInfo, Context, cancellationSignal } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { queueEvents } from '../../client/events.ts';
import type { WorkerConfig } from '../../config/config.ts';
import { type EventEndpoint, type EventEndpoints, wantedTypes, wants } from '../../config/events.ts';
import { type EventType, TEST_EVENT_TYPE } from '../../contract/codes.ts';
import type {
  DeliveryOutcome,
  EndpointKey,
  Outcome,
  QueuedEvent,
  RecordedEvent,
} from '../../contract/events.ts';
import { eventsQuery } from '../../contract/workflows.ts';
import { bodyOf } from '../../domain/events.ts';
import { type DeliveryReport, orderKey } from '../../domain/events-delivery.ts';
import { isTraceParent, type SpanStart } from '../../observability/trace.ts';
import { inSpan } from '../../observability/tracing.ts';
import { type Clock, inParallel, type Runtime, repeat } from '../../runtime/runtime.ts';
import { unlessGone } from '../../temporal/client-errors.ts';
import { ownAnswer } from '../../temporal/own-payloads.ts';
import type { EventTransport } from '../../webhooks/event-transport.ts';
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

interface DeliverEvents extends EndpointKey {
  /** In the order in which they were published. */
  events: QueuedEvent[];
}

export function deliveryActivities(delivery: Delivery) {
  return {
    /**
     * Sends the events: those of one order one after another, the others in parallel. A failed request is an outcome; it does
     * not fail the activity. A cancellation, or the end of its time, leaves the remaining events out.
     */
    async deliverEvents({
      environment,
      app,
      endpoint: name,
      events,
    }: DeliverEvents): Promise<DeliveryReport> {
      requireHere({ environment: delivery.environment }, { environment });
      const { clock } = delivery.runtime;
      const endpoint = delivery.endpoints.get(app)?.find((one) => one.name === name);
      if (!endpoint) return { outcomes: [], atMs: clock.wallMs(), isUnknown: true };
      const outcomes = deliveredBefore();
      const context = Context.current();
      const heartbeat = () => context.heartbeat(outcomes);
      const stop = repeat(clock, HEARTBEAT_EVERY_MS, heartbeat);
      const untilMs = clock.nowMs() + LAST_START_MS;
      const isOver = () =>
        clock.nowMs() > untilMs ||
        cancellationSignal().aborted ||
        outcomes.some(({ kind }) => kind === 'gone');
      try {
        await inParallel(byOrder(events, outcomes), async (order) => {
          for (const event of order) {
            if (isOver()) return;
            const outcome = await send(delivery, endpoint, event);
            outcomes.push({ id: event.id, ...outcome });
            heartbeat();
            // After a failure, the later events of the order wait.
            if (outcome.kind === 'failed' || outcome.kind === 'unread') return;
          }
        });
      } finally {
        stop();
      }
      return { outcomes, atMs: clock.wallMs() };
    },
  };
}

const outcomesSchema = z.array(z.object({ id: z.string(), kind: z.string() }));

/** What an earlier attempt delivered before its worker died. */
function deliveredBefore(): DeliveryOutcome[] {
  const outcomes = outcomesSchema.safeParse(activityInfo().heartbeatDetails).data ?? [];
  return outcomes.flatMap(({ id, kind }) => (kind === 'delivered' ? [{ id, kind }] : []));
}

/** The events that are not delivered yet, by the order that they're about. */
function byOrder(events: readonly QueuedEvent[], delivered: readonly DeliveryOutcome[]): QueuedEvent[][] {
  const done = new Set(delivered.map(({ id }) => id));
  const orders = new Map<string, QueuedEvent[]>();
  for (const event of events.filter(({ id }) => !done.has(id))) {
    const key = event.source === '' ? event.id : orderKey(event.source);
    orders.set(key, [...(orders.get(key) ?? []), event]);
  }
  return [...orders.values()];
}

async function send(delivery: Delivery, endpoint: EventEndpoint, event: QueuedEvent): Promise<Outcome> {
  const { id, trace } = event;
  const read = await readEvent(delivery.client, event);
  if ('kind' in read) return read;
  const { type, body } = read;
  if (type !== TEST_EVENT_TYPE && !wants(endpoint, type)) return { kind: 'skipped' };
  const span: SpanStart = {
    name: 'deliver event',
    kind: 'client',
    ...(isTraceParent(trace) && { parent: trace }),
    attributes: { 'payouts.event.id': id, 'payouts.endpoint': endpoint.name },
  };
  // The receiver can continue the trace of the payout.
  return inSpan(span, (traceparent) => post(delivery, endpoint, { id, body, traceparent }));
}

/** The type and the body, from the publishing workflow if the queue has only a reference. */
async function readEvent(
  client: Client,
  { id, source, type, body }: QueuedEvent,
): Promise<{ type: string; body: string } | Outcome> {
  if (type !== undefined && body !== undefined) return { type, body };
  try {
    const events = await unlessGone(() => ownAnswer(client, { workflowId: source }, eventsQuery));
    const event = events?.find((one) => one.id === id && one.timestamp !== undefined);
    return event ? { type: event.type, body: bodyOf(event) } : { kind: 'unreadable' };
  } catch {
    return { kind: 'unread', reason: 'NO_WORKER' };
  }
}

async function post(
  { transport, runtime: { clock } }: Delivery,
  { url, keys, allowPrivateAddress }: EventEndpoint,
  { id, body, traceparent }: { id: string; body: string; traceparent: string | undefined },
): Promise<Outcome> {
  const deadline = new AbortController();
  const stop = clock.after(REQUEST_TIMEOUT_MS, () => deadline.abort());
  const signed = signedHeaders(keys, { id, body, atMs: clock.wallMs() });
  const headers = traceparent === undefined ? signed : { traceparent, ...signed };
  const { signal } = deadline;
  const response = await transport.post({ url, headers, body, allowPrivateAddress, signal }).finally(stop);
  if ('code' in response) return { kind: 'failed', reason: response.code };
  const { status } = response;
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

interface EventQueues {
  client: Client;
  environment: string;
  endpoints: EventEndpoints;
  clock: Clock;
}

/** Calls only Temporal. */
export function publishActivities({ env, events: endpoints }: WorkerConfig, client: Client, clock: Clock) {
  const queues = { client, environment: env.PAYMENTS_ENVIRONMENT, endpoints, clock };
  const here = onlyHere(queues.environment, clock);
  return {
    /** Queues each event for every endpoint that wants its type, and starts the deliveries that do not run. Idempotent. */
    publishEvents: (publish: PublishEvents) => here(publish, () => queueForEndpoints(queues, publish)),
  };
}

/** Tries every endpoint before it fails, because one that cannot take the events must not keep them from the others. */
export async function queueForEndpoints(
  { client, environment, endpoints, clock }: EventQueues,
  { app, workflowId, events }: Omit<PublishEvents, 'environment'>,
): Promise<void> {
  const queued = await Promise.allSettled(
    (endpoints.get(app) ?? []).map(async (endpoint) => {
      const wanted = events.filter(({ type }) => wants(endpoint, type));
      if (wanted.length === 0) return;
      const key = { environment, app, endpoint: endpoint.name };
      await queueEvents(client, key, { workflowId, events: wanted }, { atMs: clock.wallMs() });
    }),
  );
  for (const one of queued) if (one.status === 'rejected') throw one.reason;
}

/** For the result of the first activity of a workflow. */
export function eventTypesOf({ events }: WorkerConfig, app: string): { eventTypes?: EventType[] } {
  const eventTypes = wantedTypes(events, app);
  return eventTypes ? { eventTypes } : {};
}
