/** Reports one day: any day on request, or the day before a Temporal Schedule was due. Reads only Temporal. */
import { ApplicationFailure, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { ReportedPage, ReportPage } from '../../activities/aftercare/aftercare-types.ts';
import { INVALID_PAYOUT_REQUEST } from '../../contract/failure-types.ts';
import {
  type DailyReport,
  dayBefore,
  dayBounds,
  MAX_CHANGES,
  mergeReportParts,
  type ReportPart,
} from '../../domain/daily-report.ts';
import { temporalCalls } from '../shared/calls.ts';

export async function payoutReport(request?: {
  environment?: string;
  day?: string | undefined;
}): Promise<DailyReport> {
  const nowMs = Date.now();
  const { environment, day = dayBefore(dueMs()) } = request ?? {};
  if (typeof environment !== 'string')
    throw ApplicationFailure.nonRetryable('environment: is missing', INVALID_PAYOUT_REQUEST);
  if (!dayBounds(day))
    throw ApplicationFailure.nonRetryable('day: must be a date such as 2026-01-31', INVALID_PAYOUT_REQUEST);
  const question = { environment, day, nowMs };
  const { apps, changes } = mergeReportParts([
    await readPages(question, (page) => temporalCalls.reportEnded(page)),
    await readPages(question, (page) => temporalCalls.reportOpen(page)),
    await readPages(question, (page) => temporalCalls.reportChanged(page)),
  ]);
  const listed = changes.slice(0, MAX_CHANGES);
  const generatedAt = new Date(nowMs).toISOString();
  setCurrentDetails(`The payouts of ${day}. ${changes.length} differ from what was reported.`);
  return { environment, day, generatedAt, apps, changes: listed, totalChanges: changes.length };
}

/** Temporal may start a scheduled report late, on another day. */
function dueMs(): number {
  const { searchAttributes, startTime } = workflowInfo();
  const scheduled = searchAttributes['TemporalScheduledStartTime']?.[0];
  // The server's payload has no type, so the SDK may return the text.
  const atMs = typeof scheduled === 'string' ? Date.parse(scheduled) : Number(scheduled);
  return Number.isNaN(atMs) ? startTime.getTime() : atMs;
}

async function readPages(
  question: ReportPage,
  read: (page: ReportPage) => Promise<ReportedPage>,
): Promise<ReportPart> {
  let sum: ReportPart = { apps: [], changes: [] };
  let after: string | undefined;
  do {
    const page: ReportedPage = await read({ ...question, ...(after !== undefined && { after }) });
    sum = mergeReportParts([sum, page]);
    after = page.next;
  } while (after !== undefined);
  return sum;
}
