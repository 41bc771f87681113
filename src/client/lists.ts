/** Lists payouts and batches from Temporal's visibility store, which lags by up to a few seconds. */
import { createHash } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { PayoutPhase } from '../contract/codes.ts';
import { compact } from '../contract/compact.ts';
import { checkBody } from '../contract/fields.ts';
import {
  ownIdOf,
  payoutBatchWorkflowId,
  payoutFollowUpWorkflowId,
  payoutWorkflowId,
} from '../contract/ids.ts';
import {
  type BatchFilter,
  type BatchPage,
  batchFilterSchema,
  type ListedBatch,
  type ListedPayout,
  MAX_PAGE_SIZE,
  type PageRequest,
  type PayoutFilter,
  type PayoutMemo,
  type PayoutPage,
  pageRequestSchema,
  payoutFilterSchema,
  payoutMemoSchema,
} from '../contract/lists.ts';
import { startFactsIn } from '../contract/memo.ts';
import { lessMoney } from '../contract/money.ts';
import type { StatementFilter } from '../contract/statement.ts';
import type { SearchKeys } from '../encryption/search-keys.ts';
import { inParallel } from '../runtime/runtime.ts';
import { isInvalidArgument } from '../temporal/client-errors.ts';
import { type ListedRun, listRunPage, quoteIds } from '../temporal/visibility.ts';
import { InvalidPayoutRequestError, requireValid } from './errors.ts';
import { acknowledgedRuns } from './follow-ups.ts';
import { returnedSums } from './returned-money.ts';
import { batchesCondition, searchConditions } from './search.ts';

/**
 * One call to Temporal, another one if ended payouts or follow-ups are flagged, and those of `returnedSums`. Flags that were
 * acknowledged no longer need attention. Throws `InvalidPayoutRequestError` for an invalid filter, limit or cursor, and if the filter needs keys.
 */
export async function payoutPage(
  client: Client,
  keys: SearchKeys | undefined,
  filter: PayoutFilter,
  page: PageRequest,
): Promise<PayoutPage> {
  const { runs, ...rest } = await runPage(client, payoutQuery(filter, keys), page);
  const acknowledging = acknowledgedRuns(client, runs);
  const [acknowledged, rows] = await Promise.all([acknowledging, listedPayouts(client, runs)]);
  const payouts = rows
    .map(({ run, row }) => ({ ...row, ...(acknowledged.has(run) && { needsAttention: false }) }))
    .filter(({ needsAttention }) => needsAttention || !filter.attention);
  return { payouts, ...rest };
}

/** A payout is started by the clock of another process than its batch. */
const CLOCKS_DIFFER_MS = 60_000;

/** In one call to Temporal, with their memos. */
export const MAX_LISTED = 1_000;

/**
 * The payouts that these batches have started, at most the first `MAX_LISTED`. Without search keys, among all payouts since
 * the earliest of the batches began.
 */
export async function payoutsOfBatches(
  client: Client,
  keys: SearchKeys | undefined,
  batches: readonly Pick<ListedBatch, 'app' | 'batchId' | 'startedAt'>[],
): Promise<{ payouts: ListedPayout[]; isCut: boolean }> {
  if (batches.length === 0) return { payouts: [], isCut: false };
  const ids = batches.map(({ batchId }) => batchId);
  const firstMs = Math.min(...batches.map(({ startedAt }) => Date.parse(startedAt)));
  const createdFrom = new Date(firstMs - CLOCKS_DIFFER_MS).toISOString();
  const apps = [...new Set(batches.map(({ app }) => app))];
  const query = all([
    "WorkflowType = 'payout'",
    ...sharedConditions({ apps, ...(!keys && { createdFrom }) }, payoutWorkflowId),
    keys && batchesCondition(keys, ids),
  ]);
  const { runs, next } = await listRunPage(client, query, MAX_LISTED);
  const payouts = await listedPayouts(client, runs);
  return {
    payouts: payouts.flatMap(({ row }) => (row.batch !== undefined && ids.includes(row.batch) ? [row] : [])),
    isCut: next !== undefined,
  };
}

const IDS_PER_QUERY = 100;

/** The payouts with these ids, as lists know them. */
export async function payoutsWithIds(
  client: Client,
  app: string,
  partnerOrderIds: readonly string[],
): Promise<ListedPayout[]> {
  const found: ListedPayout[] = [];
  for (let from = 0; from < partnerOrderIds.length; from += IDS_PER_QUERY) {
    const ids = partnerOrderIds.slice(from, from + IDS_PER_QUERY).map((id) => payoutWorkflowId(app, id));
    const query = all([
      "WorkflowType = 'payout'",
      ...sharedConditions({}),
      `WorkflowId IN (${quoteIds(ids)})`,
    ]);
    const { runs } = await listRunPage(client, query, MAX_LISTED);
    found.push(...(await listedPayouts(client, runs)).map(({ row }) => row));
  }
  return found;
}

/**
 * The open payouts in `phase`, of these applications or of all, in no order. Reads on until there are `MAX_LISTED` of
 * those that `visible` leaves.
 */
export async function openIn(
  client: Client,
  phase: PayoutPhase,
  apps: string[] | undefined,
  visible: (rows: ListedPayout[]) => ListedPayout[],
): Promise<{ payouts: ListedPayout[]; isCut: boolean }> {
  const query = `${payoutQuery({ phase, apps }, undefined)} AND ExecutionStatus = 'Running'`;
  const payouts: ListedPayout[] = [];
  let after: Uint8Array | undefined;
  do {
    const { runs, next } = await listRunPage(client, query, MAX_LISTED, after);
    payouts.push(...visible(await inParallel(runs, listedPayout)));
    after = next;
  } while (after !== undefined && payouts.length < MAX_LISTED);
  return { payouts, isCut: after !== undefined };
}

/** Empty if its key is unknown. */
export async function payoutMemoOf(run: ListedRun): Promise<PayoutMemo> {
  return listedIn(await run.memo().catch(() => ({})));
}

/** Empty if it has another form. */
export function listedIn(memo: Record<string, unknown>): PayoutMemo {
  const { received, failed } = memo;
  return payoutMemoSchema.safeParse(compact({ ...startFactsIn(memo), received, failed })).data ?? {};
}

/** One call to Temporal. Throws `InvalidPayoutRequestError` for an invalid filter, limit or cursor. */
export async function batchPage(client: Client, filter: BatchFilter, page: PageRequest): Promise<BatchPage> {
  const { runs, ...rest } = await runPage(client, batchQuery(filter), page);
  return { batches: runs.map(listedBatch), ...rest };
}

/** The rows of every page. Throws what `read` throws. */
export async function* allRows<Name extends string, Row>(
  name: Name,
  read: (page: PageRequest) => Promise<Record<Name, Row[]> & { nextCursor?: string }>,
): AsyncGenerator<Row> {
  let cursor: string | undefined;
  do {
    const page = await read({ limit: MAX_PAGE_SIZE, cursor });
    yield* page[name];
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

async function runPage(
  client: Client,
  query: string,
  page: PageRequest,
): Promise<{ runs: ListedRun[]; nextCursor?: string }> {
  const { limit, cursor } = requireValid(checkBody(pageRequestSchema, page));
  const after = cursor === undefined ? undefined : tokenOf(cursor, query);
  try {
    const { runs, next } = await listRunPage(client, query, limit, after);
    return { runs, ...(next && { nextCursor: cursorOf(next, query) }) };
  } catch (error) {
    // The query is valid, so Temporal rejects the token: it may be of another visibility store.
    if (after && isInvalidArgument(error)) throw invalidCursor();
    throw error;
  }
}

const DIGEST_BYTES = 12;

/** So that no cursor looks like an option of the command line. */
const PREFIX = 'p';

/** Opaque: Temporal's page token, and a digest of it and of the query, which recognizes all other text. */
function cursorOf(token: Uint8Array, query: string): string {
  return PREFIX + Buffer.concat([digestOf(token, query), token]).toString('base64url');
}

function tokenOf(cursor: string, query: string): Uint8Array {
  const bytes = Buffer.from(cursor.startsWith(PREFIX) ? cursor.slice(PREFIX.length) : '', 'base64url');
  const token = bytes.subarray(DIGEST_BYTES);
  if (token.length > 0 && bytes.subarray(0, DIGEST_BYTES).equals(digestOf(token, query))) return token;
  throw invalidCursor();
}

function digestOf(token: Uint8Array, query: string): Buffer {
  return createHash('sha256').update(query).update('\n').update(token).digest().subarray(0, DIGEST_BYTES);
}

function invalidCursor(): InvalidPayoutRequestError {
  const message = 'is not the nextCursor of a page with the same filters';
  return new InvalidPayoutRequestError([{ path: 'cursor', message }]);
}

/** The query contains only validated values, so nothing needs escaping. */
function payoutQuery(filter: PayoutFilter, keys: SearchKeys | undefined): string {
  const { phase, outcome, attention, endedFrom, endedTo, ...rest } = requireValid(
    checkBody(payoutFilterSchema, filter),
  );
  return all([
    // After the end of a payout, its follow-up has the attention flag.
    attention ? "WorkflowType IN ('payout', 'payoutFollowUp')" : "WorkflowType = 'payout'",
    ...sharedConditions(rest, payoutWorkflowId, ...(attention ? [payoutFollowUpWorkflowId] : [])),
    phase !== undefined && `PayoutPhase = '${phase}'`,
    outcome !== undefined && `PayoutOutcome = '${outcome}'`,
    attention && 'PayoutNeedsAttention = true',
    ...closedConditions(endedFrom, endedTo),
    ...searchConditions(keys, rest),
  ]);
}

function batchQuery(filter: BatchFilter): string {
  const { open, ...rest } = requireValid(checkBody(batchFilterSchema, filter));
  return all([
    "WorkflowType = 'payoutBatch'",
    ...sharedConditions(rest, payoutBatchWorkflowId),
    open !== undefined && `ExecutionStatus ${open ? '=' : '!='} 'Running'`,
  ]);
}

/** Finds each run that completed in the period. A payout that was reset has several. */
export function endedQuery({ from, to, ...rest }: StatementFilter): string {
  return all([
    "WorkflowType = 'payout' AND ExecutionStatus = 'Completed'",
    ...sharedConditions(rest, payoutWorkflowId),
    ...closedConditions(from, to),
  ]);
}

function closedConditions(from: string | undefined, to: string | undefined) {
  return [
    from !== undefined && `CloseTime >= '${new Date(from).toISOString()}'`,
    to !== undefined && `CloseTime < '${new Date(to).toISOString()}'`,
  ];
}

/** `workflowIds`: of the kinds of workflows that are listed. */
function sharedConditions(
  { app, apps, idPrefix, createdFrom, createdTo }: BatchFilter,
  ...workflowIds: ((app: string, id: string) => string)[]
) {
  const begins = (prefix: string) =>
    [app ?? apps ?? 'default']
      .flat()
      .flatMap((one) => workflowIds.map((idOf) => `WorkflowId STARTS_WITH '${idOf(one, prefix)}'`));
  return [
    // A workflow that continued as new is listed once, by its latest run.
    "ExecutionStatus != 'ContinuedAsNew'",
    app !== undefined && `PayoutApp = '${app}'`,
    apps !== undefined && `PayoutApp IN (${quoteIds(apps)})`,
    idPrefix !== undefined && `(${begins(idPrefix).join(' OR ')})`,
    createdFrom !== undefined && started('>=', createdFrom),
    createdTo !== undefined && started('<', createdTo),
  ];
}

/** By the first run, because a payout continues as new every few hours. */
function started(operator: '>=' | '<', time: string): string {
  const than = `${operator} '${new Date(time).toISOString()}'`;
  return `(PayoutStartedAt ${than} OR (PayoutStartedAt IS NULL AND StartTime ${than}))`;
}

function all(conditions: readonly (string | false | undefined)[]): string {
  return conditions.filter((part) => typeof part === 'string').join(' AND ');
}

/** What their memos tell, and what came back: money that did counts as returned, and no longer as received. */
export async function listedPayouts(
  client: Client,
  runs: readonly ListedRun[],
): Promise<{ run: ListedRun; row: ListedPayout }[]> {
  const [sums, rows] = await Promise.all([returnedSums(client, runs), inParallel(runs, listedPayout)]);
  return runs.flatMap((run, at) => {
    const [row, returned] = [rows[at], sums.get(run)];
    if (!row) return [];
    const { received } = row;
    if (!returned) return [{ run, row }];
    return [{ run, row: { ...row, ...(received && { received: lessMoney(received, returned) }), returned } }];
  });
}

async function listedPayout(run: ListedRun): Promise<ListedPayout> {
  const memo = await payoutMemoOf(run);
  const text = (name: string) => String(run.attribute(name) ?? '');
  const outcome = text('PayoutOutcome');
  // The memo has the sums at the end unless the whole amount arrived.
  const { instructedAmount } = memo;
  const isWhole = outcome === 'SUCCESS' && instructedAmount !== undefined;
  return {
    partnerOrderId: ownIdOf(run.workflowId),
    app: text('PayoutApp'),
    phase: run.type === 'payoutFollowUp' ? 'FOLLOW_UP' : text('PayoutPhase'),
    outcome,
    needsAttention: run.attribute('PayoutNeedsAttention') === true,
    orderId: text('PayoutOrderId'),
    auditStatus: text('PayoutAuditStatus'),
    startedAt: new Date(run.firstStartedMs).toISOString(),
    workflow: run.status,
    ...(isWhole && { received: instructedAmount }),
    ...memo,
  };
}

function listedBatch(run: ListedRun): ListedBatch {
  return {
    batchId: ownIdOf(run.workflowId),
    app: String(run.attribute('PayoutApp') ?? ''),
    startedAt: new Date(run.firstStartedMs).toISOString(),
    ...(run.closedMs !== undefined && { endedAt: new Date(run.closedMs).toISOString() }),
    workflow: run.status,
  };
}
