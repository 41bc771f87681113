/**
 * Starting a workflow whose id is the caller's own number: the same body joins it, running or ended; another body
 * is refused; the number is spent by any end but a start that failed as bad input.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { type SearchAttributePair, TypedSearchAttributes } from '@temporalio/common';
import { PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import type { CheckResult } from '../contract/payout-request.ts';
import type { Clock } from '../surroundings/surroundings.ts';
import { decisiveRun } from '../temporal/decisive-run.ts';
import { readStartEvent } from '../temporal/start-event.ts';
import { failedAsBadInput } from './bad-input.ts';

/** What is started, and how it is told from something else under the same number. */
export interface UniqueStart<Request> {
  type: string;
  workflowId: string;
  request: Request;
  summary: string;
  memo: Record<string, unknown>;
  attributes: SearchAttributePair[];
  /** Reads what another start gave. */
  read(argument: unknown): CheckResult<Request>;
  /** What is thrown when that was another body. */
  conflict(): Error;
}

/** The run that was started, and what its starter wrote beside it. */
export interface StartedRun {
  runId: string;
  memo: Record<string, unknown>;
}

type Reuse = 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY';

/** `clock`: by which a lag of visibility is waited for. */
export async function startOrJoin<Request>(
  client: Client,
  once: UniqueStart<Request>,
  clock: Clock,
): Promise<StartedRun> {
  const fresh = await begin(client, once, 'REJECT_DUPLICATE');
  if (fresh) return fresh;
  const { runId, status } = await client.workflow.getHandle(once.workflowId).describe();
  if (status.name === 'FAILED' && (await failedAsBadInput(client, once.workflowId, runId))) {
    const earlier = await decisiveRun(client, once.workflowId, { runId, isBadInput: true }, clock);
    if (earlier?.isGone) throw once.conflict();
    if (earlier) return joined(client, once, earlier.runId);
    const again = await begin(client, once, 'ALLOW_DUPLICATE_FAILED_ONLY');
    // Else somebody else was quicker.
    return again ?? startOrJoin(client, once, clock);
  }
  return joined(client, once, runId);
}

/** What it was started with, and by whom if its starter said so. Throws Temporal's `WorkflowNotFoundError`. */
export async function startDetails(
  client: Client,
  workflowId: string,
): Promise<{ argument: unknown; startedBy: string | undefined }> {
  const { runId } = await client.workflow.getHandle(workflowId).describe();
  const { argument, memo, firstRunId } = await readStartEvent(client, workflowId, runId);
  const first = firstRunId === runId ? memo : (await readStartEvent(client, workflowId, firstRunId)).memo;
  const startedBy = memo['startedBy'] ?? first['startedBy'];
  return { argument, startedBy: typeof startedBy === 'string' ? startedBy : undefined };
}

/** Undefined when the id is taken. */
async function begin<Request>(
  client: Client,
  once: UniqueStart<Request>,
  reuse: Reuse,
): Promise<StartedRun | undefined> {
  // What the worker takes as the promise that no earlier run had this number.
  const memo = { rejectDuplicate: reuse === 'REJECT_DUPLICATE', ...once.memo };
  const options = {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: once.workflowId,
    workflowIdReusePolicy: reuse,
    workflowIdConflictPolicy: 'FAIL' as const,
    args: [once.request],
    memo,
    typedSearchAttributes: new TypedSearchAttributes(once.attributes),
    staticSummary: once.summary,
  };
  try {
    const { firstExecutionRunId } = await client.workflow.start(once.type, options);
    return { runId: firstExecutionRunId, memo };
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    throw error;
  }
}

/** Of one that is there already, and whose body is compared. */
async function joined<Request>(
  client: Client,
  once: UniqueStart<Request>,
  runId: string,
): Promise<StartedRun> {
  const { argument, memo, firstRunId } = await readStartEvent(client, once.workflowId, runId);
  const theirs = once.read(argument);
  if (!theirs.ok || !sameBody(theirs.value, once.request)) throw once.conflict();
  // One that was continued as new is still the run that was started.
  return { runId: firstRunId, memo };
}

/** Absent and undefined are the same; key order does not count. */
export function sameBody(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(JSON.parse(JSON.stringify(left)), JSON.parse(JSON.stringify(right)));
}
