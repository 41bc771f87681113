/** Finished payouts as lists know them: sums, tiles and a table. */
import { MAX_LISTED } from '../client/lists.ts';
import { hasPaid, type PayoutOutcome } from '../contract/codes.ts';
import type { Money } from '../contract/money.ts';
import type { FinishedPayout } from '../service/finished.ts';
import { type Html, html, pill, table, totals } from './html.ts';

export const receivedIn = (payouts: readonly FinishedPayout[]) =>
  payouts.flatMap(({ received }) => received ?? []);
export const returnedIn = (payouts: readonly FinishedPayout[]) =>
  payouts.flatMap(({ returned }) => returned ?? []);
export const lostIn = (payouts: readonly FinishedPayout[]) => payouts.flatMap(({ lost }) => lost ?? []);

export function amounts(payouts: readonly Money[]): Html | string {
  return payouts.length === 0 ? '–' : totals(payouts);
}

export function tile(name: string, amount: unknown, about: unknown): Html {
  return html`<section class="card"><h2>${name}</h2><p class="headline">${amount}</p><p class="faint">${about}</p></section>`;
}

interface ByOutcome {
  counts: ReadonlyMap<PayoutOutcome, number>;
  /** All, or the last `MAX_LISTED`. */
  payouts: readonly FinishedPayout[];
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
  const hasReturns = returnedIn(payouts).length > 0;
  const unknown = payouts.filter(
    ({ outcome, received, lost }) => !(hasPaid(outcome) ? received : lost),
  ).length;
  return table({
    caption: html`Finished payouts by outcome${isCut && html`: amounts of the last ${MAX_LISTED}. ${whole}`}${unknown > 0 && html`, without ${unknown} whose amounts are unknown`}`,
    head: [
      'Outcome',
      'Payouts#',
      'Received#',
      ...(hasReturns ? ['Returned#'] : []),
      'Not received#',
      ...head,
    ],
    rows: Array.from(counts, ([outcome, count]) => {
      const those = payouts.filter((one) => one.outcome === outcome);
      return [
        pill(outcome),
        count,
        amounts(receivedIn(those)),
        ...(hasReturns ? [amounts(returnedIn(those))] : []),
        amounts(lostIn(those)),
        ...cells(outcome),
      ];
    }),
  });
}
