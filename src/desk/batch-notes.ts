/** Warnings before a valid batch starts: likely repetitions, and the daily limits. */
import { type PayerFunds, type Shortfall, shortfalls } from '../client/funds.ts';
import { payoutsWithIds } from '../client/lists.ts';
import type { Caller } from '../config/callers.ts';
import { addMoney, compareMoney, totalsByCurrency } from '../contract/money.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import type { AllowanceState } from '../contract/workflows.ts';
import { hasDailyLimits, MAX_PAYOUTS_PER_DAY } from '../domain/daily-limits.ts';
import { dayOf } from '../domain/time.ts';
import { inParallel } from '../runtime/runtime.ts';
import { visibleRows } from '../service/permissions.ts';
import { unlessGone } from '../temporal/client-errors.ts';
import { differences } from './batch-rows.ts';
import { type Desk, ifKnown } from './context.ts';
import { type Html, html, isolated, maskedAccount, money, table } from './html.ts';

type Rows = readonly CheckedPayoutRequest[];

/** No more ids are looked up. */
const MAX_IDS = 2_000;
const MAX_WARNINGS = 20;

/** The numbers of the rows that pay the same amount to the same account of the same beneficiary, in groups. */
function similarRows(rows: Rows): number[][] {
  const groups = new Map<string, number[]>();
  for (const [at, { instructedAmount, receiver }] of rows.entries()) {
    const account = receiver.bankAccountNumber.replaceAll('-', '').toUpperCase();
    const name = receiver.bankAccountName.normalize('NFKC').toUpperCase();
    const key = JSON.stringify([name, account, instructedAmount.amount, instructedAmount.currency]);
    const group = groups.get(key);
    if (group) group.push(at);
    else groups.set(key, [at]);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}

/** Payouts that exist under the ids of the rows, as far as these were looked up. */
export interface Existing {
  /** The numbers of the rows, from 0. */
  rows: readonly number[];
  lookedUp: number;
}

/**
 * Finds the ids in the first rows that payouts already have, of those that the caller may see: whether another's id exists is
 * not the caller's to know (H355). Visibility lags by some seconds. Undefined if it can't be read.
 */
export async function existingIds(desk: Desk, caller: Caller, rows: Rows): Promise<Existing | undefined> {
  const some = rows.slice(0, MAX_IDS);
  const used = await ifKnown(usedIds(desk, caller, some));
  if (!used) return undefined;
  const at = [...some.keys()].filter((row) => used.has(some[row]?.partnerOrderId ?? ''));
  return { rows: at, lookedUp: some.length };
}

/** All rows of a batch are of one application. */
async function usedIds({ client, service }: Desk, caller: Caller, rows: Rows): Promise<ReadonlySet<string>> {
  const ids = rows.map(({ partnerOrderId }) => partnerOrderId);
  const found = await service.withTemporalDeadline(() =>
    payoutsWithIds(client, rows[0]?.app ?? 'default', ids),
  );
  // A start that failed as bad input leaves its ID free.
  const used = found.filter(({ workflow, outcome }) => workflow !== 'FAILED' || outcome !== '');
  const own = visibleRows(caller, used);
  return new Set(own.map(({ partnerOrderId }) => partnerOrderId));
}

export async function batchNotes(
  desk: Desk,
  caller: Caller,
  rows: Rows,
  { lines, existing }: { lines: readonly number[]; existing: Existing | undefined },
): Promise<Html> {
  const [use, funds] = await Promise.all([
    dailyUse(desk, caller, rows),
    desk.service.batchFunds(caller, rows),
  ]);
  return html`${shortfalls(funds).map(shortfallWarning)}${fundsTable(funds)}${use}${similarWarning(rows, lines)}${await usedWarning(desk, caller, rows, { lines, existing })}`;
}

/** Money may arrive before the rows are paid: the batch can start. */
function shortfallWarning({ payerId, available, needed }: Shortfall): Html {
  const about = BigInt(needed.amount).toLocaleString('en-US');
  return html`<p class="bad warning" role="alert">payer ${isolated(payerId)} has ${money(available)}; these rows need about ${about} ${needed.currency}.</p>`;
}

function fundsTable(funds: readonly PayerFunds[]): Html {
  const areRead = funds.every(({ quote }) => quote?.available);
  return html`${table({
    caption: 'Totals and balances, by payer',
    head: ['Payer', 'Payouts#', 'Total#', 'Available balance#', 'Quote of one row#'],
    rows: funds.map(({ payerId, payouts, total, quote }) => [
      payerId,
      payouts,
      money(total),
      quote?.available ? money(quote.available) : 'Unknown',
      quote && html`${money(quote.target)} for ${money(quote.pay)}`,
    ]),
  })}${!areRead && html`<p class="warning">Not every balance can be read now. The batch can start anyway.</p>`}`;
}

function similarWarning(rows: Rows, lines: readonly number[]): Html | undefined {
  const groups = similarRows(rows);
  if (groups.length === 0) return undefined;
  const items = groups.slice(0, MAX_WARNINGS).map((group) => {
    const row = rows[group[0] ?? 0];
    return (
      row &&
      html`<li>Lines ${linesOf(group, lines)}: ${money(row.instructedAmount)} to ${isolated(row.receiver.bankAccountName)}, account ${maskedAccount(row.receiver)}</li>`
    );
  });
  return html`<div class="warning" role="alert"><p>Rows look like each other: they pay the same amount to the same account. Each of them is paid.</p><ul>${items}</ul>${rest(groups.length)}</div>`;
}

/** So many of the payouts that exist are compared with their rows: each costs a read. */
const MAX_COMPARED = 100;

/** A row that equals its payout joins it; another one ends as a conflict. */
async function usedWarning(
  desk: Desk,
  caller: Caller,
  rows: Rows,
  { lines, existing }: { lines: readonly number[]; existing: Existing | undefined },
): Promise<Html | undefined> {
  if (!existing)
    return html`<p class="warning">Whether payouts with these IDs exist already cannot be read now, because Temporal does not respond.</p>`;
  const { rows: at, lookedUp } = existing;
  const compared = await inParallel(at.slice(0, MAX_COMPARED), (row) =>
    comparedWith(desk, caller, rows[row]),
  );
  const items = compared.flatMap((differing, index) => {
    if (differing?.length === 0) return [];
    const row = at[index] ?? 0;
    const what =
      differing?.map((one, number) => html`${number > 0 && '; '}${one}`) ?? 'another payout has this ID';
    return [html`<li>Line ${lines[row]}: ${isolated(rows[row]?.partnerOrderId)}: ${what}</li>`];
  });
  const same = compared.length - items.length;
  const uncompared = at.length - compared.length;
  return html`${
    at.length > 0 &&
    html`<div class="warning" role="alert"><p>${at.length} ${at.length === 1 ? 'ID exists' : 'IDs exist'} already: ${same} the same, ${items.length} ${items.length === 1 ? 'differs' : 'differ'}${uncompared > 0 && `, ${uncompared} not compared`}. A row that is the same as its payout joins it and pays nothing. A row that differs from it is not paid, and ends as a conflict.</p>${items.length > 0 && html`<ul>${items.slice(0, MAX_WARNINGS)}</ul>${rest(items.length)}`}</div>`
  }${lookedUp < rows.length && html`<p class="faint">Only the first ${lookedUp} IDs were looked up.</p>`}`;
}

/** What differs. Undefined if the caller may not see the payout, or it can't be read. */
async function comparedWith(
  { service }: Desk,
  caller: Caller,
  row: Rows[number] | undefined,
): Promise<readonly unknown[] | undefined> {
  if (!row) return undefined;
  const { app, partnerOrderId } = row;
  const start = await ifKnown(service.payoutStart(caller, { app, partnerOrderId }));
  return start && differences(row, start.request);
}

/** The first lines of a group that may be as long as the file. */
function linesOf(group: readonly number[], lines: readonly number[]): string {
  const shown = group.slice(0, MAX_WARNINGS).map((row) => lines[row]);
  return shown.join(', ') + (group.length > shown.length ? ` and ${group.length - shown.length} more` : '');
}

function rest(count: number): Html | undefined {
  return count > MAX_WARNINGS ? html`<p>And ${count - MAX_WARNINGS} more.</p>` : undefined;
}

/** Undefined for a caller without daily limits. */
async function dailyUse(desk: Desk, caller: Caller, rows: Rows): Promise<Html | undefined> {
  if (!hasDailyLimits(caller)) return undefined;
  const reserved = await reservedToday(desk, caller).catch(() => 'unknown' as const);
  if (reserved === 'unknown')
    return html`<p class="warning">What is left of the daily limit cannot be read now, because Temporal or a worker does not respond.</p>`;
  const uses = usesOf(caller, reserved, rows);
  const isExceeded = uses.some((use) => use.isExceeded);
  return html`${isExceeded && html`<p class="warning" role="alert">The batch exceeds a daily limit: it would not start, unless some of its payouts are reserved already.</p>`}
${table({
  caption: `Daily limits, ${reserved.day} (UTC)`,
  head: ['Limit', 'Reserved#', 'This batch adds at most#'],
  rows: uses.map(({ cells }) => cells),
})}`;
}

async function reservedToday({ service, runtime }: Desk, caller: Caller): Promise<AllowanceState> {
  const { allowances, withTemporalDeadline } = service;
  const name = caller.actsFor ?? caller.name;
  const state = await unlessGone(() => withTemporalDeadline(() => allowances.state(name)));
  const today = dayOf(runtime.clock.wallMs());
  // A day never begins again: a later one is that of Temporal's clock.
  return state && state.day >= today ? state : { day: today, count: 0, sums: [] };
}

function usesOf({ dailyCount, dailyAmount }: Caller, { count, sums }: AllowanceState, rows: Rows) {
  const limit = dailyCount ?? MAX_PAYOUTS_PER_DAY;
  const payouts = {
    cells: [limit, count, rows.length].map((payouts) => `${payouts} payouts`),
    isExceeded: count + rows.length > limit,
  };
  if (!dailyAmount) return [payouts];
  const amounts = totalsByCurrency(rows.map(({ instructedAmount }) => instructedAmount)).map((added) => {
    const { currency } = added;
    const most = { currency, amount: dailyAmount[currency] ?? '0.00' };
    const reserved = sums.find((sum) => sum.currency === currency) ?? { currency, amount: '0.00' };
    return {
      cells: [most, reserved, added].map(money),
      isExceeded: compareMoney(addMoney(reserved, added), most) > 0,
    };
  });
  return [payouts, ...amounts];
}
