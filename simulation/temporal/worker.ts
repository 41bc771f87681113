/**
 * A worker process: it takes workflow tasks, queries and activities, and keeps workflows in memory. It can be killed,
 * frozen and revived, or cut off from Temporal, at any event.
 */
import type { Info } from '@temporalio/activity';
import { TypedSearchAttributes } from '@temporalio/common';
import {
  type Core as CoreSdk,
  coresdk,
  loadDataConverter,
  temporal,
  type Workflows,
  type WorkflowVm,
} from '../sdk.ts';
import type { World } from '../world/world.ts';
import { type Activities, type ActivityResult, runActivity } from './activity-runner.ts';
import type { Failure, Payload } from './commands.ts';
import type { LocalActivity } from './machine-kinds.ts';
import { type Activation, Machines, Nondeterminism } from './machines.ts';
import type { PendingActivity } from './pending-activity.ts';
import type { Query, QueryAnswer, Run, TaskWork } from './run.ts';
import { durationMs, toMs } from './time.ts';

const { WorkflowActivation } = coresdk.workflow_activation;
const { WorkflowTaskFailedCause } = temporal.api.enums.v1;
/** Core asks for another workflow task when a local activity takes longer than most of one. */
const LOCAL_HEARTBEAT_MS = 8000;
const NAMESPACE = 'default';

/** The workflow's own sandbox puts its clock and its randomness in place of these. */
const NO_RANDOMNESS = { random: refuse, uuid4: refuse, fillRandom: refuse };
function refuse(): never {
  throw new Error('randomness from outside of the simulation');
}

export interface ProcessFaults {
  /** Probabilities, for each workflow task. */
  evicted: number;
  lost: number;
  failed: number;
}

export interface WorkerOptions {
  name: string;
  /** Activities are polled for on these and on the workflows' own queue. */
  queues: readonly string[];
  workflows: Workflows;
  /** Made anew for each process: what they keep in memory dies with it. */
  activities: (process: WorkerProcess) => Activities;
  local: (process: WorkerProcess) => Activities;
  faults?: ProcessFaults | undefined;
}

interface Cached {
  vm: WorkflowVm | undefined;
  machines: Machines;
  /** Until it is done: a run does one thing at a time. */
  doing: Promise<void> | undefined;
  /** Its process was killed: nothing of it goes on. */
  isGone: boolean;
  arrived: (() => void)[];
}

/** The simulation's own doing: no fault of the workflow. */
class OutOfMemory extends Error {}

class TaskFailed extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message ?? 'failed');
    this.failure = failure;
  }
}

export class WorkerProcess {
  readonly name: string;
  readonly queues: ReadonlySet<string>;
  readonly world: World;
  replays = 0;
  activations = 0;
  onReady: () => void = () => undefined;
  private readonly options: WorkerOptions;
  private readonly converter = loadDataConverter();
  private cache = new Map<string, Cached>();
  private activities: Activities;
  private local: Activities;
  private life = 1;
  private isAlive = true;
  private isFrozen = false;
  private isCut = false;
  private waiting: (() => void)[] = [];

  constructor(world: World, options: WorkerOptions) {
    this.world = world;
    this.options = options;
    this.name = options.name;
    this.queues = new Set(options.queues);
    this.activities = options.activities(this);
    this.local = options.local(this);
  }

  // ---- what may happen to it

  get polls(): boolean {
    return this.isAlive && !this.isFrozen && !this.isCut;
  }

  /** Everything that it does stops for good, in the middle. */
  kill(): void {
    this.isAlive = false;
    this.life += 1;
    this.waiting = [];
    const gone = this.cache;
    this.cache = new Map();
    for (const cached of gone.values()) {
      cached.isGone = true;
      if (cached.vm) this.world.spawn(this.world.standingStill(cached.vm.dispose()));
    }
  }

  start(): void {
    if (this.isAlive) return;
    this.isAlive = true;
    this.activities = this.options.activities(this);
    this.local = this.options.local(this);
    this.changed();
  }

  set frozen(frozen: boolean) {
    this.isFrozen = frozen;
    this.changed();
  }

  /** From Temporal only: its activities go on, and report when they can. */
  set cutOff(cut: boolean) {
    this.isCut = cut;
    this.changed();
  }

  private changed(): void {
    if (this.isFrozen) return;
    const { waiting } = this;
    this.waiting = [];
    for (const resume of waiting) resume();
    if (this.polls) this.onReady();
  }

  /** Time in this process: none after its death, and what is due while it is frozen comes afterwards. */
  async sleep(ms: number): Promise<void> {
    const { life } = this;
    await this.world.sleep(ms);
    await this.awake(life);
  }

  private async awake(life: number): Promise<void> {
    if (life !== this.life) await new Promise(() => undefined);
    while (this.isFrozen) await this.change();
  }

  /** A request on its way to Temporal: it is sent again until it gets through. */
  private async reach(life: number): Promise<void> {
    await this.world.sleep(this.world.random.between(1, 5));
    await this.awake(life);
    while (this.isCut || this.isFrozen) await this.change();
  }

  /** Resolves when a request of this process can be on its way; never after its death. */
  async connected(): Promise<void> {
    const { life } = this;
    while (this.isCut || this.isFrozen) await this.change();
    await this.awake(life);
  }

  private change(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
    });
  }

  // ---- workflow tasks and queries

  async takeTask(work: TaskWork): Promise<void> {
    const { run, task } = work;
    const { life } = this;
    const { faults } = this.options;
    const isEvicted = faults !== undefined && this.world.random.chance(faults.evicted);
    await this.exclusively(run, isEvicted ? undefined : work.previousStartedId, async (cached) => {
      const { machines } = cached;
      try {
        machines.take(work);
        await this.work(cached, run);
        const again = await this.awaitLocals(cached, run);
        const answers = await this.answers(cached, work.queries);
        if (faults && this.world.random.chance(faults.failed)) throw new OutOfMemory('out of memory');
        await this.reach(life);
        if (faults && this.world.random.chance(faults.lost)) {
          await this.evict(run.runId);
          return;
        }
        const completion = { commands: machines.commands(), flags: [...machines.flags], answers, again };
        const rejected = new Map(machines.rejected);
        machines.rejected.clear();
        const taken = run.completeTask(task, { ...completion, rejected, worker: this });
        if (taken === 'forgotten') machines.forgetSpeculativeTask(work.previousStartedId);
        if (taken === 'refused' || !run.isRunning) await this.evict(run.runId);
      } catch (error) {
        await this.failed(run, work, error, life);
      }
    });
  }

  private async failed(run: Run, { task }: TaskWork, error: unknown, life: number): Promise<void> {
    const causes = WorkflowTaskFailedCause;
    const isDifferent = error instanceof Nondeterminism;
    if (!(error instanceof TaskFailed || error instanceof OutOfMemory || isDifferent)) throw error;
    if (isDifferent) this.world.violation(`${run.workflowId}: a replay ${error.message}`);
    if (error instanceof TaskFailed)
      this.world.violation(`${run.workflowId}: a workflow task failed: ${error.message}`);
    await this.evict(run.runId);
    await this.reach(life);
    const failure = error instanceof TaskFailed ? error.failure : { message: error.message };
    run.failTask(
      task,
      isDifferent
        ? causes.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR
        : causes.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
      failure,
    );
  }

  /** A query that comes on its own. The history may go on after the last workflow task: the workflow runs ahead. */
  async takeQuery(run: Run, query: Query): Promise<void> {
    const { life } = this;
    const work = run.work();
    let answer: QueryAnswer | undefined;
    await this.exclusively(run, work.previousStartedId, async (cached) => {
      try {
        if (cached.vm === undefined) {
          cached.machines.take(work);
          await this.work(cached, run);
        }
        answer = (await this.answers(cached, [query])).get(query.id);
      } catch (error) {
        if (error instanceof Nondeterminism)
          this.world.violation(`${run.workflowId}: a replay ${error.message}`);
        else if (!(error instanceof TaskFailed)) throw error;
        answer = { failure: error instanceof TaskFailed ? error.failure : { message: error.message } };
        await this.evict(run.runId);
      }
      if (!run.isRunning) await this.evict(run.runId);
    });
    await this.reach(life);
    if (answer) query.answered(answer);
  }

  /** With the workflow as it stood after `startedId`, from memory if it is there; undefined: it is not. */
  private async exclusively(
    run: Run,
    startedId: number | undefined,
    act: (cached: Cached) => Promise<void>,
  ): Promise<void> {
    const { life } = this;
    for (let busy = this.cache.get(run.runId); busy?.doing; busy = this.cache.get(run.runId))
      await busy.doing;
    if (life !== this.life) return;
    const known = this.cache.get(run.runId);
    const cached = known && known.machines.startedId === startedId ? known : this.fresh(run);
    const acting = act(cached);
    cached.doing = acting.then(
      () => undefined,
      () => undefined,
    );
    if (known && known !== cached && known.vm) await this.world.standingStill(known.vm.dispose());
    await acting;
    cached.doing = undefined;
  }

  private fresh(run: Run): Cached {
    const machines = new Machines(run.workflowId, run.runId);
    const cached: Cached = { vm: undefined, machines, doing: undefined, isGone: false, arrived: [] };
    this.cache.set(run.runId, cached);
    if (run.lastCompletedStartedId > 0) this.replays += 1;
    return cached;
  }

  private async evict(runId: string): Promise<void> {
    const cached = this.cache.get(runId);
    this.cache.delete(runId);
    if (cached?.vm) await this.world.standingStill(cached.vm.dispose());
  }

  private async work(cached: Cached, run: Run): Promise<void> {
    const { machines } = cached;
    for (machines.advance(); machines.hasJobs(); machines.advance()) {
      const { commands, usedInternalFlags } = await this.activate(cached, run, machines.nextActivation());
      machines.asked(commands ?? [], usedInternalFlags ?? []);
    }
  }

  private async answers(cached: Cached, queries: readonly Query[]): Promise<Map<string, QueryAnswer>> {
    const answers = new Map<string, QueryAnswer>();
    if (cached.isGone) await new Promise(() => undefined);
    if (queries.length === 0 || !cached.vm) return answers;
    const jobs = queries.map(({ id, type, args }) => ({
      queryWorkflow: { queryId: id, queryType: type, arguments: args, headers: {} },
    }));
    const { commands } = await this.completed(
      cached.vm.activate(activationOf(cached.machines.activation(jobs))),
    );
    for (const { respondToQuery } of commands ?? []) {
      if (!respondToQuery) continue;
      const { queryId, succeeded, failed } = respondToQuery;
      answers.set(queryId ?? '', failed ? { failure: failed } : { result: succeeded?.response ?? undefined });
    }
    return answers;
  }

  private async activate(cached: Cached, run: Run, activation: Activation) {
    if (cached.isGone) await new Promise(() => undefined);
    const { vm } = cached;
    const made = vm ?? (await this.world.standingStill(this.create(run, activation)));
    cached.vm = made;
    this.activations += 1;
    const success = await this.completed(made.activate(activationOf(activation)));
    await made.getAndResetSinkCalls();
    return success;
  }

  private async completed(
    activating: Promise<CoreSdk.workflow_completion.IWorkflowActivationCompletion>,
  ): Promise<CoreSdk.workflow_completion.ISuccess> {
    const { successful, failed } = await this.world.standingStill(activating);
    if (successful) return successful;
    throw new TaskFailed(failed?.failure ?? {});
  }

  private create(run: Run, { timestamp, jobs, historyLength }: Activation): Promise<WorkflowVm> {
    const init = jobs?.find(({ initializeWorkflow }) => initializeWorkflow)?.initializeWorkflow;
    if (!init) throw new Error(`${run.workflowId}: the first activation does not begin a workflow`);
    const now = toMs(timestamp);
    return this.options.workflows.create({
      info: {
        workflowId: run.workflowId,
        runId: run.runId,
        workflowType: init.workflowType ?? '',
        searchAttributes: {},
        typedSearchAttributes: new TypedSearchAttributes(),
        ...relatives(init),
        taskQueue: run.started.taskQueue?.name ?? '',
        namespace: NAMESPACE,
        firstExecutionRunId: init.firstExecutionRunId ?? '',
        originalExecutionRunId: init.originalExecutionRunId ?? '',
        ...(init.continuedFromExecutionRunId && {
          continuedFromExecutionRunId: init.continuedFromExecutionRunId,
        }),
        startTime: new Date(toMs(init.startTime)),
        runStartTime: new Date(now),
        taskTimeoutMs: toMs(init.workflowTaskTimeout),
        attempt: init.attempt ?? 1,
        historyLength: historyLength ?? 0,
        historySize: 0,
        continueAsNewSuggested: false,
        targetWorkerDeploymentVersionChanged: false,
        currentBuildId: '',
        unsafe: {
          now: () => now,
          isReplaying: false,
          isReplayingHistoryEvents: false,
          random: NO_RANDOMNESS,
        },
        priority: {},
      },
      randomnessSeed: init.randomnessSeed?.toBytes() ?? [],
      now,
      showStackTraceSources: false,
      failureExceptionTypeNames: [],
    });
  }

  // ---- local activities

  /** True where some still run, and another workflow task has to be asked for. */
  private async awaitLocals(cached: Cached, run: Run): Promise<boolean> {
    const { machines } = cached;
    let isLate = false;
    const late = this.world.at(LOCAL_HEARTBEAT_MS, () => {
      isLate = true;
      for (const wake of cached.arrived.splice(0)) wake();
    });
    try {
      for (;;) {
        for (const local of machines.localActivitiesToRun())
          this.world.spawn(this.runLocal(cached, run, local));
        if (isLate || !machines.hasRunningLocals()) return machines.hasRunningLocals();
        await new Promise<void>((resolve) => {
          cached.arrived.push(resolve);
        });
        await this.work(cached, run);
      }
    } finally {
      late.cancelled = true;
    }
  }

  private async runLocal(cached: Cached, run: Run, local: LocalActivity): Promise<void> {
    const { life } = this;
    const begun = this.world.now;
    const { attributes } = local;
    const type = attributes.activityType ?? '';
    for (let attempt = 1; ; attempt += 1) {
      const info = { ...this.info(run, type, attributes.activityId ?? ''), attempt, isLocal: true };
      const call = { info, args: attributes.arguments ?? [], heartbeat: () => undefined };
      const { completed, failed } = await runActivity(this.local[type], call, this.converter).result;
      await this.sleep(this.world.random.between(1, 3));
      await this.awake(life);
      const failure = failed?.failure ?? undefined;
      const { maximumAttempts } = attributes.retryPolicy ?? {};
      const isFinal = failure?.applicationFailureInfo?.nonRetryable || attempt === maximumAttempts;
      if (failure && !isFinal) {
        await this.sleep(durationMs(attributes.retryPolicy?.initialInterval) ?? 1000);
        continue;
      }
      const completedAt = local.startedAt + (this.world.now - begun);
      local.ran({ completedAt, failure, result: completed?.result ?? undefined });
      for (const wake of cached.arrived.splice(0)) wake();
      return;
    }
  }

  // ---- activities

  async takeActivity(activity: PendingActivity): Promise<void> {
    const { life } = this;
    const { attempt, attributes, run } = activity;
    const type = attributes.activityType ?? '';
    const beats = new Heartbeats(this, activity, attempt, () => this.reach(life));
    const running = runActivity(
      this.activities[type],
      {
        info: this.activityInfo(activity),
        args: attributes.arguments ?? [],
        heartbeat: (details) => beats.beat(details),
      },
      this.converter,
    );
    beats.cancelled = (reason) => running.cancel(reason);
    const result: ActivityResult = await running.result;
    await this.awake(life);
    beats.isOver = true;
    await this.reach(life);
    this.world.record(run.workflowId, type, attempt, Object.keys(result).join());
    activity.finish(attempt, result);
  }

  private activityInfo({
    run,
    attempt,
    attributes,
    scheduledId,
    scheduledAt,
    attemptScheduledAt,
    heartbeatDetails,
  }: PendingActivity): Info {
    const [details] = heartbeatDetails;
    const heartbeatTimeoutMs = durationMs(attributes.heartbeatTimeout);
    return {
      ...this.info(run, attributes.activityType ?? '', attributes.activityId ?? ''),
      ...tokens(`${run.runId} ${scheduledId} ${attempt}`),
      attempt,
      scheduledTimestampMs: scheduledAt,
      scheduleToCloseTimeoutMs: toMs(attributes.scheduleToCloseTimeout),
      startToCloseTimeoutMs: toMs(attributes.startToCloseTimeout),
      currentAttemptScheduledTimestampMs: attemptScheduledAt,
      ...(heartbeatTimeoutMs !== undefined && { heartbeatTimeoutMs }),
      heartbeatDetails: details && this.converter.payloadConverter.fromPayload(details),
      taskQueue: attributes.taskQueue ?? '',
    };
  }

  private info({ workflowId, runId, started }: Run, activityType: string, activityId: string): Info {
    return {
      ...tokens(`${runId} local ${activityId}`),
      activityId,
      activityType,
      activityNamespace: NAMESPACE,
      attempt: 1,
      isLocal: false,
      workflowExecution: { workflowId, runId },
      workflowNamespace: NAMESPACE,
      workflowType: started.workflowType?.name ?? '',
      scheduledTimestampMs: this.world.now,
      scheduleToCloseTimeoutMs: 0,
      startToCloseTimeoutMs: 0,
      currentAttemptScheduledTimestampMs: this.world.now,
      heartbeatDetails: undefined,
      taskQueue: started.taskQueue?.name ?? '',
      namespace: NAMESPACE,
      inWorkflow: true,
    };
  }
}

/** Core sends a heartbeat at once, and what comes within most of the timeout after it together, at the end of that. */
class Heartbeats {
  isOver = false;
  cancelled: (reason: 'CANCELLED' | 'NOT_FOUND') => void = () => undefined;
  private isPaused = false;
  private held: Payload[] | undefined;
  private readonly process: WorkerProcess;
  private readonly activity: PendingActivity;
  private readonly attempt: number;
  private readonly reach: () => Promise<void>;

  constructor(
    process: WorkerProcess,
    activity: PendingActivity,
    attempt: number,
    reach: () => Promise<void>,
  ) {
    this.process = process;
    this.activity = activity;
    this.attempt = attempt;
    this.reach = reach;
  }

  beat(details: Payload[]): void {
    this.held = details;
    if (!this.isPaused) this.process.world.spawn(this.send());
  }

  private async send(): Promise<void> {
    this.isPaused = true;
    while (this.held && !this.isOver) {
      const details = this.held;
      this.held = undefined;
      await this.reach();
      if (this.isOver) return;
      const answer = this.activity.heartbeat(this.attempt, details);
      if (answer !== 'go on') {
        this.cancelled(answer);
        return;
      }
      const timeout = durationMs(this.activity.attributes.heartbeatTimeout) ?? 30_000;
      await this.process.sleep(Math.min(timeout * 0.8, 60_000));
    }
    this.isPaused = false;
  }
}

function activationOf(activation: Activation) {
  return WorkflowActivation.fromObject(activation);
}

function relatives({
  parentWorkflowInfo: parent,
  rootWorkflow: root,
}: CoreSdk.workflow_activation.IInitializeWorkflow) {
  const { workflowId, runId, namespace } = parent ?? {};
  return {
    ...(parent && {
      parent: { workflowId: workflowId ?? '', runId: runId ?? '', namespace: namespace ?? '' },
    }),
    ...(root && { root: { workflowId: root.workflowId ?? '', runId: root.runId ?? '' } }),
  };
}

function tokens(token: string) {
  const taskToken = Buffer.from(token);
  return { taskToken, base64TaskToken: taskToken.toString('base64') };
}
