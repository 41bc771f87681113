/** Reports one day: any day on request, or the day before a Temporal Schedule was due. Reads only Temporal. */
import { ApplicationFailure, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { INVALID_PAYOUT_REQUEST } from '../../contract/failures.ts';
import type { DailyReport, ReportPart } from '../../contract/reconciliation.ts';
import { dayBounds, emptyReportPart, mergeReportParts } from '../../domain/reconciliation.ts';
import { DAY_MS, dayOf } from '../../domain/time.ts';
import { temporalCalls } from '../shared/calls.ts';
import { continueAsNewWhenLong, RunHistory } from '../shared/run-facts.ts';

const LISTS = ['reportEnded', 'reportOpen', 'reportChanged'] as const;

/** What earlier runs have read. */
interface Progress {
  nowMs: number;
  /** How many lists have been read to their end. */
  lists: number;
  /** The page token of the next one. */
  after?: string | undefined;
  sum: ReportPart;
}

export async function payoutReport(
  request?: { environment?: string; day?: string | undefined },
  progress: Progress = { nowMs: Date.now(), lists: 0, sum: emptyReportPart() },
): Promise<DailyReport> {
  const { environment, day = dayOf(dueMs() - DAY_MS) } = request ?? {};
  if (typeof environment !== 'string')
    throw ApplicationFailure.nonRetryable('environment: is missing', INVALID_PAYOUT_REQUEST);
  if (!dayBounds(day))
    throw ApplicationFailure.nonRetryable('day: must be a date such as 2026-01-31', INVALID_PAYOUT_REQUEST);
  const { nowMs } = progress;
  let { lists, after, sum } = progress;
  const history = new RunHistory();
  for (let list = LISTS[lists]; list; list = LISTS[lists]) {
    const page = { environment, day, nowMs, ...(after !== undefined && { after }) };
    const { next, ...part } = await temporalCalls[list](page);
    sum = mergeReportParts([sum, part]);
    after = next;
    if (next === undefined) lists += 1;
    await continueAsNewWhenLong<typeof payoutReport>(history, () => [
      { environment, day },
      { nowMs, lists, after, sum },
    ]);
  }
  const generatedAt = new Date(nowMs).toISOString();
  setCurrentDetails(`The payouts of ${day}. ${sum.totalChanges} differ from what was reported.`);
  return { environment, day, generatedAt, ...sum };
}

/** Temporal may start a scheduled report late, on another day. */
function dueMs(): number {
  const { searchAttributes, startTime } = workflowInfo();
  const scheduled = searchAttributes['TemporalScheduledStartTime']?.[0];
  // The server's payload has no type, so the SDK may return the text.
  const atMs = typeof scheduled === 'string' ? Date.parse(scheduled) : Number(scheduled);
  return Number.isNaN(atMs) ? startTime.getTime() : atMs;
}
