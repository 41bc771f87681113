/** Checks how runs of all workflow types start and end, and how long their histories get. */
import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import { partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { PlannedPayout } from './planned.ts';
import { type Feature, isCompleted, type Scene } from './scene.ts';
import { isOfStranger } from './strangers.ts';

/** Runs continue as new long before this limit. */
const MAX_EVENTS = 1_000;
/** Only strangers start workflows with invalid input. */
const INVALID_ENDS: ReadonlySet<EventType> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
]);

export class RunEnds implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async check(): Promise<void> {
    const { world, server } = this.scene.system;
    for (const run of server.runs) for (const problem of problemsIn(run)) world.violation(problem);
    for (const payout of this.scene.plan.payouts) this.checkStarts(payout);
  }

  /** A payout starts once, and reconciliation starts it again after each termination. */
  private checkStarts({ number }: PlannedPayout): void {
    const { world, server } = this.scene.system;
    const runs = server.runs.filter(({ workflowId }) => workflowId === payoutId(number));
    const isFirst = ({ started, runId }: Run) => started.firstExecutionRunId === runId;
    const starts = runs.filter((run) => isFirst(run) && !isOfStranger(run)).length;
    const replaced = runs.filter(
      (run) => isOfStranger(run) && runs.some(({ closedAt }) => closedAt === run.startedAt),
    );
    const terminations = (this.scene.terminations.get(number) ?? 0) + replaced.length;
    if (starts > 1 + terminations) world.violation(`${partnerOrderIdOf(number)} was started ${starts} times`);
  }
}

function problemsIn(run: Run): string[] {
  const { workflowId, entries } = run;
  const last = entries.at(-1);
  const name = last ? EventType[last.type].replace('EVENT_TYPE_WORKFLOW_EXECUTION_', '') : '';
  return [
    last &&
      INVALID_ENDS.has(last.type) &&
      !isOfStranger(run) &&
      !mayTimeOut(run, last.type) &&
      `${workflowId} ended ${name}`,
    last && isOfStranger(run) && isCompleted(run) && `${workflowId} accepted bad input`,
    entries.length > MAX_EVENTS && `${workflowId} has a history of ${entries.length} events`,
  ].filter((problem) => typeof problem === 'string');
}

/** Reads and the links of authorizations have a timeout, because a caller waits for them. */
function mayTimeOut({ started }: Run, end: EventType): boolean {
  return (
    end === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT && started.workflowExecutionTimeout != null
  );
}
