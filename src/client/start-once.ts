/**
 * Starts a workflow whose id contains the caller's own id. The same body joins the running or ended workflow; another
 * body is a conflict. Every outcome uses the id up, except a start with bad input.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  type Client,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
} from '@temporalio/client';
import { type ApplicationFailure, type SearchAttributePair, TypedSearchAttributes } from '@temporalio/common';
import { INVALID_PAYOUT_REQUEST } from '../contract/failures.ts';
import type { CheckResult } from '../contract/fields.ts';
import { PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import { type StartFacts, starterIn, startMemo } from '../contract/memo.ts';
import { isRequestOf } from '../contract/payout-request.ts';
import { type Clock, sleep } from '../runtime/runtime.ts';
import { applicationFailure, unlessGone } from '../temporal/client-errors.ts';
import { type DecisiveRun, decisiveRun } from '../temporal/decisive-run.ts';
import { readStartEvent, type WorkflowRun } from '../temporal/histories.ts';
import { STARTED_AT } from '../temporal/namespace.ts';
import { isStopped } from '../temporal/visibility.ts';

/** The workflow to start, and how to compare it with an existing one under the same id. */
export interface UniqueStart<Request> {
  type: string;
  idOf(request: Request): string;
  request: Request;
  summary: string;
  facts: StartFacts;
  attributes: SearchAttributePair[];
  /** Validates the argument of another start. */
  read(argument: unknown): CheckResult<Request>;
  /** Like `read`, and accepts fields that only a newer version knows: its start uses the id up. */
  readStored(argument: unknown): CheckResult<Request>;
  /** A history that Temporal has deleted may have used the id, so the start doesn't say that it is new. */
  isDoubtful?: boolean;
  /** The error if the other start has another body. */
  conflict(): Error;
}

interface StartedRun {
  runId: string;
  memo: Record<string, unknown>;
}

/**
 * Thrown while another start with bad input has the id, until a worker rejects it, and while Temporal has only a part of
 * the run that has the id. A later call may succeed.
 */
export class IdInUseError extends ServiceError {
  override readonly name = 'IdInUseError';
}

const TRIES = 20;
const PAUSE_MS = 250;

const UNDECIDED = {
  'not rejected yet': 'no worker has rejected another start under this ID, whose input is bad',
  gone: 'the run under this ID is gone',
};
type Undecided = keyof typeof UNDECIDED;

/** Throws `once.conflict`, and errors of Temporal's client. `clock` is used to wait. */
export async function startOrJoin<Request>(
  client: Client,
  once: UniqueStart<Request>,
  clock: Clock,
): Promise<StartedRun> {
  let reason = '';
  for (let left = TRIES; left > 0; left -= 1) {
    const run = await tryToStart(client, once, clock);
    if (typeof run !== 'string') return run;
    reason = UNDECIDED[run];
    await sleep(clock, PAUSE_MS);
  }
  throw new IdInUseError(`${once.idOf(once.request)} cannot be started yet: ${reason}`);
}

async function tryToStart<Request>(
  client: Client,
  once: UniqueStart<Request>,
  clock: Clock,
): Promise<StartedRun | Undecided> {
  const fresh = await begin(client, once, 'REJECT_DUPLICATE', clock);
  if (fresh) return fresh;
  const known = await unlessGone(() => joinable(client, once, clock));
  if (!known) return 'gone';
  if (known !== 'rejected') return known;
  const again = await begin(client, once, 'ALLOW_DUPLICATE_FAILED_ONLY', clock);
  // Otherwise another caller started it first.
  return again ?? tryToStart(client, once, clock);
}

/**
 * The existing run with the same body. Throws `once.conflict`. `rejected`: the start failed as bad input, or was stopped
 * before a worker could reject it.
 */
async function joinable<Request>(
  client: Client,
  once: UniqueStart<Request>,
  clock: Clock,
): Promise<StartedRun | 'rejected' | 'not rejected yet'> {
  const workflowId = once.idOf(once.request);
  const { runId, status } = await client.workflow.getHandle(workflowId).describe();
  const isBadInput = status.name === 'FAILED' && (await failedAsBadInput(client, workflowId, runId));
  if (!isBadInput) {
    const start = await readStartEvent(client, workflowId, runId);
    const isValid = requestIn(once, start.argument) !== undefined;
    if (status.name === 'RUNNING' && !isValid) return 'not rejected yet';
    if (isValid || !isStopped(status)) return join(once, start);
  }
  const earlier = await decisiveRun(client, {
    workflowId,
    latest: { runId, isBadInput },
    clock,
    isValid: (argument) => requestIn(once, argument, once.readStored) !== undefined,
  });
  if (earlier?.isGone) {
    // If the latest run is gone too, a restore of Temporal lost both, and the id is free. Throws then.
    await client.workflow.getHandle(workflowId, runId).describe();
    throw once.conflict();
  }
  return earlier ? join(once, await readStartEvent(client, workflowId, earlier.runId)) : 'rejected';
}

/** The run that `startOrJoin` would return without a start. Undefined if it would start one. Throws `once.conflict`. */
export async function findJoinable<Request>(
  client: Client,
  once: UniqueStart<Request>,
  clock: Clock,
): Promise<StartedRun | undefined> {
  const known = await unlessGone(() => joinable(client, once, clock));
  return typeof known === 'string' ? undefined : known;
}

/** The request of another start under the same id. Undefined if no worker accepts it. */
function requestIn<Request>(
  once: UniqueStart<Request>,
  argument: unknown,
  readAs = once.read,
): Request | undefined {
  const read = readAs(argument);
  return read.ok && once.idOf(read.value) === once.idOf(once.request) ? read.value : undefined;
}

/** The run that `startOrJoin` would join, without a start. Undefined if there is none. Throws `once.conflict`. */
export async function findStarted<Request>(
  client: Client,
  once: UniqueStart<Request>,
): Promise<StartedRun | undefined> {
  const workflowId = once.idOf(once.request);
  return unlessGone(async () => {
    const { runId } = await client.workflow.getHandle(workflowId).describe();
    return join(once, await readStartEvent(client, workflowId, runId));
  });
}

interface StartDetails {
  argument: unknown;
  startedBy: string | undefined;
  /** The latest one. `length`: the events of its history. */
  run: WorkflowRun & { startedAt: string; length: number };
}

/**
 * The argument of a workflow, and the caller who started it, if recorded. Throws Temporal's `WorkflowNotFoundError`.
 */
export async function startDetails(client: Client, workflowId: string): Promise<StartDetails> {
  const { runId, startTime, historyLength } = await client.workflow.getHandle(workflowId).describe();
  const { argument, memo, firstRunId } = await readStartEvent(client, workflowId, runId);
  const first = firstRunId === runId ? memo : (await readStartEvent(client, workflowId, firstRunId)).memo;
  return {
    argument,
    startedBy: starterIn(memo) ?? starterIn(first),
    run: { workflowId, runId, startedAt: startTime.toISOString(), length: historyLength },
  };
}

/** Returns undefined if the id is already used. */
async function begin<Request>(
  client: Client,
  once: UniqueStart<Request>,
  reuse: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY',
  clock: Clock,
): Promise<StartedRun | undefined> {
  // Tells the worker that no earlier run had this id.
  const startedAt = new Date(clock.wallMs());
  const isNew = reuse === 'REJECT_DUPLICATE' && !once.isDoubtful;
  const rejectDuplicate = isNew && startedAt.toISOString();
  const memo = startMemo({ ...once.facts, rejectDuplicate });
  try {
    const { firstExecutionRunId } = await client.workflow.start(once.type, {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: once.idOf(once.request),
      workflowIdReusePolicy: reuse,
      workflowIdConflictPolicy: 'FAIL',
      args: [once.request],
      memo,
      typedSearchAttributes: new TypedSearchAttributes([
        ...once.attributes,
        { key: STARTED_AT, value: startedAt },
      ]),
      staticSummary: once.summary,
    });
    return { runId: firstExecutionRunId, memo };
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    throw error;
  }
}

function join<Request>(
  once: UniqueStart<Request>,
  { argument, memo, firstRunId }: Awaited<ReturnType<typeof readStartEvent>>,
): StartedRun {
  const existing = requestIn(once, argument);
  if (existing === undefined || !sameBody(existing, once.request)) throw once.conflict();
  // After continue-as-new, the first run identifies the start.
  return { runId: firstRunId, memo };
}

/** Compares as JSON: absent equals undefined, and the key order is ignored. */
export function sameBody(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(JSON.parse(JSON.stringify(left)), JSON.parse(JSON.stringify(right)));
}

/**
 * The failure with every bad field, or undefined for any other failure. For a failed run only: waits for an open run. A run
 * that failed as bad input has sent nothing to the provider.
 */
export async function badInputFailure(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<ApplicationFailure | undefined> {
  try {
    await client.workflow.getHandle(workflowId, runId, { followRuns: false }).result();
    return undefined;
  } catch (error) {
    const failure = error instanceof WorkflowFailedError ? applicationFailure(error.cause) : undefined;
    return failure?.type === INVALID_PAYOUT_REQUEST ? failure : undefined;
  }
}

export async function failedAsBadInput(client: Client, workflowId: string, runId: string): Promise<boolean> {
  return (await badInputFailure(client, workflowId, runId)) !== undefined;
}

/**
 * The run that decides about a payout that is known to be started, and whose latest run failed as bad input. Undefined if
 * its start was rejected, too. Throws `VisibilityLagsError`.
 */
export function startedBefore(
  client: Client,
  clock: Clock,
  { workflowId, runId }: { workflowId: string; runId: string },
): Promise<DecisiveRun | undefined> {
  return decisiveRun(client, {
    workflowId,
    latest: { runId, isBadInput: true },
    clock,
    wasStarted: true,
    isValid: (argument) => isRequestOf(workflowId, argument),
  });
}
