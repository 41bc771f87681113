/** What the other runs of a workflow id have sent, by their histories. */
import type { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { z } from 'zod';
import { sameBody } from '../../client/start-once.ts';
import { checkBody } from '../../contract/fields.ts';
import { startFactsIn } from '../../contract/memo.ts';
import { type AgreedQuote, agreedQuoteSchema } from '../../contract/payout.ts';
import {
  type CheckedPayoutRequest,
  payoutRequestSchema,
  readStoredRequest,
} from '../../contract/payout-request.ts';
import { provesNewId } from '../../domain/new-id.ts';
import { unlessGone } from '../../temporal/client-errors.ts';
import {
  type HistoryEvent,
  readStartEvent,
  type WorkflowRun,
  wholeHistory,
} from '../../temporal/histories.ts';
import { ownValue } from '../../temporal/own-payloads.ts';
import { type ListedRun, listRunsOf } from '../../temporal/visibility.ts';
import { failure } from '../shared/failures.ts';

interface OtherRun {
  runId: string;
  /** Unix milliseconds. */
  startedAtMs: number;
}

interface Sender extends OtherRun {
  /** When its last send was over at the latest. 0 if its history is gone: that was long ago. Unix milliseconds. */
  lastSendByMs: number;
  sent: unknown[];
}

/**
 * The other runs of a workflow id. If visibility shows this run, it very likely shows all earlier runs, without guarantee.
 * Otherwise throws a retryable failure.
 */
export async function otherListedRuns(
  client: Client,
  { workflowId, runId }: WorkflowRun,
): Promise<ListedRun[]> {
  const runs = await listRunsOf(client, workflowId);
  const others = runs.filter((run) => run.runId !== runId);
  if (others.length < runs.length) return others;
  throw failure(
    'VISIBILITY_LAGS',
    'visibility does not show this run yet, so earlier runs may be missing too',
  );
}

export type RunHistories = ReturnType<typeof temporalHistories>;

/**
 * The other runs that may have sent: those that scheduled an activity of `activityType`, those whose history is gone, and
 * those that started before `recoveredAtMs`, because Temporal may have lost the end of their histories (H53). Also tells
 * whether another run has ended with an outcome.
 */
export async function runsThatMayHaveSent(
  histories: RunHistories,
  own: WorkflowRun,
  activityType: string,
  recoveredAtMs = 0,
): Promise<{ senders: Sender[]; hasOutcome: boolean }> {
  const { workflowId } = own;
  const others = await otherRuns(histories, own);
  const senders: Sender[] = [];
  let hasOutcome = false;
  for (const run of others) {
    const isForgotten = run.startedAtMs < recoveredAtMs;
    const { deadlineMs, isCompleted, sent } = await histories.evidenceOf(workflowId, run.runId, activityType);
    hasOutcome ||= isCompleted;
    if (deadlineMs === undefined && !isForgotten) continue;
    const lastSendByMs = Math.max(deadlineMs ?? 0, isForgotten ? recoveredAtMs : 0);
    senders.push({ ...run, lastSendByMs, sent: isForgotten ? [undefined, ...sent] : sent });
  }
  return { senders, hasOutcome };
}

interface Evidence {
  /**
   * The deadline of the last activity that was scheduled: undefined if there is none, 0 if the history is gone. Unix
   * milliseconds.
   */
  deadlineMs: number | undefined;
  /** The run has ended with an outcome. */
  isCompleted: boolean;
  /**
   * The arguments of the sends. Undefined: one that may be missing, or that this process can't decrypt, or that isn't
   * encrypted for its activity. Whoever can write to the namespace can write any history under this id.
   */
  sent: unknown[];
}

/** What the other runs of a workflow id may have sent: create calls, or requests for an account. */
export interface EarlierSends {
  /** Another run, or a run that a restored Temporal has lost, may have sent (H53). */
  earlierSend: boolean;
  /** When the last send of another run was over at the latest. Unix milliseconds. */
  lastSendByMs?: number | undefined;
}

export function sendsOf(senders: readonly Sender[]): EarlierSends {
  if (senders.length === 0) return { earlierSend: false };
  return { earlierSend: true, lastSendByMs: Math.max(...senders.map(({ lastSendByMs }) => lastSendByMs)) };
}

/** Visibility very likely shows all of them. Temporal does not guarantee it, so histories add the bases of resets. */
async function otherRuns(histories: RunHistories, own: WorkflowRun): Promise<OtherRun[]> {
  const listed = await histories.othersOf(own);
  const bases = await histories.basesOf(own);
  return [...new Map([...bases, ...listed].map((run) => [run.runId, run])).values()];
}

/** Whether one of `runs` started with another body than `request`. The order may then have that body. */
export async function sentAnotherBody(
  histories: RunHistories,
  workflowId: string,
  runs: readonly OtherRun[],
  request: CheckedPayoutRequest,
): Promise<boolean> {
  for (const { runId } of runs) {
    const argument = await histories.argumentOf(workflowId, runId);
    const theirs = checkBody(payoutRequestSchema, argument);
    // A field that only a newer version knows makes it another body. A policy may have required the approval.
    const { approval } = request;
    if (theirs.ok ? !sameBody({ ...theirs.value, approval }, request) : readStoredRequest(argument).ok)
      return true;
  }
  return false;
}

const createArgument = z.object({ quote: agreedQuoteSchema });

/** The quotes that the create calls of `senders` were scheduled with, the latest ones last. Null: not readable. */
export function quotesSent(senders: readonly Sender[]): (AgreedQuote | null)[] {
  return senders
    .toSorted((one, other) => one.lastSendByMs - other.lastSendByMs)
    .flatMap(({ sent }) => sent)
    .map((argument) => createArgument.safeParse(argument).data?.quote ?? null);
}

/** A batch has one run for every few of its parts, and each part asks about all of them. */
const MAX_KNOWN_RUNS = 1_000;
const LONG_AGO = 0;

export type RunBegins = ReturnType<typeof runBegins>;

export function runBegins(client: Client) {
  /** By run id: a run begins with a reset, or never has one. */
  const begins = new Map<string, Promise<number>>();
  const read = async (run: WorkflowRun): Promise<number> => {
    const events = await wholeHistory(client, run);
    const start = events?.[0]?.workflowExecutionStartedEventAttributes;
    if (!events || !start || baseRunsIn(events).length > 0) return LONG_AGO;
    const { continuedExecutionRunId: before, parentWorkflowExecution: parent } = start;
    if (before) return begunAt({ ...run, runId: before });
    // Whoever starts a workflow can delay it.
    if (durationMs(start.firstWorkflowTaskBackoff) > 0) return LONG_AGO;
    if (!parent?.workflowId) return atMs(events[0]);
    return begunAt({ workflowId: parent.workflowId, runId: parent.runId ?? '' });
  };
  /**
   * When the first of the runs that this one continues was started, or the workflow that started that. Long ago if one
   * was reset or delayed, or its history is gone: then steps after its start are done at any time. Unix milliseconds.
   */
  const begunAt = (run: WorkflowRun): Promise<number> => {
    const known = begins.get(run.runId) ?? read(run);
    begins.set(run.runId, known);
    known.catch(() => begins.delete(run.runId));
    if (begins.size > MAX_KNOWN_RUNS) begins.delete(begins.keys().next().value ?? '');
    return known;
  };
  return { begunAt };
}

export function temporalHistories(client: Client) {
  const historyOf = (workflowId: string, runId: string) => wholeHistory(client, { workflowId, runId });
  return {
    async othersOf(own: WorkflowRun): Promise<OtherRun[]> {
      const runs = await otherListedRuns(client, own);
      return runs.map(({ runId, startedMs }) => ({ runId, startedAtMs: startedMs }));
    },
    /** The runs from which this run was reset, directly or indirectly, by their histories. */
    async basesOf({ workflowId, runId }: WorkflowRun): Promise<OtherRun[]> {
      const bases = new Map<string, OtherRun>();
      const visit = async (next: string): Promise<void> => {
        const events = (await historyOf(workflowId, next)) ?? [];
        // If its history is gone, it started long ago.
        bases.set(next, { runId: next, startedAtMs: atMs(events[0]) });
        for (const base of baseRunsIn(events)) if (!bases.has(base)) await visit(base);
      };
      await visit(runId);
      bases.delete(runId);
      return [...bases.values()];
    },
    /** Reads in the history of the closed run when it sent, what, and how it ended. */
    async evidenceOf(workflowId: string, runId: string, activityType: string): Promise<Evidence> {
      const events = await historyOf(workflowId, runId);
      if (!events) return { deadlineMs: 0, isCompleted: false, sent: [undefined] };
      const last = events.at(-1);
      // No attempt begins after the end of its run.
      const closedAtMs = atMs(last);
      const sends = events.flatMap((event) => {
        const scheduled = event.activityTaskScheduledEventAttributes;
        if (scheduled?.activityType?.name !== activityType) return [];
        const startsWithinMs = durationMs(scheduled.scheduleToStartTimeout) || Number.POSITIVE_INFINITY;
        const startsByMs = Math.min(atMs(event) + startsWithinMs, closedAtMs);
        return [{ ...scheduled, deadlineMs: startsByMs + durationMs(scheduled.startToCloseTimeout) }];
      });
      const sent = sends.map(({ input, activityId }) =>
        ownValue(client, workflowId, input?.payloads?.[1], activityId ?? '').catch(() => undefined),
      );
      return {
        deadlineMs: sends.length > 0 ? Math.max(...sends.map(({ deadlineMs }) => deadlineMs)) : undefined,
        isCompleted: Boolean(last?.workflowExecutionCompletedEventAttributes),
        sent: await Promise.all(sent),
      };
    },
    /** Whether the id may have other runs. False if Temporal has guaranteed at the start that this one is the first. */
    async mayHaveOthers({ workflowId, runId }: WorkflowRun): Promise<boolean> {
      const { memo, startedMs } = await readStartEvent(client, workflowId, runId);
      if (!provesNewId(startFactsIn(memo)['rejectDuplicate'], startedMs)) return true;
      // A Workflow Reset copies the start.
      return baseRunsIn((await historyOf(workflowId, runId)) ?? []).length > 0;
    },
    ...runBegins(client),
    /** The argument of the run; undefined if its history is gone. */
    async argumentOf(workflowId: string, runId: string): Promise<unknown> {
      return (await unlessGone(() => readStartEvent(client, workflowId, runId)))?.argument;
    },
  };
}

/** The runs from which the run of this history was reset. */
function baseRunsIn(events: readonly HistoryEvent[]): string[] {
  return events.flatMap(({ workflowTaskFailedEventAttributes: reset }) => reset?.baseRunId || []);
}

type Duration = Parameters<typeof tsToMs>[0];

function durationMs(duration: Duration): number {
  return duration ? tsToMs(duration) : 0;
}

function atMs(event: { eventTime?: Duration } | undefined): number {
  return durationMs(event?.eventTime);
}
