/**
 * The workflow tasks and queries of one worker, and its cache of workflows. Each run processes one task or query at a
 * time.
 */
import { defaultPayloadConverter, TypedSearchAttributes } from '@temporalio/common';
import { z } from 'zod';
import type { World } from '../engine/world.ts';
import type { Life } from '../process/life.ts';
import { never } from '../process/life.ts';
import {
  type Core as CoreSdk,
  coresdk,
  type LoadedDataConverter,
  newCodecRunner,
  temporal,
  type Workflows,
  type WorkflowVm,
} from '../sdk.ts';
import { bytesOf, type Failure } from './commands.ts';
import { EventType } from './history.ts';
import { type Activation, type ActivationResult, Machines, Nondeterminism, type Work } from './machines.ts';
import type { ConnectedWorker, Query, QueryAnswer, Run, Task, TaskWork } from './run.ts';
import { toMs } from './time.ts';

const { WorkflowActivation } = coresdk.workflow_activation;
const { WorkflowTaskFailedCause } = temporal.api.enums.v1;
const NAMESPACE = 'default';
/** Events up to which every workflow task is evicted with the same probability. */
const SHORT_HISTORY = 50;
/** See `lossChance`. */
const QUERIED_LOSS_CHANCE = 0.9;
/** The SDK's id of a direct query. */
const LEGACY_QUERY_ID = 'legacy_query';

/** The workflow's sandbox replaces these with its own clock and randomness. */
const NO_RANDOMNESS = { random: rejectRandomness, uuid4: rejectRandomness, fillRandom: rejectRandomness };
function rejectRandomness(): never {
  throw new Error('the workflow drew real randomness');
}

export interface WorkflowTaskFaults {
  /** Probabilities for each workflow task. A task that a query has run is lost more often. */
  evicted: number;
  lost: number;
  failed: number;
}

interface Cached {
  vm: WorkflowVm | undefined;
  /** Encodes and decodes the payloads that enter and leave the workflow. */
  readonly codec: ReturnType<typeof newCodecRunner>;
  machines: Machines;
  /** The task or query in progress. */
  inProgress: Promise<void> | undefined;
  /** Its process was killed: nothing of it continues. */
  isDisposed: boolean;
  /** A query processed the start of a task that another worker has, without the updates of that task. */
  missesUpdates: boolean;
}

/** Injected by the simulation, not a fault of the workflow. */
class InjectedFailure extends Error {}

class TaskFailed extends Error {
  readonly failure: Failure;
  constructor(failure: Failure, why: string) {
    super(why);
    this.failure = failure;
  }
}

const common = z.object({ message: z.string(), stack_trace: z.string() });

/** After these events, a query runs a workflow ahead of its next task (H52). */
const EVENTS_RUN_AHEAD: ReadonlySet<EventType> = new Set([
  EventType.EVENT_TYPE_TIMER_FIRED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
]);

/** Our failure converter encodes the message in a payload. */
function messageOf(failure: Failure | null | undefined): string {
  const encoded = failure?.encodedAttributes;
  if (!encoded) return failure?.message ?? 'failed';
  const { message, stack_trace } = common.parse(defaultPayloadConverter.fromPayload(encoded));
  return `${message}\n${stack_trace}`;
}

export interface WorkflowTasksParts {
  worker: ConnectedWorker;
  life: Life;
  workflows: Workflows;
  converter: LoadedDataConverter;
  faults?: WorkflowTaskFaults | undefined;
}

export class WorkflowTasks {
  private readonly parts: WorkflowTasksParts;
  private readonly world: World;
  private readonly life: Life;
  private readonly cache = new Map<string, Cached>();

  constructor(parts: WorkflowTasksParts) {
    this.parts = parts;
    this.life = parts.life;
    this.world = parts.life.world;
    parts.life.onEnd.push(() => this.forgetAll());
  }

  /** Abandons all work in progress. */
  forgetAll(): void {
    const gone = [...this.cache.values()];
    this.cache.clear();
    for (const cached of gone) {
      cached.isDisposed = true;
      if (cached.vm) this.world.spawn(this.world.withClockStopped(cached.vm.dispose()));
    }
  }

  /** Waits for work in progress, as a worker does when it shuts down. */
  async stop(): Promise<void> {
    const busy = () => [...this.cache.values()].flatMap(({ inProgress }) => (inProgress ? [inProgress] : []));
    for (let inProgress = busy(); inProgress.length > 0; inProgress = busy()) await Promise.all(inProgress);
    this.forgetAll();
  }

  async handleTask(work: TaskWork): Promise<void> {
    const { run, task } = work;
    const { worker, faults } = this.parts;
    await this.life.awake();
    const isEvicted = faults !== undefined && this.world.random.chance(evictionChance(faults, run));
    await this.exclusively(run, !isEvicted, async (cached) => {
      const { machines } = cached;
      try {
        machines.take(work);
        await this.advance(cached, run);
        const answers = await this.answers(cached, work.queries);
        if (faults && this.world.random.chance(faults.failed)) throw new InjectedFailure('injected failure');
        await this.life.networkDelay();
        if (faults && this.world.random.chance(lossChance(faults, task))) {
          await this.evict(run.runId);
          return;
        }
        const extra = machines.extraCommand();
        if (extra !== undefined)
          this.world.violation(`${run.workflowId}: a replay issues a further command: ${extra}`);
        const completion = {
          commands: machines.commands(),
          flags: [...machines.flags],
          answers,
        };
        const rejected = new Map(machines.rejected);
        machines.rejected.clear();
        const outcome = run.completeTask(task, { ...completion, rejected, worker });
        if (outcome === 'discarded') machines.discardSpeculativeTask(work.previousStartedId);
        if (outcome === 'rejected' || !run.isRunning) await this.evict(run.runId);
      } catch (error) {
        await this.failed(run, work, error, cached);
      }
    });
  }

  private async failed(run: Run, { task }: TaskWork, error: unknown, cached: Cached): Promise<void> {
    const causes = WorkflowTaskFailedCause;
    const isNondeterministic = error instanceof Nondeterminism;
    if (!(error instanceof TaskFailed || error instanceof InjectedFailure || isNondeterministic)) throw error;
    if (isNondeterministic) this.reportNondeterminism(error, run, cached);
    if (error instanceof TaskFailed)
      this.world.violation(`${run.workflowId}: a workflow task failed: ${error.message}`);
    await this.evict(run.runId);
    await this.life.networkDelay();
    const failure = error instanceof TaskFailed ? error.failure : { message: error.message };
    run.failTask(
      task,
      isNondeterministic
        ? causes.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR
        : causes.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
      failure,
    );
  }

  /**
   * Answers a direct query. Without `isSticky`, it comes with the history, which may extend beyond the last workflow
   * task: the workflow runs ahead.
   */
  async handleQuery(run: Run, query: Query, isSticky: boolean): Promise<void> {
    await this.life.awake();
    const work = run.work();
    // As of this history, which may be older than the run once the workflow is free.
    const missesUpdates = run.isUpdating;
    const task = run.startedTask;
    let answer: QueryAnswer | undefined;
    await this.exclusively(run, true, async (cached) => {
      // Core drops such a query without an answer.
      if (work.previousStartedId < cached.machines.startedId) return;
      try {
        if (cached.vm === undefined || !isSticky)
          await this.runAhead(cached, run, work, { missesUpdates, task });
        answer = (await this.answers(cached, [{ ...query, id: LEGACY_QUERY_ID }])).get(LEGACY_QUERY_ID);
      } catch (error) {
        answer = { failure: this.failureOf(error, run, cached) };
        await this.evict(run.runId);
      }
      if (!run.isRunning) await this.evict(run.runId);
    });
    await this.life.networkDelay();
    if (answer) query.answered(answer);
  }

  private async runAhead(
    cached: Cached,
    run: Run,
    work: Work,
    { missesUpdates, task }: { missesUpdates: boolean; task: Task | undefined },
  ): Promise<void> {
    this.noteQueryAhead(run);
    if (task) {
      task.wasQueried = true;
      this.world.occurred.add('a query ran a task in progress');
    }
    cached.missesUpdates ||= missesUpdates;
    cached.machines.take(work);
    await this.advance(cached, run);
  }

  private failureOf(error: unknown, run: Run, cached: Cached): Failure {
    if (error instanceof TaskFailed) return error.failure;
    if (!(error instanceof Nondeterminism)) throw error;
    this.reportNondeterminism(error, run, cached);
    return { message: error.message };
  }

  /** A known defect of core, if the cached workflow missed an update: the next replay succeeds. */
  private reportNondeterminism(
    { message }: Nondeterminism,
    { workflowId }: Run,
    { missesUpdates }: Cached,
  ): void {
    if (missesUpdates) this.world.occurred.add('core missed an update');
    else this.world.violation(`${workflowId}: a replay ${message}`);
  }

  private noteQueryAhead({ entries, lastCompletedId }: Run): void {
    if (lastCompletedId > 0 && entries.slice(lastCompletedId).some(({ type }) => EVENTS_RUN_AHEAD.has(type)))
      this.world.occurred.add('a query ran ahead of the next workflow task');
  }

  /** Uses the cached workflow if there is one and `useCache` allows it. */
  private async exclusively(
    run: Run,
    useCache: boolean,
    action: (cached: Cached) => Promise<void>,
  ): Promise<void> {
    await this.life.awake();
    for (
      let busy = this.cache.get(run.runId)?.inProgress;
      busy;
      busy = this.cache.get(run.runId)?.inProgress
    ) {
      await busy;
      await this.life.awake();
    }
    const existing = this.cache.get(run.runId);
    const cached = existing && useCache ? existing : this.createCached(run);
    const running = action(cached);
    cached.inProgress = running.then(
      () => undefined,
      () => undefined,
    );
    if (existing && existing !== cached && existing.vm)
      await this.world.withClockStopped(existing.vm.dispose());
    try {
      await running;
    } finally {
      cached.inProgress = undefined;
    }
  }

  private createCached(run: Run): Cached {
    const machines = new Machines(run, this.parts.workflows.codeVersion);
    const codec = newCodecRunner(this.parts.converter, run.workflowId);
    const cached: Cached = {
      ...{ vm: undefined, codec, machines, inProgress: undefined },
      ...{ isDisposed: false, missesUpdates: false },
    };
    this.cache.set(run.runId, cached);
    if (run.lastCompletedStartedId > 0) this.world.counts.replays += 1;
    return cached;
  }

  private async evict(runId: string): Promise<void> {
    const cached = this.cache.get(runId);
    this.cache.delete(runId);
    if (cached?.vm) await this.world.withClockStopped(cached.vm.dispose());
  }

  private async advance(cached: Cached, run: Run): Promise<void> {
    const { machines } = cached;
    for (machines.advance(); machines.hasJobs(); machines.advance()) {
      machines.applyResult(await this.activate(cached, run, machines.nextActivation()));
    }
  }

  private async answers(cached: Cached, queries: readonly Query[]): Promise<Map<string, QueryAnswer>> {
    const answers = new Map<string, QueryAnswer>();
    if (cached.isDisposed) await never();
    if (queries.length === 0 || !cached.vm) return answers;
    const jobs = queries.map(({ id, type, args }) => ({
      queryWorkflow: { queryId: id, queryType: type, arguments: args, headers: {} },
    }));
    const { commands } = await this.completed(cached, cached.vm, cached.machines.activation(jobs));
    for (const {
      command: { respondToQuery },
    } of commands) {
      if (!respondToQuery) continue;
      const { queryId, succeeded, failed } = respondToQuery;
      answers.set(queryId ?? '', failed ? { failure: failed } : { result: succeeded?.response ?? undefined });
    }
    return answers;
  }

  private async activate(cached: Cached, run: Run, activation: Activation): Promise<ActivationResult> {
    if (cached.isDisposed) await never();
    const { vm } = cached;
    const created = vm ?? (await this.world.withClockStopped(this.create(run, activation)));
    cached.vm = created;
    this.world.counts.activations += 1;
    const result = await this.completed(cached, created, activation);
    for (const { fnName, args } of await created.getAndResetSinkCalls())
      this.world.logs.push(`${fnName} ${JSON.stringify(args)}`);
    return result;
  }

  private async completed(cached: Cached, vm: WorkflowVm, activation: Activation): Promise<ActivationResult> {
    const { successful, failed, why, plain } = await this.world.withClockStopped(
      activateInVm(cached, vm, activation),
    );
    if (!successful) throw new TaskFailed(failed?.failure ?? {}, why);
    return {
      commands: (successful.commands ?? []).map((command, at) => ({ command, bytes: plain[at] ?? '' })),
      flags: successful.usedInternalFlags ?? [],
    };
  }

  private create(run: Run, { timestamp, jobs, historyLength }: Activation): Promise<WorkflowVm> {
    const init = jobs?.find(({ initializeWorkflow }) => initializeWorkflow)?.initializeWorkflow;
    if (!init) throw new Error(`${run.workflowId}: the first activation does not initialize the workflow`);
    const now = toMs(timestamp);
    return this.parts.workflows.create({
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
          now: () => this.life.wallMs(),
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
}

/**
 * Compares commands before encoding: encryption produces different bytes each time. A replay only compares them, so it
 * does not encode them.
 */
async function activateInVm({ codec }: Cached, vm: WorkflowVm, activation: Activation) {
  const decoded = await codec
    .decodeActivation(WorkflowActivation.fromObject(activation))
    .catch((error: unknown) => taskFailed(`payloads cannot be decoded: ${String(error)}`));
  // A workflow that rejects the query throws.
  const completion = await vm.activate(decoded).catch((error: unknown) => taskFailed(messageOfError(error)));
  const plain = (completion.successful?.commands ?? []).map(bytesOf);
  const why = completion.failed ? messageOf(completion.failed.failure) : '';
  const isOnlyCompared = activation.isReplaying && completion.successful && !isQuery(activation);
  const { successful, failed } = isOnlyCompared ? completion : await codec.encodeCompletion(completion);
  return { successful, failed, why, plain };
}

function isQuery({ jobs }: Activation): boolean {
  return jobs?.some(({ queryWorkflow }) => queryWorkflow) ?? false;
}

/** A replay takes the time of the whole history, so the replays of a long history cost as much as those of a short one. */
function evictionChance({ evicted }: WorkflowTaskFaults, { entries }: Run): number {
  return evicted >= 1 ? evicted : evicted * Math.min(1, SHORT_HISTORY / entries.length);
}

/**
 * A query that runs a task in progress is rare, and so is a lost task. Each is harmless alone, so worlds that lose tasks lose
 * most of these.
 */
function lossChance({ lost }: WorkflowTaskFaults, { wasQueried }: Task): number {
  return lost > 0 && wasQueried ? Math.max(lost, QUERIED_LOSS_CHANCE) : lost;
}

/** As in the SDK, the task fails, and another worker may succeed. */
function taskFailed(message: string): never {
  throw new TaskFailed({ message }, message);
}

/** An error of the VM's realm is not an `Error` of this realm. */
function messageOfError(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : String(error);
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
