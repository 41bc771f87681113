/** Reports what follow-ups found on a day, from their memos. */
import type { Client } from '@temporalio/client';
import { payoutOfFollowUp } from '../../contract/ids.ts';
import { totalsByCurrency } from '../../contract/money.ts';
import {
  type AppReport,
  type ChangedPayout,
  type FollowUpChanges,
  followUpChanges,
  type ReportPart,
} from '../../contract/reconciliation.ts';
import { dayBounds, emptyAppReport, mergeReportParts } from '../../domain/reconciliation.ts';
import { inParallel } from '../../runtime/in-parallel.ts';
import { type ListedRun, listRunPages, quoteIds } from '../../temporal/visibility.ts';
import type { ReportedPage, ReportPage } from './reconciliation-types.ts';
import { memoOf, reportPages } from './report-pages.ts';

const FLAGGED =
  "WorkflowType = 'payoutFollowUp' AND PayoutNeedsAttention = true AND ExecutionStatus != 'ContinuedAsNew'";
/** In one query for the runs of several follow-ups. */
const IDS_PER_QUERY = 100;

/** A follow-up that saw something on the day was open on it, so those that closed before are not listed. */
export function reportChanged(client: Client, page: ReportPage): Promise<ReportedPage> {
  const { day } = page;
  const { from = '' } = dayBounds(day) ?? {};
  const query = `${FLAGGED} AND (ExecutionStatus = 'Running' OR CloseTime >= '${from}')`;
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
async function partOf(client: Client, runs: readonly ListedRun[], day: string): Promise<ReportPart> {
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
    return isCounted ? [{ workflowId, seen: merged(newestFirst.map(({ seen }) => seen)) }] : [];
  });
  const changes = counted.flatMap(({ workflowId, seen }) => changeOf(workflowId, seen, day));
  const unknown = counted.flatMap(({ workflowId, seen }) => notCheckedOf(workflowId, seen, day));
  return { apps: [...changes.map(appOf), ...unknown], changes, totalChanges: changes.length };
}

async function changesIn(run: ListedRun): Promise<FollowUpChanges | undefined> {
  return followUpChanges.safeParse((await memoOf(run))['changes']).data;
}

function hasSeenOn(day: string, seen: FollowUpChanges | undefined): boolean {
  if (!seen) return false;
  const { returned, differences, notChecked } = seen;
  return [...returned, ...differences, ...(notChecked ? [notChecked] : [])].some((one) => isOf(day, one));
}

/** A late notification starts another follow-up, which finds the same again. The first time counts. */
function merged(newestFirst: readonly FollowUpChanges[]): FollowUpChanges {
  return {
    returned: earliest(
      newestFirst.flatMap(({ returned }) => returned),
      ({ distributeId }) => distributeId,
    ),
    differences: earliest(
      newestFirst.flatMap(({ differences }) => differences),
      ({ code }) => code,
    ),
    // Only the latest run knows whether the last check got an answer.
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

function changeOf(workflowId: string, seen: FollowUpChanges, day: string): ChangedPayout[] {
  const payout = payoutOfFollowUp(workflowId);
  // The payout's result already includes the others.
  const later = seen.returned.filter((one) => !one.inResult && isOf(day, one));
  const returned = totalsByCurrency(later.map(({ target }) => target));
  const differences = seen.differences.filter((one) => isOf(day, one)).map(({ code }) => code);
  return payout && returned.length + differences.length > 0 ? [{ ...payout, returned, differences }] : [];
}

function notCheckedOf(workflowId: string, { notChecked }: FollowUpChanges, day: string): AppReport[] {
  const payout = payoutOfFollowUp(workflowId);
  if (!payout || !notChecked || !isOf(day, notChecked)) return [];
  return [{ ...emptyAppReport(payout.app), notChecked: 1 }];
}

function isOf(day: string, { seenAt }: { seenAt: string }): boolean {
  const { from = '', until = '' } = dayBounds(day) ?? {};
  return seenAt >= from && seenAt <= until;
}

function appOf({ app, returned }: ChangedPayout): AppReport {
  return { ...emptyAppReport(app), returned, changed: 1 };
}
