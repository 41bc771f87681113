/** An activity as the server keeps it: attempts, timeouts, heartbeats and retries. */

import type { PlannedEvent } from '../engine/event-queue.ts';
import type { World } from '../engine/world.ts';
import { type Api, temporal } from '../sdk.ts';
import type { ActivityResult } from './activity-runner.ts';
import type { CommandAttributes, Failure, Payload } from './commands.ts';
import { EventType } from './history.ts';
import { id, type Run } from './run.ts';
import { durationMs } from './time.ts';

const { RetryState, TimeoutType } = temporal.api.enums.v1;
type Timeout = Api.api.enums.v1.TimeoutType;

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 100_000;

export interface ActivityHost {
  readonly world: World;
  /** An attempt waits for a worker. */
  offerActivity(activity: PendingActivity): void;
  activityEnded(activity: PendingActivity): void;
}

/** What a worker receives. When it reaches a process that was frozen, the activity may be at a later attempt. */
export interface ActivityTask {
  activity: PendingActivity;
  attempt: number;
  attemptScheduledAt: number;
  heartbeatDetails: readonly Payload[];
}

/** As Temporal's server says it: not encrypted. */
const NOT_STARTED = {
  payloads: [
    { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"ACTIVITY_ID_NOT_STARTED"') },
  ],
};

export class PendingActivity {
  readonly run: Run;
  readonly scheduledId: number;
  readonly attributes: CommandAttributes['scheduleActivity'];
  readonly scheduledAt: number;
  private attemptScheduledAt: number;
  /** When the current or the last attempt started. */
  startedAt: number | undefined;
  attempt = 1;
  isStarted = false;
  isClosed = false;
  cancelRequested = false;
  heartbeatDetails: readonly Payload[] = [];
  lastHeartbeatAt: number | undefined;
  private readonly host: ActivityHost;
  /** The worker of the current or the last attempt. */
  identity = '';
  private lastFailure: Failure | undefined;
  private plans: PlannedEvent[] = [];
  /** When the current attempt times out without a further heartbeat. */
  private heartbeatDueAt = 0;

  constructor(
    host: ActivityHost,
    run: Run,
    scheduledId: number,
    attributes: CommandAttributes['scheduleActivity'],
  ) {
    this.host = host;
    this.run = run;
    this.scheduledId = scheduledId;
    this.attributes = attributes;
    this.scheduledAt = host.world.now;
    this.attemptScheduledAt = host.world.now;
    const scheduleToCloseMs = durationMs(attributes.scheduleToCloseTimeout);
    if (scheduleToCloseMs !== undefined)
      run.plan(scheduleToCloseMs, () =>
        this.timedOut(TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, 'ScheduleToClose'),
      );
    this.schedule();
  }

  /** Undefined if this attempt no longer waits. */
  start(worker: string, attempt: number): ActivityTask | undefined {
    if (this.isClosed || this.isStarted || attempt !== this.attempt || !this.run.isRunning) return undefined;
    this.unplan();
    this.isStarted = true;
    this.startedAt = this.host.world.now;
    this.identity = worker;
    const limit = durationMs(this.attributes.startToCloseTimeout);
    if (limit !== undefined)
      this.plan(limit, () => this.timedOut(TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE, 'StartToClose'));
    this.awaitHeartbeats();
    const { attemptScheduledAt, heartbeatDetails } = this;
    return { activity: this, attempt, attemptScheduledAt, heartbeatDetails };
  }

  /** The answer to the worker. `NOT_FOUND`: the attempt is no longer current. */
  heartbeat(attempt: number, details: Payload[]): 'OK' | 'CANCELLED' | 'NOT_FOUND' {
    if (!this.isCurrentAttempt(attempt)) return 'NOT_FOUND';
    this.heartbeatDetails = details;
    this.lastHeartbeatAt = this.host.world.now;
    this.heartbeatDueAt = this.lastHeartbeatAt + this.heartbeatTimeoutMs;
    return this.cancelRequested ? 'CANCELLED' : 'OK';
  }

  finish(attempt: number, { completed, failed, cancelled }: ActivityResult): void {
    if (!this.isCurrentAttempt(attempt)) return;
    if (completed) this.complete(completed.result ? [completed.result] : []);
    else if (cancelled && this.cancelRequested)
      this.canceled(cancelled.failure?.canceledFailureInfo?.details);
    else this.failed(failed?.failure ?? cancelled?.failure ?? {});
  }

  requestCancel(): void {
    this.cancelRequested = true;
    if (!this.isStarted) this.canceled(NOT_STARTED);
  }

  private isCurrentAttempt(attempt: number): boolean {
    return !this.isClosed && this.isStarted && attempt === this.attempt && this.run.isRunning;
  }

  private schedule(): void {
    this.attemptScheduledAt = this.host.world.now;
    const limit = durationMs(this.attributes.scheduleToStartTimeout);
    if (limit !== undefined)
      this.plan(limit, () => this.timedOut(TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START, 'ScheduleToStart'));
    this.host.offerActivity(this);
  }

  private get heartbeatTimeoutMs(): number {
    return durationMs(this.attributes.heartbeatTimeout) ?? Number.POSITIVE_INFINITY;
  }

  private awaitHeartbeats(): void {
    const { now } = this.host.world;
    this.heartbeatDueAt = now + this.heartbeatTimeoutMs;
    if (this.heartbeatTimeoutMs !== Number.POSITIVE_INFINITY) this.planHeartbeatTimeout();
  }

  /** Heartbeats only move the time at which the activity times out. */
  private planHeartbeatTimeout(): void {
    this.plan(this.heartbeatDueAt - this.host.world.now, () => {
      if (this.host.world.now < this.heartbeatDueAt) this.planHeartbeatTimeout();
      else this.timedOut(TimeoutType.TIMEOUT_TYPE_HEARTBEAT, 'Heartbeat');
    });
  }

  private timedOut(timeoutType: Timeout, name: string): void {
    if (this.isClosed) return;
    const details = this.heartbeatDetails;
    const failure: Failure = {
      message: `activity ${name} timeout`,
      source: 'Server',
      timeoutFailureInfo: {
        timeoutType,
        ...(details.length > 0 && { lastHeartbeatDetails: { payloads: [...details] } }),
      },
    };
    const isRetried =
      timeoutType === TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE ||
      timeoutType === TimeoutType.TIMEOUT_TYPE_HEARTBEAT;
    const retryState = isRetried ? this.retry(failure) : RetryState.RETRY_STATE_TIMEOUT;
    if (retryState === undefined) return;
    const cause = this.lastFailure && !isRetried ? { ...failure, cause: this.lastFailure } : failure;
    this.end(EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, (ids) => ({
      activityTaskTimedOutEventAttributes: { ...ids, failure: cause, retryState },
    }));
  }

  private failed(failure: Failure): void {
    const retryState = this.retry(failure);
    if (retryState === undefined) return;
    this.end(EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED, (ids) => ({
      activityTaskFailedEventAttributes: { ...ids, failure, retryState, identity: this.identity },
    }));
  }

  private complete(payloads: Payload[]): void {
    this.end(EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, (ids) => ({
      activityTaskCompletedEventAttributes: { ...ids, result: { payloads }, identity: this.identity },
    }));
  }

  private canceled(details?: Api.api.common.v1.IPayloads | null): void {
    this.end(EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED, (ids) => ({
      activityTaskCanceledEventAttributes: { ...ids, details: details ?? null, identity: this.identity },
    }));
  }

  /** Undefined if the activity is retried; otherwise the reason why not. */
  private retry(failure: Failure): number | undefined {
    const state = this.reasonNotToRetry(failure);
    if (state !== undefined) return state;
    const wait = this.retryDelayMs(failure);
    const scheduleToCloseMs = durationMs(this.attributes.scheduleToCloseTimeout);
    if (scheduleToCloseMs !== undefined && this.host.world.now + wait > this.scheduledAt + scheduleToCloseMs)
      return RetryState.RETRY_STATE_TIMEOUT;
    this.unplan();
    this.lastFailure = failure;
    this.isStarted = false;
    this.attempt += 1;
    this.plan(wait, () => this.schedule());
    return undefined;
  }

  private reasonNotToRetry({ applicationFailureInfo }: Failure): number | undefined {
    const { maximumAttempts, nonRetryableErrorTypes } = this.attributes.retryPolicy ?? {};
    if (this.cancelRequested) return RetryState.RETRY_STATE_CANCEL_REQUESTED;
    const isFinal =
      applicationFailureInfo?.nonRetryable ||
      (applicationFailureInfo?.type && nonRetryableErrorTypes?.includes(applicationFailureInfo.type));
    if (isFinal) return RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE;
    if (maximumAttempts && this.attempt >= maximumAttempts)
      return RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED;
    return undefined;
  }

  private retryDelayMs({ applicationFailureInfo }: Failure): number {
    const requested = durationMs(applicationFailureInfo?.nextRetryDelay);
    if (requested !== undefined) return requested;
    const { initialInterval, backoffCoefficient, maximumInterval } = this.attributes.retryPolicy ?? {};
    const first = durationMs(initialInterval) ?? FIRST_RETRY_MS;
    const longest = durationMs(maximumInterval) ?? Math.max(first * 100, LONGEST_RETRY_MS);
    return Math.min(first * (backoffCoefficient || 2) ** (this.attempt - 1), longest);
  }

  /** The server writes the started event together with the closing event. */
  private end(type: EventType, attributes: (ids: ActivityIds) => Parameters<Run['write']>[1]): void {
    this.isClosed = true;
    this.unplan();
    this.host.activityEnded(this);
    const { scheduledId, isStarted, startedAt, attempt, identity, lastFailure } = this;
    const isResult = true;
    this.run.deliver(
      () => {
        const scheduledEventId = id(scheduledId);
        const started = isStarted
          ? this.run.write(
              EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED,
              {
                activityTaskStartedEventAttributes: {
                  scheduledEventId,
                  identity,
                  attempt,
                  lastFailure: lastFailure ?? null,
                },
              },
              undefined,
              startedAt,
            )
          : undefined;
        this.run.write(type, attributes({ scheduledEventId, startedEventId: id(started?.id ?? 0) }));
      },
      { isResult },
    );
  }

  private plan(delayMs: number, callback: () => void): PlannedEvent {
    const planned = this.run.plan(delayMs, callback);
    this.plans.push(planned);
    return planned;
  }

  private unplan(): void {
    for (const planned of this.plans) planned.canceled = true;
    this.plans = [];
  }
}

interface ActivityIds {
  scheduledEventId: ReturnType<typeof id>;
  startedEventId: ReturnType<typeof id>;
}
