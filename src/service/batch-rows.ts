/** The rows of a batch with their payouts, for its page: its own, and those that it joined. */
import { isDeepStrictEqual } from 'node:util';
import type { Client } from '@temporalio/client';
import type { Batches } from '../client/batches.ts';
import { ConflictError } from '../client/errors.ts';
import { MAX_LISTED, payoutsWithIds } from '../client/lists.ts';
import type { Payouts } from '../client/payouts.ts';
import { SharedReads } from '../client/shared-reads.ts';
import { LISTS_LAG_MS, type WithDeadline } from '../client/statements.ts';
import type { BatchState } from '../contract/batch.ts';
import { LISTED_OUTCOMES, type RowOutcome } from '../contract/codes.ts';
import { compact } from '../contract/compact.ts';
import type { ListedPayout } from '../contract/lists.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { memoOfRequest } from '../domain/listed-payout.ts';
import { type Clock, inParallel } from '../runtime/runtime.ts';
import { unlessGone } from '../temporal/client-errors.ts';
import { STARTED_AT } from '../temporal/namespace.ts';

/** Rows don't change, and the page of a batch is loaded every few seconds. */
const FRESH_MS = 30_000;

/** `at`: from 0. `outcome`: of a row that is no payout of the batch, or whose payout has no outcome. */
export interface BatchRow {
  at: number;
  request: CheckedPayoutRequest;
  payout: ListedPayout | undefined;
  outcome: RowOutcome | undefined;
}

export interface RowsOfBatch {
  rows: BatchRow[];
  /** The batch finished so long ago that lists know its payouts. */
  isSettled: boolean;
}

interface BatchRowsOptions {
  client: Client;
  batches: Batches;
  payouts: Pick<Payouts, 'startDetails'>;
  clock: Clock;
  withDeadline: WithDeadline;
}

type Listed = { payouts: readonly ListedPayout[]; isCut: boolean };

export class BatchRows {
  private readonly options: BatchRowsOptions;
  private readonly requests: SharedReads<Map<number, CheckedPayoutRequest>>;
  private readonly starts: SharedReads<CheckedPayoutRequest | undefined>;

  constructor(options: BatchRowsOptions) {
    this.options = options;
    const fresh = { freshMs: FRESH_MS, clock: options.clock };
    this.requests = new SharedReads(fresh);
    this.starts = new SharedReads(fresh);
  }

  /** `listed`: the payouts that the batch has started, for its start. Undefined if the batch has too many rows. */
  async of(
    state: BatchState,
    listed: (startedAt: string) => Promise<Listed>,
  ): Promise<RowsOfBatch | undefined> {
    const { app, batchId, count, added } = state;
    if (count > MAX_LISTED) return undefined;
    const { client, batches, clock, withDeadline } = this.options;
    const { startTime, closeTime, typedSearchAttributes } = await withDeadline(() =>
      batches.handle({ app, batchId }).describe(),
    );
    const startedAt = (typedSearchAttributes.get(STARTED_AT) ?? startTime).toISOString();
    const [requests, { payouts: own, isCut }] = await Promise.all([
      this.requests.read(`${app}/${batchId}/${startedAt}/${added}`, () => batches.requests({ app, batchId })),
      listed(startedAt),
    ]);
    const known = byId(own.filter((one) => one.app === app));
    const outcomes = new Map(
      LISTED_OUTCOMES.flatMap((outcome) => state.rows[outcome].map((at) => [at, outcome])),
    );
    const rows = Array.from(requests, ([at, request]) => ({ at, request, outcome: outcomes.get(at) }));
    const others = rows
      .filter((one) => one.outcome === undefined && !known.has(one.request.partnerOrderId))
      .map(({ request }) => request);
    // Without search keys, the list is that of all payouts since the batch began.
    if (state.joined > 0 || isCut) {
      const ids = others.map(({ partnerOrderId }) => partnerOrderId);
      const found = byId(await withDeadline(() => payoutsWithIds(client, app, ids)));
      // The batch tells of a conflict later.
      await inParallel(others, async (request) => {
        const payout = found.get(request.partnerOrderId);
        if (payout && (await this.isJoined(payout, request))) known.set(request.partnerOrderId, payout);
      });
    }
    return {
      rows: rows.map((one) => ({
        ...one,
        payout: one.outcome === 'conflict' ? undefined : known.get(one.request.partnerOrderId),
      })),
      isSettled: closeTime !== undefined && clock.wallMs() - closeTime.getTime() > LISTS_LAG_MS,
    };
  }

  /** Only the start of a payout of another program tells what it is about (H368). */
  private async isJoined(payout: ListedPayout, request: CheckedPayoutRequest): Promise<boolean> {
    if (payout.clientId !== undefined) return looksLike(payout, request);
    const { app, partnerOrderId, startedAt } = payout;
    const started = await this.starts.read(`${app}/${partnerOrderId}/${startedAt}`, () =>
      this.startOf(payout),
    );
    return isDeepStrictEqual(started, request);
  }

  /** Undefined if it's gone, or no payout request. */
  private async startOf(payout: ListedPayout): Promise<CheckedPayoutRequest | undefined> {
    const { payouts, withDeadline } = this.options;
    try {
      return (await unlessGone(() => withDeadline(() => payouts.startDetails(payout))))?.request;
    } catch (error) {
      if (error instanceof ConflictError) return undefined;
      throw error;
    }
  }
}

/** The first run of a list is the latest. */
function byId(payouts: readonly ListedPayout[]): Map<string, ListedPayout> {
  return new Map(payouts.map((one) => [one.partnerOrderId, one] as const).reverse());
}

function looksLike(payout: ListedPayout, request: CheckedPayoutRequest): boolean {
  const { metadata: _, ...ids } = memoOfRequest(request);
  const { clientId, payerId, openId, instructedAmount, beneficiary, accountEnd } = payout;
  return isDeepStrictEqual(
    ids,
    compact({ clientId, payerId, openId, instructedAmount, beneficiary, accountEnd }),
  );
}
