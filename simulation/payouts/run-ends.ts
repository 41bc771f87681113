/** How runs of any workflow may begin and end, and how long their histories may get. */
import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import { partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { PlannedPayout } from './plan.ts';
import type { Feature, Scene } from './scene.ts';

/** Runs go on as new long before. */
const MOST_EVENTS = 1_000;
/** Nothing here is started with bad input, and nothing is started with a timeout that could pass. */
const NO_END: ReadonlySet<EventType> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
]);

export class RunEnds implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async judge(): Promise<void> {
    const { world, server } = this.scene.there;
    for (const run of server.runs) for (const wrong of wrongIn(run)) world.violation(wrong);
    for (const payout of this.scene.plan.payouts) this.judgeStarts(payout);
  }

  /** However many want it, a payout is started once, and again by reconciliation after each termination. */
  private judgeStarts({ number }: PlannedPayout): void {
    const { world, server } = this.scene.there;
    const isFirst = ({ workflowId, runId, started }: Run) =>
      workflowId === payoutId(number) && started.firstExecutionRunId === runId;
    const starts = server.runs.filter(isFirst).length;
    const terminations = this.scene.terminations.get(number) ?? 0;
    if (starts > 1 + terminations) world.violation(`${partnerOrderIdOf(number)} was started ${starts} times`);
  }
}

function wrongIn({ workflowId, entries }: Run): string[] {
  const last = entries.at(-1);
  const name = last ? EventType[last.type].replace('EVENT_TYPE_WORKFLOW_EXECUTION_', '') : '';
  return [
    last && NO_END.has(last.type) && `${workflowId} ended ${name}`,
    entries.length > MOST_EVENTS && `${workflowId} has a history of ${entries.length} events`,
  ].filter((wrong) => typeof wrong === 'string');
}
