/**
 * The activities of one worker. Each poll holds a slot, which is released when its activity has ended. Heartbeats are
 * sent as core sends them.
 */
import type { Info } from '@temporalio/activity';
import { ApplicationFailure, decompileRetryPolicy } from '@temporalio/common';
import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';
import type { Life } from '../process/life.ts';
import {
  decodeArrayFromPayloads,
  encodeErrorToFailure,
  encodeToPayload,
  type LoadedDataConverter,
} from '../sdk.ts';
import { type Activities, type CancelReason, type RunningActivity, runActivity } from './activity-runner.ts';
import type { Payload } from './commands.ts';
import type { ActivityTask, PendingActivity } from './pending-activity.ts';
import type { Temporal } from './temporal.ts';
import { durationMs, toMs } from './time.ts';

export type ActivitySlots = CustomSlotSupplier<ActivitySlotInfo> | { type: 'fixed-size'; numSlots: number };

export interface ActivityTasksParts {
  server: Temporal;
  life: Life;
  taskQueue: string;
  activities: Activities;
  converter: LoadedDataConverter;
  slots: ActivitySlots;
  polls: number;
  /** The longest time for which core holds a heartbeat back. */
  heartbeatThrottleMs: number;
}

const NAMESPACE = 'default';
/** Core abandons an activity this long after its timeout. The server has abandoned it before. */
const TIMEOUT_MARGIN_MS = 5_000;
/** The fraction of the heartbeat timeout for which core holds heartbeats back. */
const THROTTLE_RATIO = 0.8;

export class ActivityTasks {
  private readonly parts: ActivityTasksParts;
  private readonly slots: Pick<
    CustomSlotSupplier<ActivitySlotInfo>,
    'reserveSlot' | 'markSlotUsed' | 'releaseSlot'
  >;
  private readonly ending = new AbortController();
  private readonly running = new Set<RunningActivity>();
  private polling: Promise<unknown> = Promise.resolve();

  constructor(parts: ActivityTasksParts) {
    this.parts = parts;
    this.slots = parts.slots.type === 'custom' ? parts.slots : new FixedSlots(parts.slots.numSlots);
  }

  /** Polls until `stop`. */
  start(): void {
    const { polls, life } = this.parts;
    this.polling = Promise.all(Array.from({ length: polls }, () => this.poll()));
    life.world.spawn(this.polling);
  }

  /** Stops polling. Resolves when all running activities have ended; cancels them after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    const { life } = this.parts;
    this.ending.abort(new Error('the worker shuts down'));
    const cancelTimer = life.after(graceMs, () => {
      for (const one of this.running) one.cancel('WORKER_SHUTDOWN');
    });
    await this.polling;
    cancelTimer();
  }

  private async poll(): Promise<void> {
    const inFlight = new Set<Promise<void>>();
    const { server, life, taskQueue } = this.parts;
    const { signal } = this.ending;
    while (!signal.aborted) {
      const permit = await this.reserve();
      if (!permit) break;
      const task = await server.nextActivity({ life, taskQueue, signal });
      if (!task) {
        this.slots.releaseSlot({ permit });
        break;
      }
      const work = this.work(task, permit).finally(() => inFlight.delete(work));
      life.world.spawn(work);
      inFlight.add(work);
    }
    await Promise.all(inFlight);
  }

  private async reserve(): Promise<SlotPermit | undefined> {
    const { life, taskQueue } = this.parts;
    const poller = { taskQueue, workerIdentity: life.name, workerBuildId: '', isSticky: false };
    const context = { ...poller, slotType: 'activity' } as const;
    try {
      return await this.slots.reserveSlot(context, this.ending.signal);
    } catch (error) {
      if (this.ending.signal.aborted) return undefined;
      throw error;
    }
  }

  private async work(task: ActivityTask, permit: SlotPermit): Promise<void> {
    const activityType = task.activity.attributes.activityType ?? '';
    // The answer to the poll is in flight and may reach a frozen process.
    await this.parts.life.sleep(this.parts.life.world.random.between(1, 5));
    this.slots.markSlotUsed({ permit, slotInfo: { type: 'activity', activityType } });
    await this.execute(task, activityType);
    this.slots.releaseSlot({ permit });
  }

  private async execute(task: ActivityTask, activityType: string): Promise<void> {
    const { activities, converter, life } = this.parts;
    const { activity, attempt } = task;
    const { attributes, run } = activity;
    let info: Info;
    let args: unknown[];
    try {
      info = await this.infoOf(task, activityType);
      args = await decodeArrayFromPayloads(converter, attributes.arguments ?? []);
    } catch (error) {
      // The SDK fails an attempt that it can't decode, as a worker that lacks a key can't.
      const failure = await encodeErrorToFailure(converter, ApplicationFailure.fromError(error));
      life.world.record(run.workflowId, activityType, attempt, 'undecoded');
      activity.finish(attempt, { failed: { failure } });
      return;
    }
    const heartbeats = new Heartbeats(this.parts, activity, attempt);
    const running = runActivity(
      activities[activityType],
      {
        info,
        args,
        heartbeat: (details) => heartbeats.record(details),
        writeLine: (line) => life.world.logs.push(line),
      },
      converter,
    );
    heartbeats.cancelled = (reason) => running.cancel(reason);
    this.running.add(running);
    const limitMs = durationMs(attributes.startToCloseTimeout);
    const cancelTimer =
      limitMs === undefined
        ? () => undefined
        : life.after(limitMs + TIMEOUT_MARGIN_MS, () => running.cancel('TIMED_OUT'));
    const result = await running.result;
    this.running.delete(running);
    cancelTimer();
    heartbeats.end();
    // Core assumes that the server has abandoned the activity.
    if (heartbeats.isLost) return;
    await life.networkDelay();
    life.world.record(run.workflowId, activityType, attempt, Object.keys(result).join());
    activity.finish(attempt, result);
  }

  private async infoOf(task: ActivityTask, activityType: string): Promise<Info> {
    const { activity, attempt, attemptScheduledAt } = task;
    const { run, attributes, scheduledId, scheduledAt } = activity;
    const { workflowId, runId, started } = run;
    const heartbeatTimeoutMs = durationMs(attributes.heartbeatTimeout);
    const retryPolicy = decompileRetryPolicy(attributes.retryPolicy);
    const [heartbeatDetails] = await decodeArrayFromPayloads(
      this.parts.converter,
      task.heartbeatDetails.slice(0, 1),
    );
    return {
      ...tokens(`${runId} ${scheduledId} ${attempt}`),
      ...{ activityId: attributes.activityId ?? '', activityType, attempt, heartbeatDetails },
      ...{ isLocal: false, inWorkflow: true, taskQueue: attributes.taskQueue ?? '' },
      ...{ namespace: NAMESPACE, activityNamespace: NAMESPACE, workflowNamespace: NAMESPACE },
      workflowExecution: { workflowId, runId },
      workflowType: started.workflowType?.name ?? '',
      scheduledTimestampMs: scheduledAt,
      scheduleToCloseTimeoutMs: toMs(attributes.scheduleToCloseTimeout),
      startToCloseTimeoutMs: toMs(attributes.startToCloseTimeout),
      currentAttemptScheduledTimestampMs: attemptScheduledAt,
      ...(heartbeatTimeoutMs !== undefined && { heartbeatTimeoutMs }),
      ...(retryPolicy && { retryPolicy }),
    };
  }
}

function tokens(token: string) {
  const taskToken = Buffer.from(token);
  return { taskToken, base64TaskToken: taskToken.toString('base64') };
}

class FixedSlots {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(slots: number) {
    this.free = slots;
  }

  async reserveSlot(_context: unknown, signal: AbortSignal): Promise<SlotPermit> {
    while (this.free === 0) await this.change(signal);
    this.free -= 1;
    return {};
  }

  markSlotUsed(): void {}

  releaseSlot(): void {
    this.free += 1;
    this.waiting.shift()?.();
  }

  private change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => reject(signal.reason);
      signal.addEventListener('abort', end, { once: true });
      this.waiting.push(() => {
        signal.removeEventListener('abort', end);
        resolve();
      });
    });
  }
}

/** Core sends a heartbeat at once, holds later ones back for most of the timeout, and then sends the last of them. */
class Heartbeats {
  /** No heartbeat came for longer than the timeout: core abandons the activity and does not report its result. */
  isLost = false;
  cancelled: (reason: CancelReason) => void = () => undefined;
  private hasEnded = false;
  private cancelWatch: () => void = () => undefined;
  private isPaused = false;
  /** When the activity started or recorded its last heartbeat. */
  private lastAt: number;
  private latest: { details: unknown } | undefined;
  private readonly parts: ActivityTasksParts;
  private readonly activity: PendingActivity;
  private readonly attempt: number;

  constructor(parts: ActivityTasksParts, activity: PendingActivity, attempt: number) {
    this.parts = parts;
    this.activity = activity;
    this.attempt = attempt;
    this.lastAt = parts.life.nowMs();
    this.watch();
  }

  end(): void {
    this.hasEnded = true;
    this.cancelWatch();
  }

  /** Only heartbeats restart core's own timer. */
  private watch(): void {
    const { life } = this.parts;
    const timeout = durationMs(this.activity.attributes.heartbeatTimeout);
    if (timeout === undefined) return;
    const dueAt = this.lastAt + timeout + TIMEOUT_MARGIN_MS;
    this.cancelWatch = life.after(dueAt - life.nowMs(), () => {
      if (life.nowMs() < this.lastAt + timeout + TIMEOUT_MARGIN_MS) {
        this.watch();
        return;
      }
      this.isLost = true;
      this.cancelled('NOT_FOUND');
    });
  }

  record(details: unknown): void {
    this.latest = { details };
    this.lastAt = this.parts.life.nowMs();
    if (!this.isPaused) this.parts.life.world.spawn(this.send());
  }

  private async send(): Promise<void> {
    const { life, converter, heartbeatThrottleMs } = this.parts;
    this.isPaused = true;
    while (this.latest && !this.hasEnded) {
      const { details } = this.latest;
      this.latest = undefined;
      const encoded: Payload = await encodeToPayload(converter, details);
      await life.networkDelay();
      if (this.hasEnded) return;
      const answer = this.activity.heartbeat(this.attempt, [encoded]);
      if (answer !== 'OK') this.cancelled(answer);
      if (answer === 'NOT_FOUND') return;
      const timeout = durationMs(this.activity.attributes.heartbeatTimeout) ?? 30_000;
      await life.sleep(Math.min(timeout * THROTTLE_RATIO, heartbeatThrottleMs));
    }
    this.isPaused = false;
  }
}
