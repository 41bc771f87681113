/**
 * Finds payouts whose workflow ended without an outcome (terminated, timed out, failed) and starts them again under
 * the same id, with what the run that sent was started with. The new run does not promise a fresh number, so it
 * confirms before anything else (H10).
 */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { failedAsBadInput } from '../../client/bad-input.ts';
import { PAYOUTS_TASK_QUEUE, payoutOf, payoutWorkflowId } from '../../contract/ids.ts';
import { checkPayoutRequest } from '../../contract/payout-request.ts';
import { restartDelayMs } from '../../domain/reconciliation.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { isGone } from '../../temporal/client-errors.ts';
import { type DecisiveRun, decisiveRun, VisibilityLagsError } from '../../temporal/decisive-run.ts';
import { environmentOf } from '../../temporal/run-environment.ts';
import { APP, PHASE } from '../../temporal/search-keys.ts';
import { readStartEvent } from '../../temporal/start-event.ts';
import { isStopped, STOPPED_STATUSES } from '../../temporal/stopped.ts';
import { isQuotable, type ListedRun, listRunPages, quoteIds } from '../../temporal/visibility.ts';
import { inParallel } from '../shared/in-parallel.ts';
import { unlessUnreadable } from './left-alone.ts';
import type { Adopted, LookFor } from './reconcile-types.ts';

export interface Adopter {
  client: Client;
  clock: Clock;
  environment: string;
  /** The applications that are served here. */
  apps: ReadonlySet<string>;
  reconcileEveryMs: number;
}

/** Each costs the service one question at once; at the default pause that is a third of the usual budget. */
const MOST_AT_ONCE = 200;
const PAGE = 100;
const STARTS_AT_ONCE = 8;

const STOPPED = `ExecutionStatus IN ${STOPPED_STATUSES}`;

const ORIGIN_IS_GONE =
  'may have sent a create: the history of that run is gone, and no other run shows what was asked for';
const REFUSED_AFTER_SEND = 'may have sent a create, and its request is refused as bad input here';

type Verdict = 'adopted' | 'waiting' | 'not-ours';

export async function adoptStopped(adopter: Adopter, { closedAfterMs }: LookFor): Promise<Adopted> {
  const found: Adopted = { adopted: 0, waiting: 0, leftAlone: [], more: false };
  const since = new Date(closedAfterMs).toISOString();
  const query = `WorkflowType = 'payout' AND ${STOPPED} AND CloseTime >= '${since}'`;
  for await (const runs of listRunPages(adopter.client, query, PAGE)) {
    if (found.adopted >= MOST_AT_ONCE) return { ...found, more: true };
    const stopped = await withoutSuccessor(adopter, runs);
    await inParallel(STARTS_AT_ONCE, stopped, async (workflowId) => {
      const verdict = await unlessUnreadable(() => adoptOne(adopter, workflowId));
      if (verdict === 'adopted' || verdict === 'waiting') found[verdict] += 1;
      else if (verdict !== 'not-ours') found.leftAlone.push({ workflowId, why: verdict.why });
    });
  }
  return found;
}

/** Most of them were started again, by an earlier reconciliation, a reset or a person: one query tells. */
async function withoutSuccessor({ client, apps }: Adopter, runs: readonly ListedRun[]): Promise<string[]> {
  const candidates = runs.filter(
    ({ workflowId }) => isQuotable(workflowId) && apps.has(payoutOf(workflowId)?.app ?? ''),
  );
  const ids = quoteIds([...new Set(candidates.map(({ workflowId }) => workflowId))]);
  if (ids === '') return [];
  const latest = new Map<string, number>();
  const query = `WorkflowType = 'payout' AND WorkflowId IN (${ids}) AND ExecutionStatus NOT IN ${STOPPED_STATUSES}`;
  for await (const others of listRunPages(client, query, PAGE))
    for (const { workflowId, startedMs } of others)
      latest.set(workflowId, Math.max(startedMs, latest.get(workflowId) ?? 0));
  const left = candidates.filter(({ workflowId, startedMs }) => startedMs >= (latest.get(workflowId) ?? 0));
  return [...new Set(left.map(({ workflowId }) => workflowId))];
}

/** Temporal's own word on one payout, for visibility may lag. */
async function adoptOne(adopter: Adopter, workflowId: string): Promise<Verdict | { why: string }> {
  const { client, clock, environment, reconcileEveryMs } = adopter;
  const { runId, status, closeTime } = await client.workflow.getHandle(workflowId).describe();
  if (!isStopped(status)) return 'not-ours';
  const isBadInput = status.name === 'FAILED' && (await failedAsBadInput(client, workflowId, runId));
  const counts = await counting(adopter, workflowId, { runId, isBadInput });
  if (counts === 'unknown') return 'waiting';
  if (counts === undefined || counts.saidNotCreated) return 'not-ours';
  const origin = await originOf(client, workflowId, counts);
  if (!origin) return { why: ORIGIN_IS_GONE };
  const { argument, memo } = origin;
  const meant = await environmentOf(client, { workflowId, runId: origin.runId }, memo);
  if (meant !== undefined && meant !== environment) return 'not-ours';
  const { count: stops } = await client.workflow.count(`WorkflowId = '${workflowId}' AND ${STOPPED}`);
  const closedMs = closeTime?.getTime() ?? 0;
  if (clock.wallMs() < closedMs + restartDelayMs(stops, reconcileEveryMs))
    return isBadInput && counts.sent ? { why: REFUSED_AFTER_SEND } : 'waiting';
  return startAgain(client, workflowId, argument, {
    ...memo,
    ...(meant !== undefined && { environment: meant }),
    ...(counts.sent && { createSent: true }),
    rejectDuplicate: false,
    stops,
  });
}

async function counting(
  { client, clock }: Adopter,
  workflowId: string,
  latest: { runId: string; isBadInput: boolean },
): Promise<DecisiveRun | undefined | 'unknown'> {
  try {
    return await decisiveRun(client, workflowId, latest, clock);
  } catch (error) {
    if (error instanceof VisibilityLagsError) return 'unknown';
    throw error;
  }
}

async function startAgain(
  client: Client,
  workflowId: string,
  argument: unknown,
  memo: Record<string, unknown>,
): Promise<Verdict> {
  const { app = '' } = payoutOf(workflowId) ?? {};
  try {
    await client.workflow.start('payout', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId,
      // Whoever was quicker has started it already.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      workflowIdConflictPolicy: 'FAIL',
      args: [argument],
      memo,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: APP, value: app },
        { key: PHASE, value: 'CHECKING' },
      ]),
      staticSummary: 'started again by the reconciliation, after its workflow was stopped',
    });
    return 'adopted';
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'not-ours';
    throw error;
  }
}

interface OriginRun {
  runId: string;
  argument: unknown;
  memo: Record<string, unknown>;
}

/**
 * The argument is that of the run that counts, and not that of whoever came later. Where its history is gone, any other
 * run that was started with a good request for this payout has to do; undefined where there is none.
 */
async function originOf(
  client: Client,
  workflowId: string,
  counts: DecisiveRun,
): Promise<OriginRun | undefined> {
  const own = await unlessGone(() => startOf(client, workflowId, counts.runId));
  if (own) return own;
  for await (const runs of listRunPages(client, `WorkflowId = '${workflowId}'`, PAGE))
    for (const { runId } of runs) {
      const start = await unlessGone(() => startOf(client, workflowId, runId));
      const request = checkPayoutRequest(start?.argument);
      if (request.ok && payoutWorkflowId(request.value.app, request.value.partnerOrderId) === workflowId)
        return start;
    }
  return undefined;
}

/** With the memo of its chain's first run: one that was continued or reset may hold less. */
async function startOf(client: Client, workflowId: string, runId: string): Promise<OriginRun> {
  const { argument, memo, firstRunId } = await readStartEvent(client, workflowId, runId);
  if (firstRunId === runId) return { runId, argument, memo };
  const first = await unlessGone(() => readStartEvent(client, workflowId, firstRunId));
  return { runId, argument, memo: { ...first?.memo, ...memo } };
}

async function unlessGone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
