/** Finished payouts as lists know them: their sums, without a call for each. */
import { listedPayout, MAX_LISTED } from '../client/lists.ts';
import { OUTCOMES, type PayoutOutcome } from '../contract/codes.ts';
import type { Money } from '../contract/money.ts';
import { inParallel } from '../runtime/runtime.ts';
import { countRuns, listRunPage } from '../temporal/visibility.ts';
import type { Desk } from './context.ts';
import { type Html, html, pill, table, totals } from './html.ts';

/** How many payouts of an `endedQuery` have each outcome. */
export async function countsOf(
  { client, service }: Desk,
  query: string,
): Promise<ReadonlyMap<PayoutOutcome, number>> {
  const counted = OUTCOMES.map(async (outcome) => {
    const ofOutcome = `${query} AND PayoutOutcome = '${outcome}'`;
    return [outcome, await service.withTemporalDeadline(() => countRuns(client, ofOutcome))] as const;
  });
  return new Map(await Promise.all(counted));
}

export type EndedPayout = Awaited<ReturnType<typeof lastEnded>>[number];

/** The last ones, at most `MAX_LISTED`. */
export async function lastEnded({ client, service }: Desk, query: string) {
  const { runs } = await service.withTemporalDeadline(() => listRunPage(client, query, MAX_LISTED));
  return inParallel(runs, async (run) => {
    const { outcome, instructedAmount, received, failed } = await listedPayout(run);
    // Without an order, the memo has no sums.
    const isLost = outcome === 'FAILED' || outcome === 'NOT_CREATED';
    const lost = failed ?? (isLost ? instructedAmount : undefined);
    return {
      outcome,
      /** From the start of the latest run to its end. */
      tookMs: (run.closedMs ?? run.startedMs) - run.startedMs,
      received,
      lost,
      isKnown: Boolean(received ?? lost),
    };
  });
}

export const receivedIn = (payouts: readonly EndedPayout[]) =>
  payouts.flatMap(({ received }) => received ?? []);
export const lostIn = (payouts: readonly EndedPayout[]) => payouts.flatMap(({ lost }) => lost ?? []);

export function amounts(payouts: readonly Money[]): Html | string {
  return payouts.length === 0 ? '–' : totals(payouts);
}

export function tile(name: string, amount: unknown, about: unknown): Html {
  return html`<section class="card"><h2>${name}</h2><p class="headline">${amount}</p><p class="faint">${about}</p></section>`;
}

interface ByOutcome {
  counts: ReadonlyMap<PayoutOutcome, number>;
  /** All, or the last `MAX_LISTED`. */
  payouts: readonly EndedPayout[];
  isCut: boolean;
  /** Tells where people find the amounts of all of them. */
  whole: string;
  /** More columns. */
  head?: readonly string[];
  cells?: (outcome: PayoutOutcome) => readonly unknown[];
}

export function outcomeTable({
  counts,
  payouts,
  isCut,
  whole,
  head = [],
  cells = () => [],
}: ByOutcome): Html {
  const unknown = payouts.filter(({ isKnown }) => !isKnown).length;
  return table({
    caption: html`Finished payouts by outcome${isCut && html`: amounts of the last ${MAX_LISTED}. ${whole}`}${unknown > 0 && html`, without ${unknown} whose amounts are unknown`}`,
    head: ['Outcome', 'Payouts#', 'Received#', 'Not received#', ...head],
    rows: Array.from(counts, ([outcome, count]) => {
      const those = payouts.filter((one) => one.outcome === outcome);
      return [pill(outcome), count, amounts(receivedIn(those)), amounts(lostIn(those)), ...cells(outcome)];
    }),
  });
}
