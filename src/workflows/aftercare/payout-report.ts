/** The report of one day: by a Temporal Schedule for the day before, or for whoever asks. Reads Temporal only. */
import { ApplicationFailure, setCurrentDetails } from '@temporalio/workflow';
import type { ReportedPage, ReportPage } from '../../activities/aftercare/report-types.ts';
import { INVALID_PAYOUT_REQUEST } from '../../contract/failure-types.ts';
import {
  type DailyReport,
  dayBefore,
  dayBounds,
  MAX_CHANGES,
  mergeReportParts,
  type ReportPart,
} from '../../domain/daily-report.ts';
import { engineCalls } from './engine-calls.ts';

export async function payoutReport(request?: {
  environment?: string;
  day?: string | undefined;
}): Promise<DailyReport> {
  const { environment, day = dayBefore(Date.now()) } = request ?? {};
  if (typeof environment !== 'string')
    throw ApplicationFailure.nonRetryable('environment: is missing', INVALID_PAYOUT_REQUEST);
  if (!dayBounds(day))
    throw ApplicationFailure.nonRetryable('day: must be a date such as 2026-01-31', INVALID_PAYOUT_REQUEST);
  const question = { environment, day };
  const { apps, changes } = mergeReportParts([
    await pages(question, (page) => engineCalls.reportEnded(page)),
    await pages(question, (page) => engineCalls.reportOpen(page)),
    await pages(question, (page) => engineCalls.reportChanged(page)),
  ]);
  const listed = changes.slice(0, MAX_CHANGES);
  const madeAt = new Date(Date.now()).toISOString();
  setCurrentDetails(`The payouts of ${day}; ${changes.length} were found to be not as reported.`);
  return { environment, day, madeAt, apps, changes: listed, changesInAll: changes.length };
}

async function pages(
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
