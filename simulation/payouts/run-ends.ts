/** Checks how runs of all workflow types start and end, and how long their histories get. */
import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import { partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { PlannedPayout } from './plan.ts';
import type { Feature, Scene } from './scene.ts';

/** Runs continue as new long before this limit. */
const MAX_EVENTS = 1_000;
/** No workflow in a world has invalid input or a timeout that can expire. */
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
    const isFirst = ({ workflowId, runId, started }: Run) =>
      workflowId === payoutId(number) && started.firstExecutionRunId === runId;
    const starts = server.runs.filter(isFirst).length;
    const terminations = this.scene.terminations.get(number) ?? 0;
    if (starts > 1 + terminations) world.violation(`${partnerOrderIdOf(number)} was started ${starts} times`);
  }
}

function problemsIn({ workflowId, entries }: Run): string[] {
  const last = entries.at(-1);
  const name = last ? EventType[last.type].replace('EVENT_TYPE_WORKFLOW_EXECUTION_', '') : '';
  return [
    last && INVALID_ENDS.has(last.type) && `${workflowId} ended ${name}`,
    entries.length > MAX_EVENTS && `${workflowId} has a history of ${entries.length} events`,
  ].filter((problem) => typeof problem === 'string');
}
