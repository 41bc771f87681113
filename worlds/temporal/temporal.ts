/** The simulated server: runs by workflow id, matching of tasks and workers, and effects between runs. */

import type { World } from '../engine/world.ts';
import { type Life, LONG_POLL_MS } from '../process/life.ts';
import { type Api, temporal } from '../sdk.ts';
import { applyCommand } from './apply.ts';
import type { Command, Failure, Payload } from './commands.ts';
import { grpcError, notFound, workflowOver } from './errors.ts';
import { type Attributes, type Entry, EventType, initiatingEventId } from './history.ts';
import type { ActivityTask, PendingActivity } from './pending-activity.ts';
import { reset } from './reset.ts';
import {
  type ConnectedWorker,
  id,
  type Query,
  type QueryAnswer,
  Run,
  type RunHost,
  type Started,
  type Status,
  type Task,
  type Update,
} from './run.ts';
import { toMs, toStamp } from './time.ts';

const enums = temporal.api.enums.v1;
const { WorkflowExecutionStatus, ParentClosePolicy, WorkflowIdReusePolicy, WorkflowIdConflictPolicy } = enums;
const { SignalExternalWorkflowExecutionFailedCause, CancelExternalWorkflowExecutionFailedCause } = enums;
const STATUS = WorkflowExecutionStatus;
/** The largest delay of a timer, and of a task on its way to a worker. */
const MAX_TIMER_DELAY_MS = 20;
const MAX_MATCHING_DELAY_MS = 5;
const DEFAULT_PRIORITY = 3;

export interface Start {
  workflowId: string;
  started: Started;
  reuse?: number | undefined;
  conflict?: number | undefined;
}

/** A workflow task or a query. */
interface Waiting {
  queue: string;
  /** The worker that has the workflow in its cache. */
  worker: ConnectedWorker | undefined;
  isWanted(): boolean;
  take(worker: ConnectedWorker): void;
}

/** How long the server shows a process that doesn't poll any more. */
const POLLER_HISTORY_MS = 300_000;

export interface ActivityPoll {
  life: Life;
  taskQueue: string;
  /** Aborted when the worker stops polling. */
  signal: AbortSignal;
}
interface WaitingActivity {
  activity: PendingActivity;
  attempt: number;
  turn: number;
  order: number;
}
interface OpenPoll extends ActivityPoll {
  since: number;
  complete(task: ActivityTask | undefined): void;
}

export class Temporal implements RunHost {
  readonly world: World;
  readonly runs: Run[] = [];
  readonly workers: ConnectedWorker[] = [];
  /** Called when a run has a new history event. */
  readonly onChange: ((run: Run) => void)[] = [];
  /** Called when an attempt of an activity begins to wait for a worker. */
  readonly onOffer: ((activity: PendingActivity) => void)[] = [];
  /** Called when an activity goes to a worker, with those that still wait. */
  readonly onDispatch: ((activity: PendingActivity, waiting: readonly PendingActivity[]) => void)[] = [];
  /** Called when all runs are dropped. */
  readonly onForget: (() => void)[] = [];
  /** Grows with each failover of the namespace. */
  failoverVersion = 1;
  private readonly chains = new Map<string, Run[]>();
  private readonly byRunId = new Map<string, Run>();
  private readonly pending = new Map<string, PendingActivity>();
  private readonly children = new Map<string, { parent: Run; initiated: Entry; policy: number }>();
  private waiting: Waiting[] = [];
  private activitiesWaiting: WaitingActivity[] = [];
  private readonly turns = new Turns(fairnessKeyOf);
  private readonly polls: OpenPoll[] = [];
  /** When each process polled last, by queue and process. */
  private readonly polled = new Map<string, Map<string, number>>();
  private offerCount = 0;
  private restores = 0;

  constructor(world: World) {
    this.world = world;
  }

  connect(worker: ConnectedWorker): void {
    this.workers.push(worker);
    worker.life.onChange.push(() => this.match());
    worker.life.onEnd.push(() => this.disconnect(worker));
    this.match();
  }

  /** Removes a worker. Tasks for its sticky queue wait until they time out. */
  disconnect(worker: ConnectedWorker): void {
    const at = this.workers.indexOf(worker);
    if (at >= 0) this.workers.splice(at, 1);
  }

  // ---- runs

  /** Drops all runs and all pending work. */
  forgetAll(): void {
    this.restores += 1;
    for (const run of this.runs) run.forget();
    this.runs.length = 0;
    this.chains.clear();
    this.byRunId.clear();
    this.pending.clear();
    this.children.clear();
    this.waiting = [];
    this.activitiesWaiting = [];
    for (const listener of this.onForget) listener();
  }

  /** Deletes a run. */
  forget(run: Run): void {
    run.forget();
    this.runs.splice(this.runs.indexOf(run), 1);
    this.byRunId.delete(run.runId);
    const others = (this.chains.get(run.workflowId) ?? []).filter((other) => other !== run);
    this.chains.set(run.workflowId, others);
  }

  latest(workflowId: string): Run | undefined {
    return this.chains.get(workflowId)?.at(-1);
  }

  /** Throws gRPC's NOT_FOUND. */
  find(workflowId: string, runId?: string | null): Run {
    const run = runId ? this.byRunId.get(runId) : this.latest(workflowId);
    if (run?.workflowId !== workflowId) throw notFound(`workflow ${workflowId}`);
    return run;
  }

  running(workflowId: string, runId?: string | null): Run {
    const run = this.find(workflowId, runId);
    if (!run.isRunning) throw workflowOver();
    return run;
  }

  start({ workflowId, started, reuse, conflict }: Start): { run: Run; isNew: boolean } {
    const before = this.latest(workflowId);
    if (before?.isRunning) {
      if (conflict === WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING)
        return { run: before, isNew: false };
      if (conflict !== WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING)
        throw grpcError('ALREADY_EXISTS', 'Workflow execution is already running.');
      this.terminate(before, 'TerminateIfRunning');
    } else if (before && !mayReuse(before.status, reuse))
      throw grpcError('ALREADY_EXISTS', 'Workflow execution already finished.');
    const runId = this.world.random.uuid();
    return { run: this.begin(workflowId, runId, { ...started, originalExecutionRunId: runId }), isNew: true };
  }

  /** Sets `firstExecutionRunId` to the run's own id unless the run continues a chain. */
  begin(workflowId: string, runId: string, started: Started): Run {
    const run = this.add(workflowId, runId, {
      attempt: 1,
      workflowTaskTimeout: toStamp(10_000),
      ...started,
      firstExecutionRunId: started.firstExecutionRunId || runId,
      workflowId,
      header: started.header ?? {},
    });
    run.write(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, {
      workflowExecutionStartedEventAttributes: run.started,
    });
    run.scheduleTask();
    const { workflowExecutionExpirationTime: expires } = run.started;
    if (expires) run.plan(toMs(expires) - this.world.now, () => this.timeOut(run));
    return run;
  }

  add(workflowId: string, runId: string, started: Started): Run {
    const run = new Run(this, workflowId, runId);
    run.started = started;
    run.memo = { ...started.memo?.fields };
    run.attributes = { ...started.searchAttributes?.indexedFields };
    this.runs.push(run);
    run.watchers.push(() => {
      for (const listener of this.onChange) listener(run);
    });
    this.byRunId.set(runId, run);
    const chain = this.chains.get(workflowId);
    if (chain) chain.push(run);
    else this.chains.set(workflowId, [run]);
    return run;
  }

  signal(run: Run, signalName: string, input: Payload[], identity = 'client'): void {
    run.deliver(() =>
      run.write(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, {
        workflowExecutionSignaledEventAttributes: {
          signalName,
          input: { payloads: input },
          identity,
          header: {},
        },
      }),
    );
  }

  requestCancel(run: Run, cause: string): void {
    if (run.cancelRequested) return;
    run.cancelRequested = true;
    run.deliver(() =>
      run.write(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED, {
        workflowExecutionCancelRequestedEventAttributes: { cause, identity: 'client' },
      }),
    );
  }

  private timeOut(run: Run): void {
    const retryState = enums.RetryState.RETRY_STATE_TIMEOUT;
    run.closeNow(
      STATUS.WORKFLOW_EXECUTION_STATUS_TIMED_OUT,
      EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
      { workflowExecutionTimedOutEventAttributes: { retryState } },
    );
  }

  terminate(run: Run, reason: string): void {
    run.closeNow(
      STATUS.WORKFLOW_EXECUTION_STATUS_TERMINATED,
      EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
      { workflowExecutionTerminatedEventAttributes: { reason, identity: 'client' } },
    );
  }

  /** Creates a run with the events before `eventId`, and delivers later signals again. */
  reset(run: Run, eventId: number, reason: string): Run {
    return reset(this, run, eventId, reason);
  }

  update(run: Run, { id: updateId, name, args, identity }: Omit<Update['request'], 'sequencing'>): Update {
    const existing = run.updates.get(updateId);
    if (existing) return existing;
    const request = { id: updateId, name, args, identity, sequencing: 0 };
    const update: Update = { request, state: 'admitted', acceptedEventId: 0, watchers: [] };
    run.updates.set(updateId, update);
    run.scheduleTask({ speculative: true });
    return update;
  }

  /** Answers with the next workflow task if one is due, otherwise directly. */
  query(run: Run, type: string, args: Payload[]): Promise<QueryAnswer> {
    return new Promise((answered) => {
      const query: Query = { id: this.world.random.uuid(), type, args, answered };
      if (run.isRunning && (run.task || run.lastCompletedStartedId === 0)) run.queries.push(query);
      else this.dispatchQuery(run, query);
    });
  }

  private dispatchQuery(run: Run, query: Query): void {
    const { sticky } = run;
    let isTaken = false;
    // After a restore, another run has this run's id.
    const isWanted = () => !isTaken && this.byRunId.get(run.runId) === run;
    const queue = run.started.taskQueue?.name ?? '';
    const dispatch = (holder: ConnectedWorker | undefined) => {
      const take = (worker: ConnectedWorker) => {
        isTaken = true;
        this.world.spawn(worker.takeQuery(run, query, holder !== undefined));
      };
      this.enqueue({ queue, worker: holder, isWanted, take });
    };
    dispatch(sticky);
    if (sticky)
      this.world.at(sticky.stickyTimeoutMs, () => {
        if (isTaken) return;
        run.sticky = undefined;
        dispatch(undefined);
      });
  }

  // ---- matching

  offer(run: Run, task: Task): void {
    const { sticky } = run;
    const isWanted = () => run.task === task && task.startedId === undefined;
    const take = (worker: ConnectedWorker) => {
      const work = run.startTask(task, worker);
      if (work) this.world.spawn(worker.takeTask(work));
    };
    this.enqueue({ queue: run.started.taskQueue?.name ?? '', worker: sticky, isWanted, take });
    if (sticky) run.plan(sticky.stickyTimeoutMs, () => run.stickyTimedOut(task));
  }

  schedule(activity: PendingActivity): void {
    this.pending.set(`${activity.run.runId} ${activity.scheduledId}`, activity);
  }

  activityEnded({ run, scheduledId }: PendingActivity): void {
    this.pending.delete(`${run.runId} ${scheduledId}`);
  }

  offerActivity(activity: PendingActivity): void {
    const { attempt } = activity;
    this.afterMatchingDelay(() => {
      const turn = this.turns.next(activity);
      for (const listener of this.onOffer) listener(activity);
      this.activitiesWaiting.push({ activity, attempt, turn, order: this.offerCount++ });
      this.matchActivities();
    });
  }

  /** A long poll. Resolves with undefined when polling stops. */
  nextActivity(poll: ActivityPoll): Promise<ActivityTask | undefined> {
    return new Promise((resolve) => {
      const close = () => {
        if (this.polls.includes(open)) this.closePoll(open);
        open.complete(undefined);
      };
      const complete = (task: ActivityTask | undefined) => {
        poll.signal.removeEventListener('abort', close);
        resolve(task);
      };
      const open: OpenPoll = { ...poll, since: this.world.now, complete };
      this.polls.push(open);
      poll.signal.addEventListener('abort', close, { once: true });
      if (poll.signal.aborted) close();
      this.matchActivities();
    });
  }

  /** The pollers of an activity task queue, as the server sees them. */
  pollersOf(taskQueue: string): { identity: string; since: number }[] {
    for (const poll of this.openPolls()) this.notePoll(poll);
    return [...(this.polled.get(taskQueue) ?? [])]
      .map(([identity, since]) => ({ identity, since }))
      .filter(({ since }) => this.world.now - since < POLLER_HISTORY_MS);
  }

  private openPolls(): readonly OpenPoll[] {
    for (const poll of this.polls.filter(({ life }) => life.hasEnded)) this.closePoll(poll);
    return this.polls;
  }

  private closePoll(poll: OpenPoll): void {
    this.polls.splice(this.polls.indexOf(poll), 1);
    this.notePoll(poll);
  }

  /** A process repeats a poll that has found no task. */
  private lastPolled({ life, since }: OpenPoll): number {
    const untilMs = (life.endedAt ?? this.world.now) - life.process.frozenForMs;
    return since + Math.floor(Math.max(0, untilMs - since) / LONG_POLL_MS) * LONG_POLL_MS;
  }

  private notePoll(poll: OpenPoll): void {
    const { life, taskQueue } = poll;
    const polled = this.polled.get(taskQueue) ?? new Map<string, number>();
    this.polled.set(
      taskQueue,
      polled.set(life.name, Math.max(this.lastPolled(poll), polled.get(life.name) ?? 0)),
    );
  }

  private matchActivities(): void {
    const wanted = this.activitiesWaiting.filter(
      ({ activity, attempt }) =>
        !activity.isClosed && !activity.isStarted && activity.attempt === attempt && activity.run.isRunning,
    );
    this.activitiesWaiting = wanted.toSorted(
      (one, two) =>
        priorityOf(one.activity) - priorityOf(two.activity) || one.turn - two.turn || one.order - two.order,
    );
    for (const waiting of [...this.activitiesWaiting]) {
      const { activity, attempt } = waiting;
      const queue = activity.attributes.taskQueue ?? '';
      const candidates = this.openPolls().filter(
        ({ life, taskQueue }) => taskQueue === queue && life.isReachable,
      );
      // The real server chooses the one that has waited longest.
      const [poll] = candidates.sort((one, other) => this.lastPolled(one) - this.lastPolled(other));
      if (!poll) continue;
      this.activitiesWaiting.splice(this.activitiesWaiting.indexOf(waiting), 1);
      this.closePoll(poll);
      this.turns.dispatched(activity, waiting.turn);
      const others = this.activitiesWaiting.map((other) => other.activity);
      for (const listener of this.onDispatch) listener(activity, others);
      poll.complete(activity.start(poll.life.name, attempt));
    }
  }

  /** `token`: identifies the attempt. */
  heartbeat(token: string, details: Payload[]): ReturnType<PendingActivity['heartbeat']> {
    const [runId, scheduledId, attempt] = token.split(' ');
    return this.pending.get(`${runId} ${scheduledId}`)?.heartbeat(Number(attempt), details) ?? 'NOT_FOUND';
  }

  pendingOf({ runId, isRunning }: Run): PendingActivity[] {
    if (!isRunning) return [];
    return [...this.pending.values()].filter(({ run }) => run.runId === runId);
  }

  cancelActivity(run: Run, scheduledId: number): void {
    const activity = this.pending.get(`${run.runId} ${scheduledId}`);
    activity?.requestCancel();
  }

  /** A task that is on its way while the server is restored belongs to a run that no longer exists. */
  private afterMatchingDelay(arrive: () => void): void {
    const { restores } = this;
    this.world.at(this.world.random.between(1, MAX_MATCHING_DELAY_MS), () => {
      if (restores === this.restores) arrive();
    });
  }

  private enqueue(waiting: Waiting): void {
    this.afterMatchingDelay(() => {
      this.waiting.push(waiting);
      this.match();
    });
  }

  private match(): void {
    const unmatched: Waiting[] = [];
    const waiting = this.waiting.filter(({ isWanted }) => isWanted());
    this.waiting = [];
    for (const one of waiting) {
      const candidates = this.workers.filter(
        (worker) =>
          worker.isReachable && worker.taskQueue === one.queue && (!one.worker || one.worker === worker),
      );
      const worker = candidates.length > 1 ? this.world.random.pick(candidates) : candidates[0];
      if (worker) one.take(worker);
      else unmatched.push(one);
    }
    this.waiting = [...unmatched, ...this.waiting];
    this.matchActivities();
  }

  // ---- effects of commands

  apply(run: Run, command: Command): void {
    if (run.isRunning) applyCommand(this, run, command);
  }

  planTimer(run: Run, seq: number, { id: startedId }: Entry, inMs: number): void {
    const key = `timer ${seq}`;
    const fire = () =>
      run.deliver(
        () => {
          run.timers.delete(seq);
          const attributes = { timerId: String(seq), startedEventId: id(startedId) };
          run.write(EventType.EVENT_TYPE_TIMER_FIRED, { timerFiredEventAttributes: attributes });
        },
        { key },
      );
    const planned = run.plan(inMs + this.world.random.between(0, MAX_TIMER_DELAY_MS), fire);
    run.timers.set(seq, { planned, startedId });
  }

  continueAsNew(run: Run, next: Started): void {
    const link = this.children.get(run.runId);
    if (link) this.children.set(run.nextRunId, link);
    const successor = this.begin(run.workflowId, run.nextRunId, next);
    // Updates that the previous run has not received move to the next run.
    for (const update of run.updates.values())
      if (update.state === 'lost') {
        successor.updates.set(update.request.id, update);
        update.state = 'admitted';
      }
  }

  closed(run: Run): void {
    const continues = run.status === STATUS.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW;
    for (const update of run.updates.values()) this.endUpdate(run, update, continues);
    for (const query of [...run.queries, ...(run.task?.queries ?? [])]) this.dispatchQuery(run, query);
    run.queries = [];
    for (const activity of this.pending.values()) if (activity.run === run) this.activityEnded(activity);
    if (continues) return;
    this.notifyParent(run);
    for (const [childRunId, { parent, policy }] of this.children) {
      const child = this.byRunId.get(childRunId);
      if (parent === run && child?.isRunning) this.world.at(1, () => this.closeChild(child, policy));
    }
  }

  private endUpdate(run: Run, { request, state }: Update, continues: boolean): void {
    if (state === 'admitted' || state === 'sent') run.settleUpdate(request.id, { state: 'lost' });
    if (state !== 'accepted' || continues) return;
    const message = 'Workflow Update failed because the Workflow completed before the Update completed.';
    const type = 'AcceptedUpdateCompletedWorkflow';
    const failure: Failure = {
      message,
      source: 'Server',
      applicationFailureInfo: { type, nonRetryable: true },
    };
    run.settleUpdate(request.id, { state: 'completed', outcome: { failure } });
  }

  private closeChild(child: Run, policy: number): void {
    if (policy === ParentClosePolicy.PARENT_CLOSE_POLICY_TERMINATE || policy === 0)
      this.terminate(child, 'by parent close policy');
    else if (policy === ParentClosePolicy.PARENT_CLOSE_POLICY_REQUEST_CANCEL)
      this.requestCancel(child, 'by parent close policy');
  }

  startChild(parent: Run, initiated: Entry): void {
    this.deliverLater(parent, () => {
      const attributes = initiated.event.startChildWorkflowExecutionInitiatedEventAttributes ?? {};
      const workflowId = attributes.workflowId ?? '';
      const workflowType = attributes.workflowType ?? null;
      const common = { initiatedEventId: id(initiated.id), namespace: 'default', workflowType };
      const root = parent.started.rootWorkflowExecution ?? {
        workflowId: parent.workflowId,
        runId: parent.runId,
      };
      try {
        const { run } = this.start({
          workflowId,
          reuse: attributes.workflowIdReusePolicy ?? undefined,
          started: {
            workflowType,
            taskQueue: attributes.taskQueue ?? null,
            input: attributes.input ?? null,
            memo: attributes.memo ?? null,
            searchAttributes: attributes.searchAttributes ?? null,
            parentWorkflowNamespace: 'default',
            parentWorkflowExecution: { workflowId: parent.workflowId, runId: parent.runId },
            rootWorkflowExecution: root,
          },
        });
        this.children.set(run.runId, { parent, initiated, policy: attributes.parentClosePolicy ?? 0 });
        const workflowExecution = { workflowId, runId: run.runId };
        this.deliverEvent(parent, EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED, {
          childWorkflowExecutionStartedEventAttributes: { ...common, workflowExecution, header: {} },
        });
      } catch {
        const cause =
          enums.StartChildWorkflowExecutionFailedCause
            .START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS;
        this.deliverEvent(parent, EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED, {
          startChildWorkflowExecutionFailedEventAttributes: { ...common, workflowId, cause },
        });
      }
    });
  }

  /** After a restore, resumes or repeats the requests of a run to other runs. */
  resumeRequests(run: Run): void {
    const events = run.entries.map((entry) => ({ initiatingId: initiatingEventId(entry), entry }));
    const answers = (to: Entry) =>
      events.filter(({ initiatingId }) => initiatingId === to.id).map(({ entry }) => entry);
    for (const entry of run.entries) {
      const { startChildWorkflowExecutionInitiatedEventAttributes: child } = entry.event;
      if (child) this.resumeChild(run, entry, answers(entry));
      else if (answers(entry).length > 0) continue;
      else if (entry.event.signalExternalWorkflowExecutionInitiatedEventAttributes)
        this.signalExternal(run, entry);
      else if (entry.event.requestCancelExternalWorkflowExecutionInitiatedEventAttributes)
        this.cancelExternal(run, entry);
    }
  }

  private resumeChild(parent: Run, initiated: Entry, [started, ended]: readonly Entry[]): void {
    if (ended) return;
    const execution = started?.event.childWorkflowExecutionStartedEventAttributes?.workflowExecution;
    if (!started) {
      this.startChild(parent, initiated);
      return;
    }
    if (!execution?.runId) return;
    let child = this.byRunId.get(execution.runId);
    while (child?.nextRunId && this.byRunId.has(child.nextRunId)) child = this.byRunId.get(child.nextRunId);
    const policy =
      initiated.event.startChildWorkflowExecutionInitiatedEventAttributes?.parentClosePolicy ?? 0;
    if (child?.isRunning) this.children.set(child.runId, { parent, initiated, policy });
  }

  private notifyParent(child: Run): void {
    const link = this.children.get(child.runId);
    if (!link) return;
    const common = {
      initiatedEventId: id(link.initiated.id),
      namespace: 'default',
      workflowExecution: { workflowId: child.workflowId, runId: child.runId },
      workflowType: child.started.workflowType ?? null,
    };
    const [type, attributes] = endOfChild(child, common);
    this.deliverLater(link.parent, () =>
      link.parent.deliver(() => link.parent.write(type, attributes), { isResult: true }),
    );
  }

  signalExternal(run: Run, initiated: Entry): void {
    this.deliverLater(run, () => {
      const attributes = initiated.event.signalExternalWorkflowExecutionInitiatedEventAttributes ?? {};
      const workflowExecution = attributes.workflowExecution ?? {};
      const target = this.externalTarget(workflowExecution);
      const common = { initiatedEventId: id(initiated.id), namespace: 'default', workflowExecution };
      if (target) {
        this.signal(target, attributes.signalName ?? '', attributes.input?.payloads ?? [], run.workflowId);
        this.deliverEvent(run, EventType.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED, {
          externalWorkflowExecutionSignaledEventAttributes: common,
        });
        return;
      }
      const cause =
        SignalExternalWorkflowExecutionFailedCause.SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND;
      this.deliverEvent(run, EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED, {
        signalExternalWorkflowExecutionFailedEventAttributes: { ...common, cause },
      });
    });
  }

  cancelExternal(run: Run, initiated: Entry): void {
    this.deliverLater(run, () => {
      const attributes = initiated.event.requestCancelExternalWorkflowExecutionInitiatedEventAttributes ?? {};
      const workflowExecution = attributes.workflowExecution ?? {};
      const target = this.externalTarget(workflowExecution);
      const common = { initiatedEventId: id(initiated.id), namespace: 'default', workflowExecution };
      if (target) {
        this.requestCancel(target, attributes.reason ?? '');
        this.deliverEvent(run, EventType.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED, {
          externalWorkflowExecutionCancelRequestedEventAttributes: common,
        });
        return;
      }
      const cause =
        CancelExternalWorkflowExecutionFailedCause.CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND;
      this.deliverEvent(run, EventType.EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED, {
        requestCancelExternalWorkflowExecutionFailedEventAttributes: { ...common, cause },
      });
    });
  }

  private externalTarget({ workflowId, runId }: Api.api.common.v1.IWorkflowExecution): Run | undefined {
    const run = runId ? this.byRunId.get(runId) : this.latest(workflowId ?? '');
    return run?.isRunning ? run : undefined;
  }

  /** Events between runs are delayed. */
  private deliverLater(run: Run, effect: () => void): void {
    this.world.at(this.world.random.between(1, MAX_MATCHING_DELAY_MS), () => {
      if (run.isRunning) effect();
    });
  }

  private deliverEvent(run: Run, type: EventType, attributes: Attributes): void {
    run.deliver(() => run.write(type, attributes));
  }

  /** The remaining time of a timer, after a reset or a restore. */
  remainingMs(started: Entry): number {
    const whole = toMs(started.event.timerStartedEventAttributes?.startToFireTimeout);
    return Math.max(0, started.at + whole - this.world.now);
  }
}

function priorityOf({ attributes }: PendingActivity): number {
  return attributes.priority?.priorityKey || DEFAULT_PRIORITY;
}

/** The server's fairness: within one priority of a task queue, fairness keys take turns. */
export class Turns {
  /** By task queue and priority: the last turn that was dispatched. */
  private readonly reached = new Map<string, number>();
  /** By task queue, priority and fairness key: the last turn that was given. */
  private readonly given = new Map<string, number>();
  private readonly keyOf: (activity: PendingActivity) => string;

  constructor(keyOf: (activity: PendingActivity) => string) {
    this.keyOf = keyOf;
  }

  next(activity: PendingActivity): number {
    const level = levelOf(activity);
    const key = `${level} ${this.keyOf(activity)}`;
    const turn = Math.max(this.reached.get(level) ?? 0, this.given.get(key) ?? 0) + 1;
    this.given.set(key, turn);
    return turn;
  }

  dispatched(activity: PendingActivity, turn: number): void {
    this.reached.set(levelOf(activity), turn);
  }
}

export function fairnessKeyOf({ attributes }: PendingActivity): string {
  return attributes.priority?.fairnessKey ?? '';
}

export function levelOf(activity: PendingActivity): string {
  return `${activity.attributes.taskQueue} ${priorityOf(activity)}`;
}

function mayReuse(status: Status, reuse: number | undefined): boolean {
  if (reuse === WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE) return false;
  if (reuse !== WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY) return true;
  return (
    status !== STATUS.WORKFLOW_EXECUTION_STATUS_COMPLETED &&
    status !== STATUS.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
  );
}

interface ChildEnd {
  initiatedEventId: ReturnType<typeof id>;
  namespace: string;
  workflowExecution: Api.api.common.v1.IWorkflowExecution;
  workflowType: Api.api.common.v1.IWorkflowType | null;
}

function endOfChild(child: Run, common: ChildEnd): [EventType, Attributes] {
  const last = child.entries.at(-1)?.event;
  const completed = last?.workflowExecutionCompletedEventAttributes;
  if (completed)
    return [
      EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED,
      { childWorkflowExecutionCompletedEventAttributes: { ...common, result: completed.result ?? null } },
    ];
  const failed = last?.workflowExecutionFailedEventAttributes;
  if (failed) {
    const { failure, retryState } = failed;
    const attributes = { ...common, failure: failure ?? null, retryState: retryState ?? 0 };
    return [
      EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED,
      { childWorkflowExecutionFailedEventAttributes: attributes },
    ];
  }
  return last?.workflowExecutionCanceledEventAttributes
    ? [
        EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED,
        { childWorkflowExecutionCanceledEventAttributes: common },
      ]
    : [
        EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED,
        { childWorkflowExecutionTerminatedEventAttributes: common },
      ];
}
