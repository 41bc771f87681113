/**
 * Delivers events to one endpoint, in batches: at least once, in order per payout, with retries over three days. An
 * endpoint that is gone, that only fails, or that too many events wait for disables itself. Runs until it is canceled.
 */
import {
  ActivityCancellationType,
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  log,
  metricMeter,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { deliveryActivities } from '../../activities/events/event-activities.ts';
import { TEST_EVENT_TYPE } from '../../contract/codes.ts';
import type {
  DeliveryOutcome,
  DeliveryRecord,
  EndpointKey,
  EndpointState,
  QueueEvents,
  WaitingEvent,
} from '../../contract/events.ts';
import { eventsTaskQueue } from '../../contract/ids.ts';
import {
  enableEndpointUpdate,
  endpointStateQuery,
  publishSignal,
  testEndpointUpdate,
} from '../../contract/workflows.ts';
import { bodyOf } from '../../domain/events.ts';
import {
  applyReport,
  type DeliveryReport,
  enable,
  endpointState,
  enqueue,
  flagEndpoint,
  newDeliveryRecord,
  nextBatch,
  nextTryMs,
} from '../../domain/events-delivery.ts';
import { count, logEvent } from '../../domain/telemetry.ts';
import { isoTime } from '../../domain/time.ts';
import { flagLines, showAttention } from '../shared/attention.ts';
import { HEARTBEAT_TIMEOUT, Running, UNTIL_TEMPORAL_ANSWERS } from '../shared/calls.ts';
import { deciderProblem, isRecord, onSignal, onUpdate, runShielded, shielded } from '../shared/messages.ts';
import { newEventId } from '../shared/publish-events.ts';

/** What a signal, a delivery and an update add to the history, in events. */
const COSTS = { signal: 4, delivery: 11, update: 11 } as const;
/** Then the run continues as new. Counted, because the length of the history differs in a replay. */
const FULL_EVENTS = 600;
const FULL_BYTES = 3_000_000;
/** Ends the batch that is being sent. Temporal accepts 10,000 signals in a run. */
const TOO_MANY_EVENTS = 2_000;
const MAX_TESTS = 3;

/** `carried`: the record of the previous run. */
export async function eventDelivery(key: EndpointKey, carried?: DeliveryRecord): Promise<void> {
  const run = new DeliveryRun(key, carried ?? newDeliveryRecord());
  setHandler(endpointStateQuery, () => run.state());
  onSignal(publishSignal, (queue) => accept(run, queue));
  onUpdate(run, enableEndpointUpdate, enableEndpoint, (_run, decision) => deciderProblem(decision));
  onUpdate(run, testEndpointUpdate, shielded(test), ({ tests }) =>
    tests >= MAX_TESTS ? 'the endpoint is already being tested' : undefined,
  );
  const stop = () => {
    run.isStopped = true;
  };
  await runShielded(stop, async () => {
    while (!run.isStopped) {
      const batch = nextBatch(run.record, Date.now());
      if (batch.length > 0) await run.deliver(batch);
      else await run.untilDue();
      showAttention(run.record.attention);
      run.showDetails();
      if (!run.isFull) continue;
      await condition(allHandlersFinished);
      await continueAsNew<typeof eventDelivery>(key, run.record);
    }
    await condition(allHandlersFinished);
  });
}

class DeliveryRun {
  readonly key: EndpointKey;
  readonly record: DeliveryRecord;
  isStopped = false;
  /** Tests that are being sent. */
  tests = 0;
  private events = 0;
  private bytes = 0;
  private changes = 0;

  constructor(key: EndpointKey, record: DeliveryRecord) {
    this.key = key;
    this.record = record;
    // The search attribute survives continue-as-new; the text does not.
    this.showDetails();
  }

  get isFull(): boolean {
    return this.events >= FULL_EVENTS || this.bytes >= FULL_BYTES;
  }

  /** Counts what adds to the history. */
  spend(events: number, bytes = 0): void {
    this.events += events;
    this.bytes += bytes;
    this.changes += 1;
  }

  async deliver(batch: readonly WaitingEvent[]): Promise<void> {
    const events = batch.map(({ id, source, type, body, trace }) => ({ id, source, type, body, trace }));
    this.spend(COSTS.delivery, bytesOf(events));
    const { deliverEvents } = deliveryCalls(this.key, batch.length);
    const delivery = new Running(() => deliverEvents({ ...this.key, events }));
    await condition(() => !!delivery.outcome || this.isStopped || this.events >= TOO_MANY_EVENTS);
    const outcome = await delivery.stop();
    const [nowMs, chance] = [Date.now(), Math.random()];
    const isFailed = 'error' in outcome && !isCancellation(outcome.error);
    const failure: DeliveryReport = { outcomes: [], atMs: nowMs, ...(isFailed && { isUnknown: true }) };
    const report = 'value' in outcome ? outcome.value : failure;
    this.change((record) => applyReport(record, report, { nowMs, chance }));
    const failures = report.outcomes.filter(({ kind }) => kind === 'failed' || kind === 'gone').length;
    if (failures > 0) count(metricMeter, 'payouts_event_failures', this.tags, failures);
  }

  async untilDue(): Promise<void> {
    const dueMs = nextTryMs(this.record);
    if (dueMs !== undefined) this.spend(2);
    const { changes } = this;
    const isWoken = () => this.changes > changes || this.isStopped;
    if (dueMs === undefined) return condition(isWoken);
    await condition(isWoken, Math.max(1, dueMs - Date.now()), { summary: 'sends failed events again' });
  }

  /** Counts what `change` has led to. */
  change(change: (record: DeliveryRecord) => void): void {
    const { record, tags } = this;
    const { delivered, lost, disabled } = record;
    change(record);
    if (record.delivered > delivered)
      count(metricMeter, 'payouts_events_delivered', tags, record.delivered - delivered);
    if (record.lost > lost) count(metricMeter, 'payouts_events_lost', tags, record.lost - lost);
    if (disabled || !record.disabled) return;
    logEvent(log, 'endpoint.disabled', { ...tags, why: record.disabled.code });
    count(metricMeter, 'payouts_endpoints_disabled', tags);
  }

  state(): EndpointState {
    return endpointState(this.key, this.record);
  }

  showDetails(): void {
    const { sentence, waiting, delivered, reasons } = this.state();
    setCurrentDetails(
      [sentence, `${waiting} waiting, ${delivered} delivered`, ...flagLines(reasons)].join('\n\n'),
    );
  }

  private get tags(): { app: string; endpoint: string } {
    return { app: this.key.app, endpoint: this.key.endpoint };
  }
}

/** Anyone can send the signal, and a handler must not throw. */
function accept(run: DeliveryRun, queue: unknown): void {
  if (!isQueue(queue)) {
    run.spend(COSTS.signal);
    log.warn('events could not be decoded; they are ignored');
    return;
  }
  run.spend(COSTS.signal, bytesOf(queue.events));
  run.change((record) => {
    const { lost } = record;
    enqueue(record, queue);
    if (record.lost > lost) flagEndpoint(record, 0);
  });
}

function isQueue(value: unknown): value is QueueEvents {
  if (!isRecord(value)) return false;
  const { events, atMs } = value;
  return typeof atMs === 'number' && Array.isArray(events) && events.every(isQueued);
}

function isQueued(event: unknown): boolean {
  if (!isRecord(event)) return false;
  const { id, source, type, body, trace } = event;
  const isText = (part: unknown) => typeof part === 'string';
  return (
    [id, source].every(isText) && [type, body, trace].every((part) => part === undefined || isText(part))
  );
}

function enableEndpoint(run: DeliveryRun, { by }: { by: string }): EndpointState {
  run.spend(COSTS.update);
  enable(run.record, by);
  return run.state();
}

async function test(run: DeliveryRun): Promise<DeliveryOutcome> {
  run.spend(COSTS.update);
  run.tests += 1;
  const { app, endpoint } = run.key;
  const id = newEventId();
  const type = TEST_EVENT_TYPE;
  const body = bodyOf({ type, timestamp: isoTime(Date.now()), data: { app, endpoint } });
  try {
    const events = [{ id, source: '', type, body }];
    const { outcomes, isUnknown } = await deliveryCalls(run.key, 1).deliverEvents({ ...run.key, events });
    const reason = isUnknown ? 'NOT_CONFIGURED' : 'NOT_SENT';
    return outcomes[0] ?? { id, kind: 'failed', reason };
  } finally {
    run.tests -= 1;
  }
}

function bytesOf(events: readonly { body?: string | undefined }[]): number {
  return events.reduce((sum, { body }) => sum + 200 + (body?.length ?? 0), 0);
}

/** A deadline of its own ends the activity long before this one. */
function deliveryCalls({ environment }: EndpointKey, count: number) {
  return proxyActivities<ReturnType<typeof deliveryActivities>>({
    taskQueue: eventsTaskQueue(environment),
    summary: `sends ${count === 1 ? 'an event' : `${count} events`}`,
    startToCloseTimeout: '1m',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { ...UNTIL_TEMPORAL_ANSWERS, maximumInterval: '30s' },
  });
}
