/** A seed's plan and its world, as its people and its oracle see them. */
import { isGrpcServiceError, QueryNotRegisteredError, WorkflowUpdateFailedError } from '@temporalio/client';
import { stateQuery } from '../../src/contract/payout-messages.ts';
import type { PayoutResult, PayoutState } from '../../src/domain/payout.ts';
import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import type { Decided } from './decisions.ts';
import { type PayoutWorld, partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { Plan, PlannedPayout } from './plan.ts';
import type { Told } from './story.ts';

/** What a world has besides payouts that callers start one by one. */
export interface Feature {
  begin?(): void;
  /** What has not ended, and where it stands. */
  unfinished?(): string[];
  /** A look of an operator. */
  look?(): void;
  /** Temporal has gone back to an earlier state. */
  restored?(): void;
  /** Once all has ended. */
  judge?(): Promise<void>;
}

const AGAIN_AFTER_MS = 1_000;

export class Scene {
  readonly plan: Plan;
  readonly there: PayoutWorld;
  readonly told: Told[] = [];
  /** Payouts by workflow id: those that have not ended, whether or not they run now. */
  readonly open: Map<string, PlannedPayout>;

  /** When Temporal was restored to an earlier state. */
  restoredAtMs: number | undefined;
  /** When faults, losses and strikes ended. */
  calmSinceMs: number | undefined;
  /** By the payout's number, once they have been judged. */
  readonly results = new Map<number, PayoutResult>();
  /** How often somebody has terminated each payout: in a restored Temporal perhaps once more. */
  readonly terminations = new Map<number, number>();
  /** Those that somebody has reset after their end: whoever was told of that end may never hear of another. */
  readonly reopened = new Set<number>();
  /** What people have decided about each payout, and were told that it is taken. */
  readonly decided = new Map<number, Decided[]>();

  constructor(plan: Plan, there: PayoutWorld) {
    this.plan = plan;
    this.there = there;
    this.open = new Map(plan.payouts.map((payout) => [payoutId(payout.number), payout]));
  }

  tell(about: string, what: string): void {
    this.told.push({ atMs: this.there.world.now, about, what });
  }

  /** What somebody does to a payout, a batch, an opening or a user's token. */
  act(on: 'payout' | 'batch' | 'opening' | 'token', about: string, what: string): void {
    this.there.world.met.add(`${on}: ${what}`);
    this.told.push({ atMs: this.there.world.now, about, what: `a person: ${what}`, act: what });
  }

  took(number: number, decided: Omit<Decided, 'atMs'>): void {
    const all = this.decided.get(number) ?? [];
    this.decided.set(number, [...all, { ...decided, atMs: this.there.world.now }]);
  }

  /** No worker, a decision that came too late, a query ahead of its workflow task: the next look will do. */
  async tolerant<T>(about: string, act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError || isTransient(error)) return undefined;
      this.there.world.violation(`${about} cannot be looked after: ${String(error)}`);
      return undefined;
    }
  }

  /** The same name with another body: whatever comes but the refusal is a violation. */
  async mustConflict(
    about: string,
    Conflict: abstract new (...args: never[]) => Error,
    act: () => Promise<unknown>,
  ): Promise<void> {
    await this.tolerant(about, async () => {
      try {
        await act();
      } catch (error) {
        if (error instanceof Conflict) return;
        throw error;
      }
      this.there.world.violation(`${about} takes another body`);
    });
  }

  stateOf(number: number): Promise<PayoutState | undefined> {
    const handle = this.there.client.workflow.getHandle(payoutId(number));
    return this.tolerant(partnerOrderIdOf(number), () => handle.query(stateQuery));
  }

  hasCompleted(workflowId: string): boolean {
    const run = this.there.server.latest(workflowId);
    return run !== undefined && isCompleted(run);
  }

  /** `part`: how far into its workflow tasks. Says whether there was one to go back to. */
  reset(run: Run, part: number): boolean {
    const ends = run.entries.filter(({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
    const end = ends[Math.floor(part * ends.length)];
    if (end) this.there.server.reset(run, end.id, 'by a person');
    return end !== undefined;
  }

  /** Again and again while Temporal does not answer; whatever else goes wrong is a violation. */
  async insist<T>(about: string, act: () => Promise<T>): Promise<T | undefined> {
    const { world } = this.there;
    for (;;)
      try {
        return await act();
      } catch (error) {
        if (!isTransient(error)) {
          world.violation(`${about} cannot be started: ${String(error)}`);
          return undefined;
        }
        await world.sleep(AGAIN_AFTER_MS);
      }
  }
}

export function isCompleted({ entries }: Run): boolean {
  return entries.at(-1)?.type === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED;
}

function isTransient(error: unknown): boolean {
  if (error instanceof QueryNotRegisteredError) return true;
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return isGrpcServiceError(cause) || (error instanceof Error && error.name === 'WorkflowNotFoundError');
}
