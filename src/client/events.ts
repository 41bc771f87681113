/** The events of payouts, and the endpoints that get them: queues them, lists them, sends them again, tests and enables endpoints. */
import type { Client, WorkflowHandle } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type {
  DeliveryOutcome,
  EndpointKey,
  EndpointState,
  QueueEvents,
  RecordedEvent,
} from '../contract/events.ts';
import { appName, checkBody, timeWithOffset } from '../contract/fields.ts';
import {
  eventDeliveryWorkflowId,
  PAYOUTS_TASK_QUEUE,
  payoutFollowUpWorkflowId,
  payoutWorkflowId,
} from '../contract/ids.ts';
import { startMemo } from '../contract/memo.ts';
import {
  argumentOf,
  enableEndpointUpdate,
  endpointStateQuery,
  eventsQuery,
  publishSignal,
  testEndpointUpdate,
  type WorkflowSignatures,
} from '../contract/workflows.ts';
import { bodyOf } from '../domain/events.ts';
import { currentTrace } from '../observability/tracing.ts';
import { PROCESS_RUNTIME } from '../runtime/process.ts';
import { type Clock, inParallel } from '../runtime/runtime.ts';
import { unlessGone } from '../temporal/client-errors.ts';
import { APP } from '../temporal/namespace.ts';
import { ownAnswer } from '../temporal/own-payloads.ts';
import { latestRuns, listRunPages } from '../temporal/visibility.ts';
import { requireEnvironment, requireValid } from './errors.ts';
import type { PayoutRef } from './payouts.ts';
import { retryDroppedUpdate } from './steering.ts';

export interface EventsOptions {
  client: Client;
  /** The environment of the workers. Required by everything that concerns an endpoint. */
  environment?: string | undefined;
  clock?: Clock;
}

export interface EndpointRef {
  /** Default `default`. */
  app?: string | undefined;
  endpoint: string;
}

/** An endpoint whose delivery no longer runs, or whose worker does not respond. */
export type ListedEndpoint = EndpointState | { app: string; endpoint: string; unknown: string };

export interface Resent {
  events: number;
  /** The endpoints that got them in their queue. */
  endpoints: string[];
}

export type PublishedEvent = Required<Pick<RecordedEvent, 'id' | 'type' | 'timestamp' | 'data'>>;

const PAGE_SIZE = 100;
const PUBLISHERS = "('payout', 'payoutFollowUp', 'payoutBatch', 'tokenRenewal')";

export class Events {
  private readonly client: Client;
  private readonly environment: string | undefined;
  private readonly clock: Clock;

  constructor({ client, environment, clock = PROCESS_RUNTIME.clock }: EventsOptions) {
    this.client = client;
    this.environment = environment;
    this.clock = clock;
  }

  /** The events of a payout and of its follow-up, the earliest first: at most the last 50 of each. */
  async ofPayout({ app = 'default', partnerOrderId }: PayoutRef): Promise<PublishedEvent[]> {
    const own = await this.eventsOf(payoutWorkflowId(app, partnerOrderId));
    const followUp = await unlessGone(() => this.eventsOf(payoutFollowUpWorkflowId(app, partnerOrderId)));
    return [...own, ...(followUp ?? [])];
  }

  /** The endpoints of an application, by visibility, which lags by up to some seconds. */
  async endpoints(app = 'default'): Promise<ListedEndpoint[]> {
    const prefix = eventDeliveryWorkflowId(this.here, requireValid(checkBody(appName, app)), '');
    const query = `WorkflowType = 'eventDelivery' AND PayoutApp = '${app}' AND ExecutionStatus != 'ContinuedAsNew'`;
    const found: ListedEndpoint[] = [];
    for await (const { workflowId, status } of latestRuns(this.client, query)) {
      if (!workflowId.startsWith(prefix)) continue;
      const endpoint = workflowId.slice(prefix.length);
      const state =
        status === 'RUNNING'
          ? await this.endpoint({ app, endpoint }).catch(() => 'no worker responds')
          : status;
      found.push(typeof state === 'string' ? { app, endpoint, unknown: state } : state);
    }
    return found.sort((one, other) => one.endpoint.localeCompare(other.endpoint));
  }

  /** Throws Temporal's `WorkflowNotFoundError` if no worker has ever known the endpoint. */
  endpoint(ref: EndpointRef): Promise<EndpointState> {
    return this.delivery(ref).query(endpointStateQuery);
  }

  /** Sends the events of a payout again, under the same ids, to every endpoint that wants them. */
  async resendPayout({ app = 'default', partnerOrderId }: PayoutRef): Promise<Resent> {
    const endpoints = (await this.endpoints(app)).map(({ endpoint }) => endpoint);
    const own = payoutWorkflowId(app, partnerOrderId);
    const followUp = payoutFollowUpWorkflowId(app, partnerOrderId);
    let events = await this.resend(own, app, endpoints, 0);
    events += (await unlessGone(() => this.resend(followUp, app, endpoints, 0))) ?? 0;
    return { events, endpoints };
  }

  /**
   * Sends every event since `since` (ISO 8601 with an offset) to one endpoint again, of the workflows that Temporal still
   * keeps. Reads each of them by a query.
   */
  async resendSince({ app = 'default', endpoint }: EndpointRef, since: string): Promise<Resent> {
    await this.endpoint({ app, endpoint });
    const sinceMs = Date.parse(requireValid(checkBody(timeWithOffset(), since)));
    const query =
      `WorkflowType IN ${PUBLISHERS} AND PayoutApp = '${requireValid(checkBody(appName, app))}'` +
      ` AND ExecutionStatus != 'ContinuedAsNew'` +
      ` AND (ExecutionStatus = 'Running' OR CloseTime >= '${new Date(sinceMs).toISOString()}')`;
    let events = 0;
    const seen = new Set<string>();
    for await (const runs of listRunPages(this.client, query, PAGE_SIZE)) {
      const fresh = new Set(runs.map(({ workflowId }) => workflowId).filter((id) => !seen.has(id)));
      for (const id of fresh) seen.add(id);
      const counts = await inParallel([...fresh], (id) =>
        unlessGone(() => this.resend(id, app, [endpoint], sinceMs)),
      );
      events += counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
    }
    return { events, endpoints: [endpoint] };
  }

  /** Sends one event of the type `endpoint.test` now, even to a disabled endpoint. */
  test(ref: EndpointRef): Promise<DeliveryOutcome> {
    return retryDroppedUpdate(() => this.delivery(ref).executeUpdate(testEndpointUpdate));
  }

  /** Sends everything that waits again, and lets a disabled endpoint get events. `by`: who decides. */
  enable(ref: EndpointRef, by: string): Promise<EndpointState> {
    return retryDroppedUpdate(() =>
      this.delivery(ref).executeUpdate(enableEndpointUpdate, {
        args: [argumentOf(enableEndpointUpdate, { by })],
      }),
    );
  }

  private async resend(
    workflowId: string,
    app: string,
    endpoints: readonly string[],
    sinceMs: number,
  ): Promise<number> {
    const all = await this.eventsOf(workflowId);
    const events = all.filter(({ timestamp }) => Date.parse(timestamp) >= sinceMs);
    if (events.length === 0) return 0;
    const how = { atMs: this.clock.wallMs(), resend: true };
    for (const endpoint of endpoints)
      await queueEvents(this.client, { environment: this.here, app, endpoint }, { workflowId, events }, how);
    return events.length;
  }

  private async eventsOf(workflowId: string): Promise<PublishedEvent[]> {
    const events = await ownAnswer(this.client, { workflowId }, eventsQuery);
    return events.flatMap(({ id, type, timestamp, data }) =>
      timestamp === undefined ? [] : [{ id, type, timestamp, data }],
    );
  }

  private delivery({
    app = 'default',
    endpoint,
  }: EndpointRef): WorkflowHandle<WorkflowSignatures['eventDelivery']> {
    return this.client.workflow.getHandle(eventDeliveryWorkflowId(this.here, app, endpoint));
  }

  private get here(): string {
    return requireEnvironment(this.environment);
  }
}

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
      id: event.id,
      source,
      ...(trace !== undefined && { trace }),
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
    memo: startMemo({ environment }),
    typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
    staticSummary: `delivers events to ${endpoint}`,
  };
}
