/** Reports what follow-ups found on a day, from their memos. */
import type { Client } from '@temporalio/client';
import { type FollowUpChanges, followUpChanges } from '../../contract/follow-up-changes.ts';
import { payoutOfFollowUp } from '../../contract/ids.ts';

import {
  type AppReport,
  type ChangedPayout,
  dayBounds,
  emptyAppReport,
  mergeReportParts,
} from '../../domain/daily-report.ts';
import { totalsByCurrency } from '../../domain/money.ts';
import { type ListedRun, listRunPages } from '../../temporal/visibility.ts';
import type { ReportedPage, ReportPage } from './aftercare-types.ts';
import { isMeantFor, memoOf, PAGE_SIZE } from './report-pages.ts';

export async function reportChanged(client: Client, { environment, day }: ReportPage): Promise<ReportedPage> {
  const query =
    "WorkflowType = 'payoutFollowUp' AND PayoutNeedsAttention = true AND ExecutionStatus != 'ContinuedAsNew'";
  const found = new Map<string, FollowUpChanges>();
  for await (const runs of listRunPages(client, query, PAGE_SIZE))
    for (const run of runs) if (await isMeantFor(run, environment)) await collect(found, run);
  const changes = [...found].flatMap(([workflowId, seen]) => changeOf(workflowId, seen, day));
  const unknown = [...found].flatMap(([workflowId, seen]) => notCheckedOf(workflowId, seen, day));
  return mergeReportParts([{ apps: [...changes.map(appOf), ...unknown], changes }]);
}

/** A late notification starts another follow-up, which finds the same again. The first time counts. */
async function collect(found: Map<string, FollowUpChanges>, run: ListedRun): Promise<void> {
  const parsed = followUpChanges.safeParse((await memoOf(run))['changes']);
  if (!parsed.success) return;
  const known = found.get(run.workflowId) ?? { returned: [], differences: [] };
  found.set(run.workflowId, {
    returned: earliest([...known.returned, ...parsed.data.returned], ({ distributeId }) => distributeId),
    differences: earliest([...known.differences, ...parsed.data.differences], ({ code }) => code),
    // Only the latest run, which is listed first, knows whether the last check got an answer.
    notChecked: found.has(run.workflowId) ? known.notChecked : parsed.data.notChecked,
  });
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
