/** The rows of statements, read while they are iterated over: of the payouts that ended in a period, and of a batch. */
import { isDeepStrictEqual } from 'node:util';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import type { AddedRows, BatchState } from '../contract/batch.ts';
import { hasPaid, LISTED_OUTCOMES, OUTCOMES, type RowOutcome } from '../contract/codes.ts';
import { compact } from '../contract/compact.ts';
import { checkBody } from '../contract/fields.ts';
import {
  batchPartWorkflowId,
  payoutFollowUpWorkflowId,
  payoutOf,
  payoutWorkflowId,
} from '../contract/ids.ts';
import type { PayoutMemo } from '../contract/lists.ts';
import { type CheckedPayoutRequest, readStoredRequest } from '../contract/payout-request.ts';
import { type StatementFilter, type StatementRow, statementFilterSchema } from '../contract/statement.ts';
import { memoOfRequest } from '../domain/listed-payout.ts';
import { movedMoney } from '../domain/reconciliation.ts';
import { isoTime } from '../domain/time.ts';
import { type Clock, inParallel } from '../runtime/runtime.ts';
import { throwRetryable } from '../temporal/client-errors.ts';
import { readStartEvent } from '../temporal/histories.ts';
import { describedRun, type ListedRun, listRunPage } from '../temporal/visibility.ts';
import {
  FOLLOW_UPS_PER_QUERY,
  followUpFindings,
  isMeantFor,
  laterReturns,
  readableResult,
} from './ended-payouts.ts';
import { requireValid } from './errors.ts';
import { endedQuery, payoutMemoOf } from './lists.ts';

export type WithDeadline = <T>(call: () => Promise<T>) => Promise<T>;

export interface StatementReader {
  client: Client;
  environment: string | undefined;
  /** Wraps each read of a page or a payout with a deadline. */
  withDeadline?: WithDeadline | undefined;
}

const unlimited: WithDeadline = (call) => call();

/** The runs of a page wait in memory; their results are read as the rows are taken. */
const PAGE_SIZE = 1_000;

/** A payout that has ended may be missing from Temporal's lists for this long. */
export const LISTS_LAG_MS = 60_000;

/** Whether lists show every payout that ended before this time. */
export function isListed(to: string, clock: Clock): boolean {
  return Date.parse(to) <= clock.wallMs() - LISTS_LAG_MS;
}

/** The last payouts to end come first. Throws `InvalidPayoutRequestError`. */
export function periodRows(reader: StatementReader, filter: StatementFilter): AsyncGenerator<StatementRow> {
  return rowsOfPeriod(reader, endedQuery(requireValid(checkBody(statementFilterSchema, filter))));
}

async function* rowsOfPeriod(reader: StatementReader, query: string): AsyncGenerator<StatementRow> {
  const { client, environment, withDeadline = unlimited } = reader;
  let after: Uint8Array | undefined;
  do {
    const page = await withDeadline(() => listRunPage(client, query, PAGE_SIZE, after));
    yield* inSlices(reader, page.runs, async (run) => {
      const ref = payoutOf(run.workflowId);
      if (!ref || !(await isMeantFor(run, environment))) return undefined;
      const last = await describedRun(client, run.workflowId);
      // The money of a payout that was reset moved once.
      if (last && last.runId !== run.runId) return undefined;
      return endedRow(client, last ?? { ...run, firstRunId: run.runId }, ref);
    });
    after = page.next;
  } while (after);
}

/** Reads some rows at a time, then what their follow-ups have found. */
async function* inSlices<T>(
  { client, withDeadline = unlimited }: StatementReader,
  all: readonly T[],
  read: (one: T, at: number) => Promise<StatementRow | undefined>,
): AsyncGenerator<StatementRow> {
  for (let from = 0; from < all.length; from += FOLLOW_UPS_PER_QUERY) {
    const slice = Array.from(all.slice(from, from + FOLLOW_UPS_PER_QUERY).entries());
    const found = await inParallel(slice, ([at, one]) => withDeadline(() => read(one, from + at)));
    const rows = found.flatMap((row) => row ?? []);
    if (rows.length === 0) continue;
    // Without a start, it is a row of a batch that has no payout, or another caller's.
    const started = rows.filter(({ startedAt }) => startedAt !== undefined);
    const followUps = await withDeadline(() => followUpFindings(client, started.map(followUpOf)));
    for (const row of rows) yield withReturns(row, laterReturns(followUps.get(followUpOf(row))));
  }
}

/** What came back later counts as returned, as in lists. */
function withReturns(row: StatementRow, later: StatementRow['laterReturns']): StatementRow {
  const laterReturns = later.map(({ distributeId, target, seenAt }) => ({ distributeId, target, seenAt }));
  const back = new Set(later.map(({ distributeId }) => distributeId));
  if (back.size === 0 || row.unreadable) return { ...row, laterReturns };
  const splits = row.splits.map((one) => ({ ...one, refunded: one.refunded || back.has(one.distributeId) }));
  const { received: [received] = [], returned: [returned] = [] } = movedMoney({ splits });
  return compact({ ...row, received, returned, laterReturns });
}

function followUpOf({ app, partnerOrderId }: StatementRow): string {
  return payoutFollowUpWorkflowId(app, partnerOrderId);
}

type Ref = Pick<StatementRow, 'app' | 'partnerOrderId'>;
const NO_DETAILS = { debits: [], splits: [], laterReturns: [] };

/** `known`: its request and batch, if the caller knows them. */
async function endedRow(
  client: Client,
  run: ListedRun & { firstRunId: string },
  { app, partnerOrderId }: Ref,
  known?: PayoutMemo,
): Promise<StatementRow> {
  const memo = known ?? (await memoOrRequest(client, run));
  const { clientId, payerId, openId, beneficiary, accountEnd, batch, instructedAmount } = memo;
  const startedAt = isoTime(run.firstStartedMs);
  const endedAt = run.closedMs === undefined ? undefined : isoTime(run.closedMs);
  const result = await readableResult(client, run);
  const moved = result && movedMoney(result);
  const ids = { app, partnerOrderId, orderId: result?.orderId, clientId, payerId, openId };
  const about = { beneficiary, accountEnd, batch };
  const times = { startedAt, endedAt };
  // A payout whose splits have several currencies does not end.
  if (!moved || Object.values(moved).some(({ length }) => length > 1)) {
    const outcome = OUTCOMES.find((named) => named === run.attribute('PayoutOutcome'));
    return compact({
      ...{ ...ids, ...about, ...times, outcome, instructedAmount },
      ...{ unreadable: true as const, ...NO_DETAILS },
    });
  }
  const { outcome, reason, quote, metadata, debits, splits } = result;
  const { received: [received] = [], failed: [failed] = [], returned: [returned] = [] } = moved;
  // A column sums up to what was paid (H338).
  const paid = hasPaid(outcome) ? quote : undefined;
  const quoted = { instructedAmount, pay: paid?.pay, rate: paid?.exchangeRate, fee: paid?.fee };
  const sums = { received, failed, returned };
  return compact({
    ...{ ...ids, ...about, ...times, outcome, reason, ...quoted, ...sums, metadata },
    ...{ ...NO_DETAILS, debits, splits },
  });
}

/** Programs that start payouts without our memo leave them only in the request. */
async function memoOrRequest(client: Client, run: ListedRun): Promise<PayoutMemo> {
  const memo = await payoutMemoOf(run);
  if (memo.clientId !== undefined && memo.payerId !== undefined && memo.instructedAmount) return memo;
  const request = await requestOf(client, run).catch(throwRetryable);
  return request ? { ...memo, ...memoOfRequest(request) } : memo;
}

async function requestOf(
  client: Client,
  { workflowId, runId }: ListedRun,
): Promise<CheckedPayoutRequest | undefined> {
  const stored = readStoredRequest((await readStartEvent(client, workflowId, runId)).argument);
  return stored.ok ? stored.value : undefined;
}

interface Batch {
  app: string;
  batchId: string;
  parts: readonly AddedRows[];
  state: Pick<BatchState, 'phase' | 'rows'>;
}

/** In the order of the rows. Rows that were never added, or whose part was lost, are missing. */
export async function* batchRows(reader: StatementReader, batch: Batch): AsyncGenerator<StatementRow> {
  const listed = new Map(
    LISTED_OUTCOMES.flatMap((outcome) => batch.state.rows[outcome].map((at) => [at, outcome] as const)),
  );
  for (const part of [...batch.parts].sort((a, b) => a.offset - b.offset)) {
    const { client, withDeadline = unlimited } = reader;
    const requests = await withDeadline(() => requestsOf(client, batch, part));
    yield* inSlices(reader, requests, (request, at) =>
      batchRow(client, batch, request, listed.get(part.offset + at)),
    );
  }
}

const partSchema = z.object({ payouts: z.array(z.record(z.string(), z.unknown())) });

/** The first run of a part was started with all of its rows. */
export async function requestsOf(
  client: Client,
  { app, batchId }: Pick<Batch, 'app' | 'batchId'>,
  { offset, digest }: AddedRows,
): Promise<CheckedPayoutRequest[]> {
  const workflowId = batchPartWorkflowId(app, batchId, offset, digest);
  const { firstRunId = '' } = (await describedRun(client, workflowId)) ?? {};
  const { argument } = await readStartEvent(client, workflowId, firstRunId);
  const { payouts } = partSchema.parse(argument);
  // Programs that add rows without our client may leave the application to the batch (H369).
  return payouts.map((payout) => requireValid(readStoredRequest({ app, ...payout })));
}

/** `listed`: the outcome of a row that is no payout of the batch. */
async function batchRow(
  client: Client,
  { app, batchId, state }: Batch,
  request: CheckedPayoutRequest,
  listed: RowOutcome | undefined,
): Promise<StatementRow> {
  const { partnerOrderId, clientId, payerId, openId } = request;
  const known = { ...memoOfRequest(request), batch: batchId };
  const row = (outcome?: RowOutcome) => compact({ app, partnerOrderId, ...known, outcome, ...NO_DETAILS });
  if (listed !== undefined) return row(listed);
  const run = await describedRun(client, payoutWorkflowId(app, partnerOrderId));
  if (!run) return row(state.phase === 'DONE' ? 'notStarted' : undefined);
  const memo = await payoutMemoOf(run);
  const isOwn =
    memo.batch === batchId &&
    isDeepStrictEqual([memo.clientId, memo.payerId, memo.openId], [clientId, payerId, openId]);
  // The batch has not compared a row with the payout if it has not started the row, or not yet.
  if (!isOwn && !isDeepStrictEqual(await requestOf(client, run), request))
    return row(state.phase === 'DONE' ? 'notStarted' : 'conflict');
  // A payout that the row has joined counts in the statement of the batch that started it.
  const about = isOwn ? known : memoOfRequest(request);
  if (run.isCompleted) return endedRow(client, run, request, about);
  const startedAt = isoTime(run.firstStartedMs);
  return compact({ app, partnerOrderId, ...about, startedAt, ...NO_DETAILS });
}
