/** Reads ended payouts from their closed workflows, for the daily report and for statements. */
import type { Client } from '@temporalio/client';
import type { z } from 'zod';
import { startFactsIn } from '../contract/memo.ts';
import { storedResultSchema } from '../contract/payout.ts';
import { type FollowUpChanges, followUpChanges } from '../contract/reconciliation.ts';
import { isoTime } from '../domain/time.ts';
import { throwRetryable } from '../temporal/client-errors.ts';
import type { WorkflowRun } from '../temporal/histories.ts';
import { type ListedRun, listRunPages, quoteIds } from '../temporal/visibility.ts';

type StoredResult = z.output<typeof storedResultSchema>;

/** Undefined if it cannot be read: then a retry would not help. */
export async function readableResult(
  client: Client,
  { workflowId, runId }: WorkflowRun,
): Promise<StoredResult | undefined> {
  const ended: unknown = await client.workflow.getHandle(workflowId, runId).result().catch(throwRetryable);
  return storedResultSchema.safeParse(ended).data;
}

/** Several environments may share a namespace. True if the memo names no other one, or this process cannot read it. */
export async function isMeantFor(run: ListedRun, environment: string | undefined): Promise<boolean> {
  const { environment: meant } = startFactsIn(await memoOf(run));
  return environment === undefined || typeof meant !== 'string' || meant === environment;
}

function memoOf(run: ListedRun): Promise<Record<string, unknown>> {
  return run.memo().catch(() => ({}));
}

/** Follow-ups that have found something. */
export const FLAGGED_FOLLOW_UPS =
  "WorkflowType = 'payoutFollowUp' AND PayoutNeedsAttention = true AND ExecutionStatus != 'ContinuedAsNew'";
/** In one query by their ids. */
export const FOLLOW_UPS_PER_QUERY = 100;
const MOST_PER_PAGE = 1_000;

interface Finding {
  run: ListedRun;
  seen: FollowUpChanges;
}

/**
 * What the runs of these follow-ups have found, by workflow id, the newest first. `sinceMs`: none of them began before, so
 * that one query finds those of any number of payouts.
 */
export async function followUpFindings(
  client: Client,
  workflowIds: readonly string[],
  sinceMs = 0,
): Promise<Map<string, Finding[]>> {
  const all = new Map<string, Finding[]>();
  if (workflowIds.length === 0) return all;
  const asked = new Set(workflowIds);
  const isPage = asked.size <= FOLLOW_UPS_PER_QUERY;
  const which = isPage ? `WorkflowId IN (${quoteIds([...asked])})` : `StartTime >= '${isoTime(sinceMs)}'`;
  const query = `${FLAGGED_FOLLOW_UPS} AND ${which}`;
  for await (const page of listRunPages(client, query, isPage ? FOLLOW_UPS_PER_QUERY : MOST_PER_PAGE))
    for (const run of page) {
      const seen = asked.has(run.workflowId) && (await changesIn(run));
      if (seen) all.set(run.workflowId, [...(all.get(run.workflowId) ?? []), { run, seen }]);
    }
  for (const found of all.values()) found.sort((a, b) => b.run.startedMs - a.run.startedMs);
  return all;
}

export async function changesIn(run: ListedRun): Promise<FollowUpChanges | undefined> {
  const memo = await run.ownMemo().catch(() => undefined);
  return followUpChanges.safeParse(memo?.['changes']).data;
}

/** A late notification starts another follow-up, which finds the same again. The first time counts. */
export function mergedFindings(newestFirst: readonly Finding[]): FollowUpChanges {
  const returned = newestFirst.flatMap(({ seen }) => seen.returned);
  const differences = newestFirst.flatMap(({ seen }) => seen.differences);
  return {
    returned: earliest(returned, ({ distributeId }) => distributeId),
    differences: earliest(differences, ({ code }) => code),
    // Only the latest run knows whether the last check got a response.
    notChecked: newestFirst[0]?.seen.notChecked,
  };
}

/** Payments that came back after the payout had reported its result. */
export function laterReturns(newestFirst: readonly Finding[] = []): FollowUpChanges['returned'] {
  return mergedFindings(newestFirst).returned.filter(({ inResult }) => !inResult);
}

function earliest<T extends { seenAt: string }>(all: readonly T[], keyOf: (one: T) => string): T[] {
  const kept = new Map<string, T>();
  for (const one of all) {
    const known = kept.get(keyOf(one));
    if (!known || one.seenAt < known.seenAt) kept.set(keyOf(one), one);
  }
  return [...kept.values()];
}
