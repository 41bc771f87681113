/**
 * Publishes the events of a workflow beside its steps. The steps never wait for it; only the end of a run does, for a
 * limited time. One activity at a time, so that the events keep their order. The activity limits its own time: a timer
 * would cost two history events.
 */
import {
  CancellationScope,
  condition,
  log,
  metricMeter,
  proxyActivities,
  setHandler,
  upsertMemo,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type { publishActivities } from '../../activities/events/event-activities.ts';
import type { EventType } from '../../contract/codes.ts';
import type { RecordedEvent } from '../../contract/events.ts';
import { UNPUBLISHED } from '../../contract/memo.ts';
import type { Metadata } from '../../contract/payout-request.ts';
import { eventsQuery } from '../../contract/workflows.ts';
import { type EventLog, type Publish, trimmed } from '../../domain/events.ts';
import { count, logEvent } from '../../domain/telemetry.ts';
import { isoTime } from '../../domain/time.ts';
import { UNTIL_TEMPORAL_ANSWERS } from './calls.ts';

/** Where the events belong, and which types an endpoint wants. Without types, nothing is recorded. */
interface EventPlan {
  environment: string;
  app: string;
  eventTypes?: readonly EventType[] | undefined;
  /** The caller's pairs, which each event repeats. */
  metadata?: Metadata | undefined;
}

const { publishEvents } = proxyActivities<ReturnType<typeof publishActivities>>({
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '1m',
  summary: 'publishes events',
  retry: UNTIL_TEMPORAL_ANSWERS,
});
/** Before the workflow ends. */
const LAST_TRIES = 5;

/** `webhook-id`. A replay gives the same. */
export function newEventId(): string {
  return `evt_${uuid4().replaceAll('-', '')}`;
}

export class Publisher {
  private readonly log: EventLog;
  private readonly plan: () => EventPlan | undefined;
  private isRunning = false;

  /** `plan`: undefined until the workflow knows it. */
  constructor(eventLog: EventLog, plan: () => EventPlan | undefined) {
    this.log = eventLog;
    this.plan = plan;
    setHandler(eventsQuery, () => this.complete(eventLog.events));
  }

  /** `find` calls `publish` with what is new. */
  publish(find: (published: EventLog['published'], publish: Publish) => void): void {
    const wanted = this.plan()?.eventTypes;
    if (!wanted) return;
    find(this.log.published, (type, data) => {
      if (!wanted.includes(type)) return;
      this.log.events.push({ id: newEventId(), type, data });
      this.log.events = trimmed(this.log.events);
    });
    this.start();
  }

  /** Call it before the run continues as new. The next run publishes what is left. */
  async settle(): Promise<void> {
    await CancellationScope.nonCancellable(() => condition(() => !this.isRunning));
  }

  /** Call it before the workflow ends. Events that cannot be queued change nothing else. */
  async end(): Promise<void> {
    for (let tries = 0; this.pending.length > 0 && tries < LAST_TRIES; tries += 1) {
      this.start();
      await this.settle();
    }
    const { length } = this.pending;
    if (length === 0) return;
    const tags = { app: this.plan()?.app ?? '' };
    logEvent(log, 'events.unpublished', tags);
    count(metricMeter, 'payouts_events_unpublished', tags, length);
    upsertMemo(UNPUBLISHED);
  }

  /** The log keeps the metadata once, not with each event. */
  private complete(events: readonly RecordedEvent[]): RecordedEvent[] {
    const metadata = this.plan()?.metadata;
    return events.map((event) => (metadata ? { ...event, data: { ...event.data, metadata } } : event));
  }

  private get pending() {
    return this.log.events.filter(({ isQueued }) => !isQueued);
  }

  /** A step that is canceled must not cancel it. */
  private start(): void {
    const plan = this.plan();
    if (this.isRunning || !plan || this.pending.length === 0) return;
    this.isRunning = true;
    void CancellationScope.nonCancellable(() => this.queueAll(plan));
  }

  private async queueAll({ environment, app }: EventPlan): Promise<void> {
    const { workflowId } = workflowInfo();
    try {
      for (let events = this.pending; events.length > 0; events = this.pending) {
        // The time is read where the command follows, because a replay may merge other workflow tasks.
        for (const event of events) event.timestamp ??= isoTime(Date.now());
        await publishEvents({ environment, app, workflowId, events: this.complete(events) });
        for (const event of events) event.isQueued = true;
      }
    } catch {
      // The next event, or the end, tries again.
    } finally {
      this.isRunning = false;
    }
  }
}
