/**
 * A worker with the interface of the SDK's `Worker`, in one lifetime of a process. It takes the workflow tasks,
 * queries and activities of one task queue of the simulated Temporal.
 */
import { msOptionalToNumber } from '@temporalio/common/lib/time.js';
import type { WorkerOptions } from '@temporalio/worker';
import type { Runnable } from '../../src/workers/activity-worker.ts';
import type { Life } from '../process/life.ts';
import { loadDataConverter, type Workflows } from '../sdk.ts';
import type { Activities } from './activity-runner.ts';
import { type ActivitySlots, ActivityTasks } from './activity-tasks.ts';
import type { ConnectedWorker, Query, Run, TaskWork } from './run.ts';
import type { Temporal } from './temporal.ts';
import { type WorkflowTaskFaults, WorkflowTasks } from './workflow-tasks.ts';

export interface SimulatedWorkerParts {
  server: Temporal;
  life: Life;
  /** For a worker with workflows. Replaces the bundle in its options. */
  workflows: Workflows;
  faults?: WorkflowTaskFaults | undefined;
}

/** The options of the product's workers, without the connection. */
export type SimulatedWorkerOptions = Omit<WorkerOptions, 'connection' | 'namespace'>;

/** The SDK's defaults. */
const ACTIVITY_SLOTS: ActivitySlots = { type: 'fixed-size', numSlots: 100 };
const ACTIVITY_POLLS = 10;
const STICKY_TIMEOUT_MS = 10_000;
const HEARTBEAT_THROTTLE_MS = 60_000;

export class SimulatedWorker implements Runnable, ConnectedWorker {
  readonly taskQueue: string;
  readonly stickyTimeoutMs: number;
  readonly options: { identity: string };
  readonly life: Life;
  readonly workflowTasks: WorkflowTasks | undefined;
  private readonly server: Temporal;
  private readonly activityTasks: ActivityTasks;
  private readonly graceMs: number;
  private state: ReturnType<Runnable['getState']> = 'INITIALIZED';
  private readonly finished: Promise<void>;
  private finish: () => void = () => undefined;

  constructor({ server, life, workflows, faults }: SimulatedWorkerParts, options: SimulatedWorkerOptions) {
    this.server = server;
    this.life = life;
    this.taskQueue = options.taskQueue;
    this.options = { identity: life.name };
    this.stickyTimeoutMs = msOptionalToNumber(options.stickyQueueScheduleToStartTimeout) ?? STICKY_TIMEOUT_MS;
    this.graceMs = msOptionalToNumber(options.shutdownGraceTime) ?? 0;
    this.finished = new Promise((resolve) => {
      this.finish = resolve;
    });
    const converter = loadDataConverter(options.dataConverter);
    // The activities are called with the arguments that a workflow sends.
    const activities = (options.activities ?? {}) as Activities;
    if (options.workflowBundle)
      this.workflowTasks = new WorkflowTasks({ worker: this, life, workflows, converter, faults });
    this.activityTasks = new ActivityTasks({
      ...{ server, life, activities, converter, taskQueue: options.taskQueue },
      slots: slotsOf(options),
      polls: options.activityTaskPollerBehavior?.maximum ?? ACTIVITY_POLLS,
      heartbeatThrottleMs: msOptionalToNumber(options.maxHeartbeatThrottleInterval) ?? HEARTBEAT_THROTTLE_MS,
    });
  }

  get name(): string {
    return this.life.name;
  }

  get isReachable(): boolean {
    return this.workflowTasks !== undefined && this.state === 'RUNNING' && this.life.isReachable;
  }

  takeTask(work: TaskWork): Promise<void> {
    return this.workflowTasks?.handleTask(work) ?? Promise.resolve();
  }

  takeQuery(run: Run, query: Query, isSticky: boolean): Promise<void> {
    return this.workflowTasks?.handleQuery(run, query, isSticky) ?? Promise.resolve();
  }

  getState(): ReturnType<Runnable['getState']> {
    return this.state;
  }

  async run(): Promise<void> {
    this.state = 'RUNNING';
    this.activityTasks.start();
    if (this.workflowTasks) this.server.connect(this);
    await this.finished;
  }

  shutdown(): void {
    this.state = 'STOPPING';
    this.server.disconnect(this);
    this.life.world.spawn(this.end());
  }

  private async end(): Promise<void> {
    await this.activityTasks.stop(this.graceMs);
    await this.workflowTasks?.stop();
    this.state = 'STOPPED';
    this.finish();
  }
}

function slotsOf({ tuner, maxConcurrentActivityTaskExecutions }: SimulatedWorkerOptions): ActivitySlots {
  if (maxConcurrentActivityTaskExecutions !== undefined)
    return { type: 'fixed-size', numSlots: maxConcurrentActivityTaskExecutions };
  if (!tuner) return ACTIVITY_SLOTS;
  if (!('activityTaskSlotSupplier' in tuner)) throw new Error('this tuner is not simulated');
  const slots = tuner.activityTaskSlotSupplier;
  if (slots.type === 'resource-based') throw new Error('slots by resources are not simulated');
  return slots;
}
