/** The rows of a batch on its page: one reading of them gives every number, so that none contradicts another. */
import type { BatchState } from '../contract/batch.ts';
import { PHASES, ROW_OUTCOMES } from '../contract/codes.ts';
import type { ListedPayout } from '../contract/lists.ts';
import { type Money, sumMoney, totalsByCurrency } from '../contract/money.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { mayList } from '../domain/permissions.ts';
import { inParallel } from '../runtime/runtime.ts';
import type { BatchRow, RowsOfBatch } from '../service/batch-rows.ts';
import { type Desk, ifKnown } from './context.ts';
import { HIDDEN } from './file-errors.ts';
import {
  beneficiaryOf,
  codeOf,
  groupedAmount,
  type Html,
  html,
  isolated,
  money,
  payoutLink,
  pill,
  table,
  totals,
} from './html.ts';
import type { Visit } from './identity.ts';

export type RowsRead = RowsOfBatch;

/** Undefined if they can't be read, are too many, or the caller can't list. */
export async function readRows(
  { service }: Desk,
  { caller }: Visit,
  state: BatchState,
): Promise<RowsRead | undefined> {
  return mayList(caller) ? ifKnown(service.batchRows(caller, state)) : undefined;
}

/** The state of a row, as its pill shows it. */
function stateOf({ outcome, payout }: BatchRow): string {
  return outcome ?? (payout && codeOf(payout)) ?? 'notStarted';
}

const isFinished = ({ outcome, payout }: BatchRow) => outcome !== undefined || (payout?.outcome ?? '') !== '';

/** What came back is no outcome of the workflow. */
const RETURNED = ['PARTLY_RETURNED', 'RETURNED'] as const;
export const FINISHED_STATES = [...ROW_OUTCOMES, ...RETURNED];
const isReturned = (code: string) => RETURNED.some((one) => one === code);

/** How many rows are in each state. Without the rows, as the batch last heard of them. */
export function countsIn({ phases, outcomes, done, phase }: BatchState, read: RowsRead | undefined) {
  if (!read) {
    // The batch knows the outcome of a payout a little later.
    const known = { ...phases, DONE: undefined, ...outcomes };
    return {
      counts: known,
      done: done - outcomes.notStarted,
      paid: outcomes.SUCCESS,
      areFinished: phase === 'DONE',
    };
  }
  const counts: Record<string, number> = {};
  for (const row of read.rows) counts[stateOf(row)] = (counts[stateOf(row)] ?? 0) + 1;
  const finished = read.rows.filter(isFinished).length;
  return { counts, done: finished, paid: counts['SUCCESS'] ?? 0, areFinished: finished === read.rows.length };
}

const orderedIn = (rows: readonly BatchRow[]) => rows.map(({ request }) => request.instructedAmount);
const receivedIn = (rows: readonly BatchRow[]) => rows.flatMap(({ payout }) => payout?.received ?? []);

export const returnedIn = (rows: readonly BatchRow[]) => rows.flatMap(({ payout }) => payout?.returned ?? []);

/** Rows that joined a payout of an earlier start pay nothing. */
export function splitJoined(
  rows: readonly BatchRow[],
  batchId: string,
): [own: BatchRow[], joined: BatchRow[]] {
  const isJoined = ({ payout }: BatchRow) => payout !== undefined && payout.batch !== batchId;
  return [rows.filter((row) => !isJoined(row)), rows.filter(isJoined)];
}

/** `12,250.00 of 22,725.00 CNY`, of each currency. What came back is not paid. */
export function paidOf(rows: readonly BatchRow[]): Html {
  return ofEach(orderedIn(rows), receivedIn(rows));
}

function ofEach(ordered: readonly Money[], received: readonly Money[]): Html {
  return html`${totalsByCurrency(ordered).map((total, at) => {
    const paid = sumMoney(
      total.currency,
      received.filter(({ currency }) => currency === total.currency),
    );
    return html`${at > 0 && ', '}<span class="amount">${groupedAmount(paid.amount)} of ${money(total)}</span>`;
  })}`;
}

/** The number and the sum of the rows in each state. */
export function stateChips(state: BatchState, read: RowsRead | undefined): Html | undefined {
  const { counts } = countsIn(state, read);
  const known: Readonly<Record<string, number | undefined>> = counts;
  const codes = [...PHASES, ...FINISHED_STATES].filter((code) => known[code]);
  if (codes.length === 0) return undefined;
  return html`<ul class="states" aria-label="Rows by state">${codes.map((code) => {
    const rows = read?.rows.filter((row) => stateOf(row) === code) ?? [];
    const sum =
      code === 'PARTIAL_SUCCESS' || code === 'PARTLY_RETURNED' ? paidOf(rows) : totals(orderedIn(rows));
    return html`<li>${isReturned(code) ? pill(code, 'bad') : pill(code)} <strong>${known[code]}</strong> ${sum}</li>`;
  })}</ul>`;
}

const MOST_TROUBLES = 50;

/** The rows that are no payout of the batch, or whose payout was stopped: nothing is paid for them. */
export async function troubles(
  desk: Desk,
  visit: Visit,
  rows: readonly BatchRow[],
): Promise<Html | undefined> {
  const found = rows.filter(({ outcome }) => outcome !== undefined);
  if (found.length === 0) return undefined;
  const shown = await inParallel(found.slice(0, MOST_TROUBLES), async (row) => ({
    ...row,
    why: await whyOf(desk, visit, row),
  }));
  const more = found.length - shown.length;
  const isOne = found.length === 1;
  const isStopped = found.some(({ outcome }) => outcome === 'stopped');
  return table({
    caption: html`${isOne ? "1 row didn't become a payout" : `${found.length} rows didn't become payouts`}${isStopped && `, or an administrator stopped ${isOne ? 'it' : 'them'}`}: ${totals(orderedIn(found))}${more > 0 && `. The first ${shown.length}; the results have all`}`,
    head: ['Payout', 'Row', 'Beneficiary', 'Amount#', 'Status', 'Why'],
    rows: shown.map(({ at, request, outcome, why }) => [
      html`<a href="${payoutLink(request)}">${request.partnerOrderId}</a>`,
      at + 1,
      beneficiaryOf(request.receiver),
      money(request.instructedAmount),
      pill(outcome),
      why,
    ]),
  });
}

const WHY: Readonly<Record<string, string>> = {
  invalid: 'The payout was not accepted. Correct the row, and start it in a new batch.',
  stopped: 'An administrator stopped it. Start the batch again with the same file.',
};

async function whyOf({ service }: Desk, { caller }: Visit, { outcome, request }: BatchRow): Promise<unknown> {
  if (outcome !== 'conflict') return WHY[outcome ?? ''];
  const { app, partnerOrderId } = request;
  const start = await ifKnown(service.payoutStart(caller, { app, partnerOrderId }));
  if (!start) return 'Another payout has this ID.';
  const differing = differences(request, start.request);
  return html`A payout with this ID exists already, and differs:<ul>${differing.map((one) => html`<li>${one}</li>`)}</ul>`;
}

const MOST_DIFFERENCES = 5;

/** `instructedAmount.amount: 999.00 in this row, 50.00 in the payout` */
export function differences(row: CheckedPayoutRequest, payout: CheckedPayoutRequest): unknown[] {
  const [here, there] = [flat(row), flat(payout)];
  const paths = [...new Set([...here.keys(), ...there.keys()])].filter(
    (path) => here.get(path) !== there.get(path),
  );
  const shown = paths.slice(0, MOST_DIFFERENCES).map((path) => {
    if (HIDDEN.includes(path)) return html`<code>${path}</code>`;
    const of = (values: ReadonlyMap<string, string>) => isolated(values.get(path)) ?? 'nothing';
    return html`<code>${path}</code>: ${of(here)} in this row, ${of(there)} in the payout`;
  });
  return paths.length > shown.length ? [...shown, `${paths.length - shown.length} more fields`] : shown;
}

/** Each field by its path. */
function flat(value: object, prefix = ''): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([name, one]: [string, unknown]): [string, string][] =>
      typeof one === 'object' && one !== null && !Array.isArray(one)
        ? [...flat(one, `${prefix}${name}.`)]
        : [[`${prefix}${name}`, typeof one === 'string' ? one : JSON.stringify(one)]],
    ),
  );
}

/** The payouts of the rows, in the order of the rows. */
export const payoutsIn = (rows: readonly BatchRow[]): ListedPayout[] =>
  rows.flatMap(({ payout }) => payout ?? []);
