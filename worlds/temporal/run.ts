/**
 * A run as the server keeps it: its history, its pending work and its workflow tasks. Events that arrive while a
 * workflow task runs are buffered. Further attempts of a task are not written, and a speculative task is written once
 * an update is accepted.
 */

import type { PlannedEvent } from '../engine/event-queue.ts';
import type { World } from '../engine/world.ts';
import type { Life } from '../process/life.ts';
import { type Api, Long, SDK_VERSION, temporal } from '../sdk.ts';
import type { Command, Failure, Payload, UpdateRequest } from './commands.ts';
import { isTerminal } from './commands.ts';
import { type Attributes, type Entry, EventType, type Fingerprint, newEntry } from './history.ts';
import type { Work } from './machines.ts';
import { durationMs, toStamp } from './time.ts';

const { WorkflowExecutionStatus, WorkflowTaskFailedCause, TimeoutType } = temporal.api.enums.v1;
export type Status = Api.api.enums.v1.WorkflowExecutionStatus;
export type Started = Api.api.history.v1.IWorkflowExecutionStartedEventAttributes;
export type Outcome = Api.api.update.v1.IOutcome;
export type Fields = Record<string, Payload>;

const TASK_TIMEOUT_MS = 10_000;
/** The failure of an update that a worker has left out of its completion. */
const UNPROCESSED: Failure = {
  message:
    "Workflow Update is rejected because it wasn't processed by worker. Probably, Workflow Update is not supported by the worker.",
  source: 'Server',
  applicationFailureInfo: { type: 'UnprocessedUpdate', nonRetryable: true },
};
/** The approximate size of an event of a payout. */
const BYTES_PER_EVENT = 300;

export interface Task {
  attempt: number;
  readonly scheduledAt: number;
  scheduledId: number;
  startedId: number | undefined;
  /** Events that are not in the history: of a further attempt, or of a speculative task. */
  unwritten: Entry[];
  kind: 'normal' | 'transient' | 'speculative';
  timeout: PlannedEvent | undefined;
  queries: Query[];
  /** A direct query has run its events, in another worker or after this one lost it. */
  wasQueried?: true;
}

export interface Query {
  id: string;
  type: string;
  args: Payload[];
  answered(answer: QueryAnswer): void;
}
export type QueryAnswer = { result: Payload | undefined } | { failure: Failure };

export interface Update {
  request: UpdateRequest;
  state: 'admitted' | 'sent' | 'accepted' | 'completed' | 'rejected' | 'lost';
  acceptedEventId: number;
  outcome?: Outcome;
  /** Called at every change. */
  watchers: (() => void)[];
}

/** A workflow task as a worker receives it. */
export interface TaskWork extends Work {
  run: Run;
  task: Task;
  queries: readonly Query[];
}

/** A worker as the server sees it. */
export interface ConnectedWorker {
  readonly name: string;
  readonly taskQueue: string;
  readonly stickyTimeoutMs: number;
  readonly life: Life;
  /** Whether workflow tasks and queries can reach it. */
  readonly isReachable: boolean;
  takeTask(work: TaskWork): Promise<void>;
  takeQuery(run: Run, query: Query, isSticky: boolean): Promise<void>;
}

export interface Completion {
  commands: readonly Command[];
  flags: readonly number[];
  rejected: ReadonlyMap<string, Failure>;
  answers: ReadonlyMap<string, QueryAnswer>;
  worker: ConnectedWorker;
}

export interface RunHost {
  readonly world: World;
  /** A workflow task waits for a worker. */
  offer(run: Run, task: Task): void;
  apply(run: Run, command: Command): void;
  closed(run: Run): void;
}

interface Buffered {
  write: () => void;
  /** The server writes results of activities and children after all other buffered events. */
  isResult: boolean;
  key: string | undefined;
}

export class Run {
  readonly entries: Entry[] = [];
  readonly workflowId: string;
  readonly runId: string;
  readonly timers = new Map<number, { planned: PlannedEvent; startedId: number }>();
  readonly updates = new Map<string, Update>();
  /** Events that the server plans for this run, and cancels with it. */
  readonly plans = new Set<PlannedEvent>();
  readonly watchers: (() => void)[] = [];
  readonly signalIds = new Set<string>();
  queries: Query[] = [];
  status: Status = WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING;
  task: Task | undefined;
  sticky: ConnectedWorker | undefined;
  lastCompletedStartedId = 0;
  lastCompletedId = 0;
  cancelRequested = false;
  memo: Fields = {};
  attributes: Fields = {};
  closedAt: number | undefined;
  nextRunId = '';
  failedTasks = 0;
  started: Started = {};
  private attempt = 1;
  private buffer: Buffered[] = [];
  private readonly host: RunHost;

  constructor(host: RunHost, workflowId: string, runId: string) {
    this.host = host;
    this.workflowId = workflowId;
    this.runId = runId;
  }

  get isRunning(): boolean {
    return this.status === WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING;
  }

  get startedAt(): number {
    return this.entries[0]?.at ?? 0;
  }

  private get taskTimeoutMs(): number {
    return durationMs(this.started.workflowTaskTimeout) ?? TASK_TIMEOUT_MS;
  }

  /** The attempt of the current or the next workflow task, from 1. */
  get taskAttempt(): number {
    return this.task?.attempt ?? this.attempt;
  }

  // ---- history

  /** `at`: when it happened, if it is written later. */
  write(type: EventType, attributes: Attributes, fingerprint?: Fingerprint, at = this.host.world.now): Entry {
    const entry = newEntry(this.entries.length + 1, at, type, attributes, fingerprint);
    this.entries.push(entry);
    this.host.world.record(this.workflowId, entry.id, type, fingerprint?.bytes ?? '');
    for (const watcher of [...this.watchers]) watcher();
    return entry;
  }

  /** Delivers an event to the workflow. While a workflow task runs, the event is buffered. */
  deliver(write: () => void, { isResult = false, key }: { isResult?: boolean; key?: string } = {}): void {
    if (!this.isRunning) return;
    this.writeSpeculative();
    if (this.task?.startedId !== undefined) {
      this.buffer.push({ write, isResult, key });
      return;
    }
    write();
    this.scheduleTask();
  }

  /** Removes a buffered event, such as the firing of a timer that the current task cancels. */
  removeBuffered(key: string): boolean {
    const before = this.buffer.length;
    this.buffer = this.buffer.filter((buffered) => buffered.key !== key);
    return this.buffer.length < before;
  }

  // ---- workflow tasks

  scheduleTask({ speculative = false }: { speculative?: boolean } = {}): void {
    if (!this.isRunning) return;
    if (this.task) {
      if (!speculative) this.writeSpeculative();
      return;
    }
    const isTransient = this.attempt > 1;
    const kind = isTransient ? 'transient' : speculative ? 'speculative' : 'normal';
    const scheduledAt = this.host.world.now;
    const scheduledId = this.entries.length + 1;
    const task: Task = {
      ...{ attempt: this.attempt, scheduledAt, scheduledId, startedId: undefined, kind },
      ...{ unwritten: [], timeout: undefined, queries: [] },
    };
    this.task = task;
    if (kind === 'normal')
      this.write(EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.scheduledAttributes(task));
    this.host.offer(this, task);
  }

  /** The worker of the sticky queue did not take the task, so any worker may. */
  stickyTimedOut(task: Task): void {
    if (this.task !== task || task.startedId !== undefined) return;
    this.sticky = undefined;
    if (task.kind !== 'normal') {
      this.host.offer(this, task);
      return;
    }
    this.write(EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, {
      workflowTaskTimedOutEventAttributes: {
        scheduledEventId: id(task.scheduledId),
        timeoutType: TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START,
      },
    });
    this.task = undefined;
    this.scheduleTask();
  }

  startTask(task: Task, worker: ConnectedWorker): TaskWork | undefined {
    if (this.task !== task || task.startedId !== undefined || !this.isRunning) return undefined;
    this.rewriteTransientTask(task);
    const { world } = this.host;
    const scheduledId = task.scheduledId;
    task.startedId = task.kind === 'normal' ? this.entries.length + 1 : scheduledId + 1;
    const attributes = this.startedAttributes(task, worker);
    if (task.kind === 'normal') this.write(EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED, attributes);
    else
      task.unwritten = [
        newEntry(
          scheduledId,
          task.scheduledAt,
          EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
          this.scheduledAttributes(task),
        ),
        newEntry(task.startedId, world.now, EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED, attributes),
      ];
    task.timeout = world.at(this.taskTimeoutMs, () => this.taskTimedOut(task));
    task.queries = this.queries;
    this.queries = [];
    return {
      ...this.work(),
      run: this,
      task,
      queries: task.queries,
      updates: this.updatesFor(task.startedId - 1),
    };
  }

  /** The task that a worker has. */
  get startedTask(): Task | undefined {
    return this.task?.startedId === undefined ? undefined : this.task;
  }

  /** Whether a worker has a task with updates. */
  get isUpdating(): boolean {
    const isSent = ({ state }: Update) => state === 'sent';
    return this.startedTask !== undefined && [...this.updates.values()].some(isSent);
  }

  /** The history for a task or for a direct query, with the unwritten events of a task in progress. */
  work(): Work {
    const history = [...this.entries, ...(this.task?.unwritten ?? [])];
    return { history, previousStartedId: this.lastCompletedStartedId, updates: [] };
  }

  completeTask(task: Task, completion: Completion): 'completed' | 'discarded' | 'rejected' {
    if (this.task !== task || task.startedId === undefined) return 'rejected';
    const ends = completion.commands.some(isTerminal);
    if (ends && (this.buffer.length > 0 || this.hasUnsentUpdates())) {
      const causes = WorkflowTaskFailedCause;
      this.failTask(
        task,
        this.buffer.length > 0
          ? causes.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND
          : causes.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_UPDATE,
        {},
      );
      return 'rejected';
    }
    this.sticky = completion.worker;
    this.endTask(task);
    this.answer(task, completion.answers);
    const isDiscarded = task.kind === 'speculative' && completion.commands.length === 0;
    if (!isDiscarded) this.writeCompleted(task, completion);
    for (const [updateId, failure] of completion.rejected)
      this.settleUpdate(updateId, { state: 'rejected', outcome: { failure } });
    this.rejectUnprocessed();
    this.flush();
    if (this.hasUnsentUpdates()) this.scheduleTask({ speculative: true });
    return isDiscarded ? 'discarded' : 'completed';
  }

  failTask(task: Task, cause: number, failure: Failure): void {
    if (this.task !== task || task.startedId === undefined) return;
    const { attempt } = task;
    this.failedTasks += 1;
    const attributes = { ...this.ids(task), cause, failure, identity: 'worker' };
    this.abandonTask(task, EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED, {
      workflowTaskFailedEventAttributes: attributes,
    });
    this.retryTask(attempt);
  }

  private taskTimedOut(task: Task): void {
    if (this.task !== task) return;
    const { attempt } = task;
    const attributes = { ...this.ids(task), timeoutType: TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE };
    this.abandonTask(task, EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, {
      workflowTaskTimedOutEventAttributes: attributes,
    });
    this.retryTask(attempt);
  }

  private abandonTask(task: Task, type: EventType, attributes: Attributes): void {
    this.writeSpeculative();
    this.sticky = undefined;
    this.endTask(task);
    if (task.kind === 'normal') this.write(type, attributes);
    this.queries.unshift(...task.queries);
    for (const update of this.updates.values()) if (update.state === 'sent') update.state = 'admitted';
    this.attempt = task.attempt + 1;
    if (this.buffer.length > 0) this.attempt = 1;
  }

  private retryTask(attempt: number): void {
    const delay = attempt < 3 ? 0 : Math.min(5000 * 2 ** (attempt - 3), 600_000);
    if (this.buffer.length > 0) this.flush();
    else this.plan(delay, () => this.scheduleTask());
  }

  /** New events arrived since the attempt was planned, so it becomes a normal task. */
  private rewriteTransientTask(task: Task): void {
    if (task.kind !== 'transient' || task.scheduledId === this.entries.length + 1) return;
    task.kind = 'normal';
    task.attempt = 1;
    this.attempt = 1;
    task.scheduledId = this.entries.length + 1;
    this.write(EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.scheduledAttributes(task));
  }

  private writeSpeculative(): void {
    const { task } = this;
    if (task?.kind !== 'speculative') return;
    task.kind = 'normal';
    if (task.startedId === undefined) {
      task.scheduledId = this.entries.length + 1;
      this.write(EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, this.scheduledAttributes(task));
    }
    this.writeUnwritten(task);
  }

  private writeUnwritten(task: Task): void {
    this.entries.push(...task.unwritten);
    task.unwritten = [];
  }

  private writeCompleted(task: Task, { commands, flags, worker }: Completion): void {
    this.writeUnwritten(task);
    this.attempt = 1;
    this.lastCompletedStartedId = task.startedId ?? 0;
    const { id: completedId } = this.write(EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, {
      workflowTaskCompletedEventAttributes: {
        ...this.ids(task),
        identity: worker.name,
        sdkMetadata: {
          langUsedFlags: [...flags],
          coreUsedFlags: [1, 2, 3],
          sdkName: 'temporal-typescript',
          sdkVersion: SDK_VERSION,
        },
      },
    });
    this.lastCompletedId = completedId;
    for (const command of commands) this.host.apply(this, command);
  }

  private endTask(task: Task): void {
    if (task.timeout) task.timeout.canceled = true;
    this.task = undefined;
  }

  private flush(): void {
    const { buffer } = this;
    if (buffer.length === 0) return;
    this.buffer = [];
    const ordered = [
      ...buffer.filter(({ isResult }) => !isResult),
      ...buffer.filter(({ isResult }) => isResult),
    ];
    if (!this.isRunning) return;
    for (const { write } of ordered) write();
    this.scheduleTask();
  }

  private answer(task: Task, answers: ReadonlyMap<string, QueryAnswer>): void {
    for (const query of task.queries) {
      const answer = answers.get(query.id);
      if (answer) query.answered(answer);
      else this.queries.push(query);
    }
  }

  private ids({ scheduledId, startedId }: Task) {
    return { scheduledEventId: id(scheduledId), startedEventId: id(startedId ?? 0) };
  }

  private scheduledAttributes({ attempt }: Task): Attributes {
    const startToCloseTimeout = toStamp(this.taskTimeoutMs);
    const taskQueue = this.started.taskQueue ?? null;
    return { workflowTaskScheduledEventAttributes: { taskQueue, startToCloseTimeout, attempt } };
  }

  private startedAttributes({ scheduledId }: Task, worker: ConnectedWorker): Attributes {
    return {
      workflowTaskStartedEventAttributes: {
        scheduledEventId: id(scheduledId),
        identity: worker.name,
        historySizeBytes: id(this.entries.length * BYTES_PER_EVENT),
        suggestContinueAsNew: this.entries.length > 4096,
      },
    };
  }

  // ---- updates

  private updatesFor(sequencing: number): UpdateRequest[] {
    const admitted = [...this.updates.values()].filter(({ state }) => state === 'admitted');
    for (const update of admitted) {
      update.state = 'sent';
      update.request = { ...update.request, sequencing };
    }
    return admitted.map(({ request }) => request);
  }

  private hasUnsentUpdates(): boolean {
    return [...this.updates.values()].some(({ state }) => state === 'admitted');
  }

  /** A worker must accept or reject every update of its task. The server rejects what it left out. */
  private rejectUnprocessed(): void {
    for (const [updateId, { state }] of this.updates)
      if (state === 'sent')
        this.settleUpdate(updateId, { state: 'rejected', outcome: { failure: UNPROCESSED } });
  }

  settleUpdate(updateId: string, change: Partial<Update>): void {
    const update = this.updates.get(updateId);
    if (!update) return;
    Object.assign(update, change);
    for (const watcher of [...update.watchers]) watcher();
  }

  // ---- closing

  plan(delayMs: number, callback: () => void): PlannedEvent {
    const planned = this.host.world.at(delayMs, () => {
      this.plans.delete(planned);
      if (this.isRunning) callback();
    });
    this.plans.add(planned);
    return planned;
  }

  /** Detaches this object after a restore: workers can no longer complete its tasks. */
  forget(): void {
    this.status = WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED;
    this.stopAll();
  }

  private stopAll(): void {
    for (const planned of this.plans) planned.canceled = true;
    this.plans.clear();
    if (this.task) this.endTask(this.task);
    this.buffer = [];
  }

  close(status: Status): void {
    this.status = status;
    this.closedAt = this.host.world.now;
    this.stopAll();
    this.host.closed(this);
    for (const watcher of [...this.watchers]) watcher();
  }

  /** Closed by the server (terminated or timed out), even while a task runs. */
  closeNow(status: Status, type: EventType, attributes: Attributes): void {
    if (!this.isRunning) return;
    this.writeSpeculative();
    this.write(type, attributes);
    this.close(status);
  }
}

export function id(of: number): Long {
  return Long.fromNumber(of);
}
