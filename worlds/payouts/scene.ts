/** A seed's plan and world, as the simulated people and the oracle use them. */
import { isGrpcServiceError, QueryNotRegisteredError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ConflictError } from '../../src/client/errors.ts';
import { IdInUseError } from '../../src/client/start-once.ts';
import type { PayoutResult, PayoutState } from '../../src/contract/payout.ts';
import { stateQuery } from '../../src/contract/workflows.ts';
import { VisibilityLagsError } from '../../src/temporal/decisive-run.ts';
import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import { type PayoutWorld, partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { Plan, PlannedPayout } from './planned.ts';
import type { TimelineEntry } from './timeline.ts';

export interface Decision {
  atMs: number;
  what: 'approve' | 'refuse' | 'cancel' | 'resolve';
  /** The order that the operator named. */
  orderId?: string | undefined;
}

/** A part of a world, with its people and its checks. */
export interface Feature {
  begin?(): void;
  /** What has not ended, and in which state it is. */
  unfinished?(): string[];
  /** Called at each inspection by the operator. */
  inspect?(): void;
  /** Called after Temporal was restored to an earlier state. */
  restored?(): void;
  /** Called after everything has ended. */
  check?(): Promise<void>;
}

const RETRY_DELAY_MS = 1_000;
/** Names of the errors of an update that comes after the end. */
const ENDED = ['EndedError', 'WorkflowNotFoundError'];

export class Scene {
  readonly plan: Plan;
  readonly system: PayoutWorld;
  readonly timeline: TimelineEntry[] = [];
  /** Payouts that have not ended, by workflow id, whether or not they run now. */
  readonly open: Map<string, PlannedPayout>;

  /** When Temporal was restored to an earlier state. */
  restoredAtMs: number | undefined;
  /** When faults and losses ended. */
  faultsEndedAtMs: number | undefined;
  /** By payout number, once they have been checked. */
  readonly results = new Map<number, PayoutResult>();
  /** How often a person terminated each payout. After a restore, one of them may be counted although it was lost. */
  readonly terminations = new Map<number, number>();
  /** Payouts that were reset after their end. A caller that has the first result may not receive the second one. */
  readonly reopened = new Set<number>();
  /** Payouts whose histories an operator has deleted. */
  readonly deleted = new Set<number>();
  /** Decisions that the product accepted, by payout number. */
  readonly decisions = new Map<number, Decision[]>();

  constructor(plan: Plan, system: PayoutWorld) {
    this.plan = plan;
    this.system = system;
    this.open = new Map(plan.payouts.map((payout) => [payoutId(payout.number), payout]));
  }

  note(about: string, what: string): void {
    this.timeline.push({ atMs: this.system.world.now, about, what });
  }

  /** Records what a person does to a payout, a batch, an opening or a user's token. */
  recordAction(
    on: 'payout' | 'batch' | 'opening' | 'token' | 'application',
    about: string,
    what: string,
  ): void {
    this.system.world.occurred.add(`${on}: ${what}`);
    this.timeline.push({ atMs: this.system.world.now, about, what: `person: ${what}`, action: what });
  }

  countTermination(number: number): void {
    this.terminations.set(number, (this.terminations.get(number) ?? 0) + 1);
  }

  recordDecision(number: number, decision: Omit<Decision, 'atMs'>): void {
    const all = this.decisions.get(number) ?? [];
    this.decisions.set(number, [...all, { ...decision, atMs: this.system.world.now }]);
  }

  /**
   * Ignores failures that a later attempt resolves: no worker, a decision that came too late, a query ahead of its
   * task.
   */
  async ignoreExpectedErrors<T>(about: string, action: () => Promise<T>): Promise<T | undefined> {
    try {
      return await action();
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError || isTransient(error)) return undefined;
      this.system.world.violation(`${about} fails an operation: ${String(error)}`);
      return undefined;
    }
  }

  /** The same id with another body: any response except the expected conflict is a violation. */
  async expectConflict(about: string, action: () => Promise<unknown>): Promise<void> {
    await this.ignoreExpectedErrors(about, async () => {
      try {
        await action();
      } catch (error) {
        if (error instanceof ConflictError) return;
        throw error;
      }
      this.system.world.violation(`${about} accepts another body`);
    });
  }

  stateOf(number: number): Promise<PayoutState | undefined> {
    const handle = this.system.client.workflow.getHandle(payoutId(number));
    return this.ignoreExpectedErrors(partnerOrderIdOf(number), () => handle.query(stateQuery));
  }

  hasCompleted(workflowId: string): boolean {
    const run = this.system.server.latest(workflowId);
    return run !== undefined && isCompleted(run);
  }

  /** `part`: a fraction of the workflow tasks. Returns false if there is no completed workflow task to reset to. */
  reset(run: Run, part: number): boolean {
    const ends = run.entries.filter(({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
    const end = ends[Math.floor(part * ends.length)];
    if (end) this.system.server.reset(run, end.id, 'by an operator');
    return end !== undefined;
  }

  /** Retries while Temporal does not answer. Any other error is a violation. */
  async retryWhileUnavailable<T>(about: string, action: () => Promise<T>): Promise<T | undefined> {
    const { world } = this.system;
    for (;;)
      try {
        return await action();
      } catch (error) {
        if (!isTransient(error)) {
          world.violation(`${about} cannot be started: ${String(error)}`);
          return undefined;
        }
        await world.sleep(RETRY_DELAY_MS);
      }
  }
}

/** What the operator does once in a world, at a planned time. */
export abstract class PlannedTask implements Feature {
  protected readonly scene: Scene;
  private isRunning = false;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  unfinished(): string[] {
    return this.isRunning ? [this.task] : [];
  }

  /** Such as `the upgrade of the workers`. */
  protected abstract readonly task: string;

  /** `outcome`: the name under which the world records that it was done. */
  protected plan(atMs: number, work: () => Promise<void>, outcome: string): void {
    const { world } = this.scene.system;
    const run = async () => {
      this.isRunning = true;
      await world.sleep(atMs);
      await work();
      this.isRunning = false;
      world.occurred.add(outcome);
    };
    world.spawn(run());
  }
}

export function isCompleted({ entries }: Run): boolean {
  return entries.at(-1)?.type === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED;
}

function isTransient(error: unknown): boolean {
  if (error instanceof QueryNotRegisteredError || error instanceof VisibilityLagsError) return true;
  if (error instanceof IdInUseError) return true;
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return isGrpcServiceError(cause) || (error instanceof Error && ENDED.includes(error.name));
}
