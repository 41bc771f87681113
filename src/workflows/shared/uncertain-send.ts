/**
 * A send that may take effect without a response: a payout's create call, or the request for a receiving account. Whether
 * another run has sent is asked before each send and before an end. A send of unknown outcome is confirmed over a window,
 * and in doubt a person decides.
 */
import { workflowInfo } from '@temporalio/workflow';
import type { RunFacts } from '../../activities/payout/send-once.ts';
import type { Principal } from '../../activities/shared/execution.ts';
import { startFactsIn } from '../../contract/memo.ts';
import type { PayoutSettings } from '../../domain/payout-record.ts';
import { activityTimeoutMs } from '../../domain/time.ts';
import { checks } from './calls.ts';
import { deciderProblem, isRecord } from './messages.ts';
import { isProvenStart } from './run-facts.ts';

/** Whether the start does not prove that the id is new (a doubtful start). Only our starters prove it. */
export function isDoubtfulStart(): boolean {
  return !isProvenStart(startFactsIn(workflowInfo().memo)['rejectDuplicate']);
}

/** Whether this run's start proves that no run was before it. For validators: a step's branch on run ids would not replay. */
export function isFirstRun(): boolean {
  const { runId, firstExecutionRunId } = workflowInfo();
  return runId === firstExecutionRunId && !isDoubtfulStart();
}

/** Tells whether an earlier run, or a run that Temporal lost in a restore, may have sent. */
export function runFacts(startedAtMs: number, cleared?: RunFacts['cleared']): RunFacts {
  const { firstExecutionRunId: firstRunId, parent } = workflowInfo();
  return { firstRunId, isDoubtful: isDoubtfulStart(), parent, cleared, startedAtMs };
}

/**
 * A Workflow Reset to the last workflow task of an ended run keeps the response that the run got, and starts that task
 * again. By then, another run may have sent (H107). The workflow's clock shows it, and a replay sees the same clock.
 */
const ANSWER_HOLDS_MS = 1_000;
const MAX_QUESTIONS = 10;

/**
 * Why this run must not end without an order yet; null if it may. An activity compares the run ids, because a branch on
 * them would not replay after a reset. The run must end in the workflow task in which it gets null.
 */
export async function findEarlierSend(
  principal: Principal,
  facts: RunFacts,
): ReturnType<typeof checks.findEarlierSend> {
  for (let left = MAX_QUESTIONS; left > 0; left -= 1) {
    const askedAtMs = Date.now();
    const doubt = await checks.findEarlierSend(principal, facts);
    if (doubt !== null || Date.now() - askedAtMs < ANSWER_HOLDS_MS) return doubt;
  }
  // The workers are slow. A confirmation answers the question, too.
  return 'earlier-run';
}

type Window = Pick<PayoutSettings, 'callTimeoutMs' | 'confirmationWindowMs'>;

/** The end of a window that begins when the send's deadline ends: until then it may still be on its way (H6). */
export function windowEndMs({ callTimeoutMs, confirmationWindowMs }: Window): number {
  return Date.now() + activityTimeoutMs(callTimeoutMs) + confirmationWindowMs;
}

/** The end of the confirmation window of the last send of another run. Unix milliseconds. */
export function windowAfterOthers(
  { lastSendByMs = 0 }: { lastSendByMs?: number | undefined },
  { confirmationWindowMs }: Window,
): number {
  return lastSendByMs + confirmationWindowMs;
}

interface Reviewed {
  readonly record: { phase: string; sends: number };
  readonly resolution: unknown;
  readonly isResolving: boolean;
}

/** Why a decision in review isn't accepted. `idField` names what was sent for. */
export function resolveProblem(
  run: Reviewed,
  what: string,
  idField: string,
  decision: unknown,
): string | undefined {
  const problem = deciderProblem(decision);
  if (problem) return problem;
  const { phase, sends } = run.record;
  if (phase !== 'NEEDS_REVIEW') return `there is nothing to resolve: the ${what} is ${phase}`;
  if (run.resolution || run.isResolving) return `the ${what} is already being resolved`;
  const { created, then, sends: seen = sends, [idField]: id } = isRecord(decision) ? decision : {};
  if (created === true) return typeof id === 'string' && id !== '' ? undefined : `${idField}: is missing`;
  if (created !== false) return 'created: must be true or false';
  if (then !== 'end' && then !== 'retry') return 'then: must be end or retry';
  // The person has read an older state.
  return seen === sends
    ? undefined
    : `sends: there were ${sends} sends, or possible ones: read the state again`;
}

/** Whether `named`, which a caller sent, holds each of `ids` once and nothing else. */
export function isSameSet(named: unknown, ids: readonly string[]): boolean {
  return Array.isArray(named) && named.length === ids.length && ids.every((id) => named.includes(id));
}

/** What `field` of a decision names isn't what the review shows. */
export function notShown(field: string, shown: readonly string[]): string {
  return `${field}: the review shows ${shown.join(', ') || 'none'}: read the state again`;
}
