/** The activities of the daily report: a day's ended payouts, the open payouts, and what follow-ups found. */
import type { Client } from '@temporalio/client';
import {
  changesIn,
  FLAGGED_FOLLOW_UPS,
  FOLLOW_UPS_PER_QUERY,
  followUpFindings,
  isMeantFor,
  mergedFindings,
  readableResult,
} from '../../client/ended-payouts.ts';
import { endedQuery } from '../../client/lists.ts';
import type { WorkerConfig } from '../../config/config.ts';
import { OUTCOMES } from '../../contract/codes.ts';
import { payoutOf, payoutOfFollowUp } from '../../contract/ids.ts';
import { totalsByCurrency } from '../../contract/money.ts';
import type { AppReport, FollowUpChanges, ReportPart } from '../../contract/reconciliation.ts';
import {
  ageGroup,
  dayBounds,
  emptyAppReport,
  emptyReportPart,
  mergeReportParts,
  movedMoney,
} from '../../domain/reconciliation.ts';
import { type Clock, inParallel } from '../../runtime/runtime.ts';
import { describedRun, type ListedRun, listRunPage, withPacedLists } from '../../temporal/visibility.ts';
import { onlyHere } from '../shared/execution.ts';

const OPEN = "WorkflowType = 'payout' AND ExecutionStatus = 'Running'";

interface ReportPage {
  /** A worker of another environment refuses the page. */
  environment: string;
  day: string;
  /** The workflow's time, which is Temporal's clock. Unix milliseconds. */
  nowMs: number;
  /** The page token; undefined from the first page on. */
  after?: string | undefined;
}

interface ReportedPage extends ReportPart {
  /** Undefined after the last page. */
  next?: string;
}

/** They read only Temporal. */
export function reportActivities({ env }: WorkerConfig, unpaced: Client, clock: Clock) {
  const here = onlyHere(env.PAYMENTS_ENVIRONMENT, clock);
  const client = withPacedLists(unpaced, clock);
  return {
    /** Payouts that ended on the day. */
    reportEnded: (page: ReportPage) => here(page, () => reportEnded(client, page)),
    /** Payouts that are open now. */
    reportOpen: (page: ReportPage) =>
      here(page, () => reportPages(client, OPEN, page, rowsOf(openRow(page.nowMs)))),
    /** What follow-ups found on the day, by their memos. */
    reportChanged: (page: ReportPage) => here(page, () => reportChanged(client, page)),
  };
}

function reportEnded(client: Client, page: ReportPage): Promise<ReportedPage> {
  const { from, next: to } = boundsOf(page.day);
  return reportPages(
    client,
    endedQuery({ from, to }),
    page,
    rowsOf((run, app) => endedRow(client, run, app)),
  );
}

/** ISO 8601. */
type Day = ReturnType<typeof boundsOf>;

function boundsOf(day: string) {
  const { from = '', until = '', next = '' } = dayBounds(day) ?? {};
  return { from, until, next };
}

/** Counts only the last run of a payout that was reset or restarted, because its money moved once. */
async function endedRow(client: Client, run: ListedRun, app: string): Promise<AppReport[]> {
  const report = emptyAppReport(app);
  if (run.attribute('PayoutNeedsAttention') === true) report.endedFlagged = 1;
  const last = await describedRun(client, run.workflowId);
  if (last && last.runId !== run.runId) return [];
  const result = await readableResult(client, run);
  const outcome = result?.outcome ?? OUTCOMES.find((known) => known === run.attribute('PayoutOutcome'));
  if (result) Object.assign(report, movedMoney(result));
  else report.unreadable = 1;
  if (outcome) report.outcomes[outcome] = 1;
  return [report];
}

function openRow(nowMs: number): RowOf {
  return async (run, app) => {
    const report = emptyAppReport(app);
    report.open[ageGroup(nowMs - run.firstStartedMs)] = 1;
    if (run.attribute('PayoutNeedsAttention') === true) report.open.needingAttention = 1;
    return [report];
  };
}

/** A follow-up that saw something on the day was open on it, so those that closed before are not listed. */
function reportChanged(client: Client, page: ReportPage): Promise<ReportedPage> {
  const day = boundsOf(page.day);
  const query = `${FLAGGED_FOLLOW_UPS} AND (ExecutionStatus = 'Running' OR CloseTime >= '${day.from}')`;
  return reportPages(client, query, page, async (runs) => {
    const seen = await inParallel(runs, changesIn);
    const onDay = runs.filter((_run, at) => hasSeenOn(day, seen[at]));
    const parts: ReportPart[] = [];
    for (let at = 0; at < onDay.length; at += FOLLOW_UPS_PER_QUERY)
      parts.push(await partOf(client, onDay.slice(at, at + FOLLOW_UPS_PER_QUERY), day));
    return mergeReportParts(parts);
  });
}

/** Each follow-up counts once, with its newest run that saw something on the day. */
async function partOf(client: Client, runs: readonly ListedRun[], day: Day): Promise<ReportPart> {
  const all = await followUpFindings(
    client,
    runs.map(({ workflowId }) => workflowId),
  );
  const counted = runs.flatMap(({ workflowId, runId }) => {
    const newestFirst = all.get(workflowId) ?? [];
    const isCounted = newestFirst.find(({ seen }) => hasSeenOn(day, seen))?.run.runId === runId;
    return isCounted ? [changeOf(workflowId, mergedFindings(newestFirst), day)] : [];
  });
  return mergeReportParts(counted);
}

function hasSeenOn(day: Day, seen: FollowUpChanges | undefined): boolean {
  return !!seen && [...seen.returned, ...seen.differences, seen.notChecked].some((one) => isOf(day, one));
}

function isOf({ from, until }: Day, one: { seenAt: string } | undefined): boolean {
  return one !== undefined && one.seenAt >= from && one.seenAt <= until;
}

function changeOf(workflowId: string, seen: FollowUpChanges, day: Day): ReportPart {
  const payout = payoutOfFollowUp(workflowId);
  // The payout's result already includes the others.
  const later = seen.returned.filter((one) => !one.inResult && isOf(day, one));
  const returned = totalsByCurrency(later.map(({ target }) => target));
  const differences = seen.differences.filter((one) => isOf(day, one)).map(({ code }) => code);
  const changed = returned.length + differences.length > 0 ? 1 : 0;
  const notChecked = isOf(day, seen.notChecked) ? 1 : 0;
  if (!payout || changed + notChecked === 0) return emptyReportPart();
  return {
    apps: [{ ...emptyAppReport(payout.app), returned, changed, notChecked }],
    changes: changed ? [{ ...payout, returned, differences }] : [],
    totalChanges: changed,
  };
}

/** Temporal lists no more at once. */
const PAGE_SIZE = 1_000;
/** The pages of one call. Each call adds events and a sum of all applications to the history of the report. */
const MAX_PAGES = 10;

/** Reports some pages of a list. `partOf` returns what the runs of one page add. */
async function reportPages(
  client: Client,
  query: string,
  { environment, after }: ReportPage,
  partOf: (runs: ListedRun[]) => Promise<ReportPart>,
): Promise<ReportedPage> {
  let token = after === undefined ? undefined : Buffer.from(after, 'base64');
  let sum = emptyReportPart();
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const { runs, next } = await listRunPage(client, query, PAGE_SIZE, token);
    const meant = await inParallel(runs, (run) => isMeantFor(run, environment));
    sum = mergeReportParts([sum, await partOf(runs.filter((_run, at) => meant[at]))]);
    if (!next) return sum;
    token = Buffer.from(next);
  }
  return { ...sum, ...(token && { next: token.toString('base64') }) };
}

/** What one payout adds. */
type RowOf = (run: ListedRun, app: string) => Promise<AppReport[]>;

function rowsOf(rowOf: RowOf): (runs: readonly ListedRun[]) => Promise<ReportPart> {
  return async (runs) => {
    const rows = await inParallel(runs, async (run) => {
      const { app } = payoutOf(run.workflowId) ?? {};
      return app === undefined ? [] : rowOf(run, app);
    });
    return { ...emptyReportPart(), apps: rows.flat() };
  };
}
