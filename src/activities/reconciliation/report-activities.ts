/** The activities of the daily report: a day's ended payouts, the open payouts, and what follow-ups found. */
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../config/config.ts';
import { OUTCOMES } from '../../contract/codes.ts';
import { payoutOf, payoutOfFollowUp } from '../../contract/ids.ts';
import { totalsByCurrency } from '../../contract/money.ts';
import { storedResultSchema } from '../../contract/payout.ts';
import {
  type AppReport,
  type FollowUpChanges,
  followUpChanges,
  type ReportPart,
} from '../../contract/reconciliation.ts';
import {
  ageGroup,
  dayBounds,
  emptyAppReport,
  emptyReportPart,
  mergeReportParts,
  movedMoney,
} from '../../domain/reconciliation.ts';
import { type Clock, inParallel } from '../../runtime/runtime.ts';
import { isRetryableTemporalError, unlessGone } from '../../temporal/client-errors.ts';
import {
  type ListedRun,
  listRunPage,
  listRunPages,
  quoteIds,
  withPacedLists,
} from '../../temporal/visibility.ts';
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
      here(page, () => reportPages(client, OPEN, page, rowsOf(openRow(client, page.nowMs)))),
    /** What follow-ups found on the day, by their memos. */
    reportChanged: (page: ReportPage) => here(page, () => reportChanged(client, page)),
  };
}

function reportEnded(client: Client, page: ReportPage): Promise<ReportedPage> {
  const { from, until } = boundsOf(page.day);
  const query = `WorkflowType = 'payout' AND ExecutionStatus = 'Completed' AND CloseTime BETWEEN '${from}' AND '${until}'`;
  return reportPages(
    client,
    query,
    page,
    rowsOf((run, app) => endedRow(client, run, app)),
  );
}

/** ISO 8601. */
type Day = ReturnType<typeof boundsOf>;

function boundsOf(day: string) {
  const { from = '', until = '' } = dayBounds(day) ?? {};
  return { from, until };
}

/** Counts only the last run of a payout that was reset or restarted, because its money moved once. */
async function endedRow(client: Client, run: ListedRun, app: string): Promise<AppReport[]> {
  const report = emptyAppReport(app);
  if (run.attribute('PayoutNeedsAttention') === true) report.endedFlagged = 1;
  try {
    const last = await client.workflow.getHandle(run.workflowId).describe();
    if (last.runId !== run.runId) return [];
    const ended: unknown = await client.workflow.getHandle(run.workflowId, run.runId).result();
    const result = storedResultSchema.parse(ended);
    Object.assign(report, movedMoney(result));
    report.outcomes[result.outcome] = 1;
  } catch (error) {
    if (isRetryableTemporalError(error)) throw error;
    report.unreadable = 1;
    const outcome = OUTCOMES.find((known) => known === run.attribute('PayoutOutcome'));
    if (outcome) report.outcomes[outcome] = 1;
  }
  return [report];
}

function openRow(client: Client, nowMs: number): RowOf {
  return async (run, app) => {
    const report = emptyAppReport(app);
    report.open[ageGroup(nowMs - (await payoutStartMs(client, run)))] = 1;
    if (run.attribute('PayoutNeedsAttention') === true) report.open.needingAttention = 1;
    return [report];
  };
}

/** The start of the first run, because an open payout continues as new every few hours. */
async function payoutStartMs(client: Client, { workflowId, runId, startedMs }: ListedRun): Promise<number> {
  const firstMs = await unlessGone(async () => {
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    const firstRunId = raw.workflowExecutionInfo?.firstRunId || runId;
    if (firstRunId === runId) return startedMs;
    const { startTime } = await client.workflow.getHandle(workflowId, firstRunId).describe();
    return startTime.getTime();
  });
  // Retention may have deleted it.
  return firstMs ?? startedMs;
}

const FLAGGED =
  "WorkflowType = 'payoutFollowUp' AND PayoutNeedsAttention = true AND ExecutionStatus != 'ContinuedAsNew'";
/** In one query for the runs of several follow-ups. */
const IDS_PER_QUERY = 100;

/** A follow-up that saw something on the day was open on it, so those that closed before are not listed. */
function reportChanged(client: Client, page: ReportPage): Promise<ReportedPage> {
  const day = boundsOf(page.day);
  const query = `${FLAGGED} AND (ExecutionStatus = 'Running' OR CloseTime >= '${day.from}')`;
  return reportPages(client, query, page, async (runs) => {
    const seen = await inParallel(runs, changesIn);
    const onDay = runs.filter((_run, at) => hasSeenOn(day, seen[at]));
    const parts: ReportPart[] = [];
    for (let at = 0; at < onDay.length; at += IDS_PER_QUERY)
      parts.push(await partOf(client, onDay.slice(at, at + IDS_PER_QUERY), day));
    return mergeReportParts(parts);
  });
}

/** Each follow-up counts once, with its newest run that saw something on the day. */
async function partOf(client: Client, runs: readonly ListedRun[], day: Day): Promise<ReportPart> {
  const all = new Map<string, { run: ListedRun; seen: FollowUpChanges }[]>();
  const ids = quoteIds([...new Set(runs.map(({ workflowId }) => workflowId))]);
  for await (const page of listRunPages(client, `${FLAGGED} AND WorkflowId IN (${ids})`, IDS_PER_QUERY))
    for (const run of page) {
      const seen = await changesIn(run);
      if (seen) all.set(run.workflowId, [...(all.get(run.workflowId) ?? []), { run, seen }]);
    }
  const counted = runs.flatMap(({ workflowId, runId }) => {
    const newestFirst = (all.get(workflowId) ?? []).sort((a, b) => b.run.startedMs - a.run.startedMs);
    const isCounted = newestFirst.find(({ seen }) => hasSeenOn(day, seen))?.run.runId === runId;
    return isCounted ? [changeOf(workflowId, merged(newestFirst.map(({ seen }) => seen)), day)] : [];
  });
  return mergeReportParts(counted);
}

async function changesIn(run: ListedRun): Promise<FollowUpChanges | undefined> {
  return followUpChanges.safeParse((await memoOf(run))['changes']).data;
}

function hasSeenOn(day: Day, seen: FollowUpChanges | undefined): boolean {
  return !!seen && [...seen.returned, ...seen.differences, seen.notChecked].some((one) => isOf(day, one));
}

function isOf({ from, until }: Day, one: { seenAt: string } | undefined): boolean {
  return one !== undefined && one.seenAt >= from && one.seenAt <= until;
}

/** A late notification starts another follow-up, which finds the same again. The first time counts. */
function merged(newestFirst: readonly FollowUpChanges[]): FollowUpChanges {
  const returned = newestFirst.flatMap((seen) => seen.returned);
  const differences = newestFirst.flatMap((seen) => seen.differences);
  return {
    returned: earliest(returned, ({ distributeId }) => distributeId),
    differences: earliest(differences, ({ code }) => code),
    // Only the latest run knows whether the last check got a response.
    notChecked: newestFirst[0]?.notChecked,
  };
}

function earliest<T extends { seenAt: string }>(all: readonly T[], keyOf: (one: T) => string): T[] {
  const kept = new Map<string, T>();
  for (const one of all) {
    const known = kept.get(keyOf(one));
    if (!known || one.seenAt < known.seenAt) kept.set(keyOf(one), one);
  }
  return [...kept.values()];
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

/** True if the memo names no other environment, or this process cannot read it. */
async function isMeantFor(run: ListedRun, environment: string): Promise<boolean> {
  const { environment: meant } = await memoOf(run);
  return typeof meant !== 'string' || meant === environment;
}

function memoOf(run: ListedRun): Promise<Record<string, unknown>> {
  return run.memo().catch(() => ({}));
}
