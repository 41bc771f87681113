/** What a run knows about its own start and history. */
import type { WorkflowDefinitionOptions } from '@temporalio/common';
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  type Workflow,
  workflowInfo,
} from '@temporalio/workflow';
import type { StartFacts } from '../../activities/shared/execution.ts';
import { starterIn, startFactsIn } from '../../contract/memo.ts';
import { provesNewId } from '../../domain/new-id.ts';

/**
 * About 300 events, far below Temporal's limits, so that each replay stays fast. A round of a waiting payout takes about
 * 13 events.
 */
const MAX_GROWTH_BYTES = 75_000;

/** The id, the environment that the starter meant, and who started it. */
export function startFacts(): StartFacts {
  const { workflowId, memo } = workflowInfo();
  return { workflowId, environment: startFactsIn(memo)['environment'], startedBy: starterIn(memo) };
}

/**
 * Whether the start proves, with its own time, that it isn't an old one: whoever can write to the namespace can send a
 * start again.
 */
export function isProvenStart(promise: unknown): boolean {
  return provesNewId(promise, workflowInfo().startTime.getTime());
}

/**
 * Whether this run continues another one. A start can have a cron schedule or a retry policy: then Temporal names a run
 * before this one too, and gives this one the arguments and the memo of the start.
 */
export function hasContinuedAsNew(): boolean {
  const { continuedFromExecutionRunId, cronSchedule, attempt } = workflowInfo();
  return continuedFromExecutionRunId !== undefined && !cronSchedule && attempt === 1;
}

/**
 * The state of the previous run of a workflow that continued as new. Anyone who can start workflows can give one to another
 * run, which would skip its checks.
 */
export function carriedOver<T>(given: T | undefined): T | undefined {
  return hasContinuedAsNew() ? given : undefined;
}

/**
 * How much the history of a run has grown since its start, which may carry the state of the previous run. Create it at the
 * start of the workflow. It counts bytes, because `historyLength` has one more event in a replay that a query causes
 * (H270).
 */
export class RunHistory {
  private readonly startBytes = workflowInfo().historySize;

  get isLong(): boolean {
    const { historySize, continueAsNewSuggested } = workflowInfo();
    return historySize - this.startBytes >= MAX_GROWTH_BYTES || continueAsNewSuggested;
  }
}

/**
 * Whether this run is pinned to another version than the one that Temporal would choose now: after a deployment, a ramp or
 * a rollback. Temporal records it in the history, at each workflow task.
 */
export function targetVersionChanged(): boolean {
  return workflowInfo().targetWorkerDeploymentVersionChanged;
}

/**
 * The options of a workflow that stays on the version that began its run. Temporal refuses a behavior from workers without
 * versioning, whose deployment has no name.
 */
export function pinnedIfVersioned(): WorkflowDefinitionOptions {
  return workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: 'PINNED' } : {};
}

/** Continues as new with `args` if the history is long. Call it only while no activity is running. */
export async function continueAsNewWhenLong<F extends Workflow>(
  history: RunHistory,
  args: () => Parameters<F>,
): Promise<void> {
  if (!history.isLong) return;
  await condition(allHandlersFinished);
  await continueAsNew<F>(...args());
}
