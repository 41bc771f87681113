/** What the other runs of a workflow id have sent, by their histories. */
import type { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { sameBody } from '../../client/start-once.ts';
import { checkBody } from '../../contract/fields.ts';
import {
  type CheckedPayoutRequest,
  payoutRequestSchema,
  readStoredRequest,
} from '../../contract/payout-request.ts';
import { unlessGone } from '../../temporal/client-errors.ts';
import {
  type HistoryEvent,
  readStartEvent,
  type WorkflowRun,
  wholeHistory,
} from '../../temporal/histories.ts';
import { listRunPage, listRunsOf } from '../../temporal/visibility.ts';
import { visibilityLags } from '../shared/failures.ts';

interface OtherRun {
  runId: string;
  /** Unix milliseconds. */
  startedAtMs: number;
}

interface Sender extends OtherRun {
  /** When its last send was over at the latest. 0 if its history is gone: that was long ago. Unix milliseconds. */
  lastSendByMs: number;
}

export interface RunHistories {
  runsOf(workflowId: string): Promise<OtherRun[]>;
  /**
   * The deadline of the last activity of this type that the closed run has scheduled: undefined if it has scheduled none,
   * 0 if its history is gone. Unix milliseconds.
   */
  lastDeadlineMs(workflowId: string, runId: string, activityType: string): Promise<number | undefined>;
  /** The runs from which this run was reset, directly or indirectly, by their histories. */
  basesOf(workflowId: string, runId: string): Promise<OtherRun[]>;
  /** Whether the id may have other runs. False if Temporal has guaranteed at the start that this one is the first. */
  mayHaveOthers(workflowId: string, runId: string): Promise<boolean>;
  /** The argument of the run; undefined if its history is gone. */
  argumentOf(workflowId: string, runId: string): Promise<unknown>;
}

/**
 * The other runs that may have sent: those that scheduled an activity of `activityType`, those whose history is gone, and
 * those that started before `recoveredAtMs`, because Temporal may have lost the end of their histories (H53).
 */
export async function runsThatMayHaveSent(
  histories: RunHistories,
  { workflowId, runId }: WorkflowRun,
  activityType: string,
  recoveredAtMs = 0,
): Promise<Sender[]> {
  const others = await otherRuns(histories, workflowId, runId);
  const sent: Sender[] = [];
  for (const run of others) {
    const isForgotten = run.startedAtMs < recoveredAtMs;
    const deadlineMs = await histories.lastDeadlineMs(workflowId, run.runId, activityType);
    if (deadlineMs === undefined && !isForgotten) continue;
    sent.push({ ...run, lastSendByMs: Math.max(deadlineMs ?? 0, isForgotten ? recoveredAtMs : 0) });
  }
  return sent;
}

/** What the other runs of a workflow id may have sent: creates, or requests for an account. */
export interface EarlierSends {
  /** Another run, or a run that a restored Temporal has lost, may have sent (H53). */
  earlierSend: boolean;
  /** When the last send of another run was over at the latest. Unix milliseconds. */
  lastSendByMs?: number | undefined;
}

/** Whether another run may have sent, and when the last of their sends was over at the latest. */
export function sendsOf(senders: readonly Sender[]): EarlierSends {
  const earlierSend = senders.length > 0;
  if (!earlierSend) return { earlierSend };
  return { earlierSend, lastSendByMs: Math.max(...senders.map(({ lastSendByMs }) => lastSendByMs)) };
}

/**
 * If visibility shows this run, it very likely shows all earlier runs. Temporal does not guarantee it, so the runs from
 * which this one was reset come from histories. Otherwise throws a retryable failure.
 */
async function otherRuns(histories: RunHistories, workflowId: string, ownRunId: string): Promise<OtherRun[]> {
  const runs = await histories.runsOf(workflowId);
  if (!runs.some(({ runId }) => runId === ownRunId)) throw visibilityLags();
  const bases = await histories.basesOf(workflowId, ownRunId);
  const others = new Map([...bases, ...runs].map((run) => [run.runId, run]));
  others.delete(ownRunId);
  return [...others.values()];
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

export function temporalHistories(client: Client): RunHistories {
  const historyOf = (workflowId: string, runId: string) => wholeHistory(client, { workflowId, runId });
  return {
    async runsOf(workflowId) {
      const runs = await listRunsOf(client, workflowId);
      return runs.map(({ runId, startedMs }) => ({ runId, startedAtMs: startedMs }));
    },
    async basesOf(workflowId, runId) {
      const bases = new Map<string, OtherRun>();
      let queue = [runId];
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const events = (await historyOf(workflowId, next)) ?? [];
        // If its history is gone, it started long ago.
        if (next !== runId) bases.set(next, { runId: next, startedAtMs: atMs(events[0]) });
        queue = [...new Set([...queue, ...baseRunsIn(events)])].filter(
          (one) => one !== runId && !bases.has(one),
        );
      }
      return [...bases.values()];
    },
    async lastDeadlineMs(workflowId, runId, activityType) {
      const events = await historyOf(workflowId, runId);
      if (!events) return 0;
      // No attempt begins after the end of its run.
      const closedAtMs = atMs(events.at(-1));
      const deadlines = events.flatMap((event) => {
        const scheduled = event.activityTaskScheduledEventAttributes;
        if (scheduled?.activityType?.name !== activityType) return [];
        const startsWithinMs = durationMs(scheduled.scheduleToStartTimeout) || Number.POSITIVE_INFINITY;
        const startsByMs = Math.min(atMs(event) + startsWithinMs, closedAtMs);
        return startsByMs + durationMs(scheduled.startToCloseTimeout);
      });
      return deadlines.length > 0 ? Math.max(...deadlines) : undefined;
    },
    async mayHaveOthers(workflowId, runId) {
      const { memo } = await readStartEvent(client, workflowId, runId);
      if (memo['rejectDuplicate'] !== true) return true;
      // A Workflow Reset copies the start.
      return baseRunsIn((await historyOf(workflowId, runId)) ?? []).length > 0;
    },
    async argumentOf(workflowId, runId) {
      const start = await unlessGone(() => readStartEvent(client, workflowId, runId));
      return start?.argument;
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

/** Pairs of client and payer that are known to work: a payout of the pair has ended with an order. */
export interface ClientPairs {
  isKnown(pair: string): Promise<boolean>;
}

const MAX_REMEMBERED = 10_000;

/** A pair that is known stays known, so only the others are looked up again. */
export function temporalClientPairs(client: Client): ClientPairs {
  const known = new Set<string>();
  return {
    async isKnown(pair) {
      if (known.has(pair)) return true;
      const { runs } = await listRunPage(client, `WorkflowType = 'payout' AND PayoutPair = '${pair}'`, 1);
      if (runs.length === 0) return false;
      if (known.size >= MAX_REMEMBERED) known.clear();
      known.add(pair);
      return true;
    },
  };
}
