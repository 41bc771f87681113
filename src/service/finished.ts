/** Finished payouts as lists know them: their counts and their sums, without a call for each. */
import type { Client } from '@temporalio/client';
import { listedPayouts, MAX_LISTED } from '../client/lists.ts';
import { hasPaid, OUTCOMES, type PayoutOutcome } from '../contract/codes.ts';
import type { ListedPayout } from '../contract/lists.ts';
import type { Money } from '../contract/money.ts';
import { countRuns, listRunPage } from '../temporal/visibility.ts';

export type OutcomeCounts = ReadonlyMap<PayoutOutcome, number>;

export interface FinishedPayout extends Pick<ListedPayout, 'partnerOrderId' | 'clientId' | 'payerId'> {
  outcome: string;
  /** From the start of the latest run to its end. */
  tookMs: number;
  /** Without what was returned. */
  received?: Money | undefined;
  returned?: Money | undefined;
  lost?: Money | undefined;
}

/** The last payouts of an `endedQuery`, at most `MAX_LISTED`. */
export async function lastFinished(
  client: Client,
  query: string,
): Promise<{ payouts: FinishedPayout[]; isCut: boolean }> {
  const { runs, next } = await listRunPage(client, query, MAX_LISTED);
  const payouts = (await listedPayouts(client, runs)).map(({ run, row }) => {
    const { outcome, instructedAmount, received, returned, failed, ...ids } = row;
    // Only a payout that was paid is sure to have splits: an order may fail before it has any (H374).
    const lost = hasPaid(outcome) ? failed : instructedAmount;
    const tookMs = (run.closedMs ?? run.startedMs) - run.startedMs;
    return { ...ids, outcome, tookMs, received, returned, lost };
  });
  return { payouts, isCut: next !== undefined };
}

/** How many payouts of an `endedQuery` have each outcome. */
export async function countedByOutcome(client: Client, query: string): Promise<OutcomeCounts> {
  const counted = OUTCOMES.map(async (outcome) => {
    const count = await countRuns(client, `${query} AND PayoutOutcome = '${outcome}'`);
    return [outcome, count] as const;
  });
  return new Map(await Promise.all(counted));
}

export function countsOf(payouts: readonly FinishedPayout[]): OutcomeCounts {
  return new Map(
    OUTCOMES.map((outcome) => [outcome, payouts.filter((one) => one.outcome === outcome).length]),
  );
}
