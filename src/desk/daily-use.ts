/** What a batch would use of the daily limits of the caller, for its preview. */
import type { Caller } from '../config/callers.ts';
import { fromMinorUnits, type Money, toMinorUnits, totalsByCurrency } from '../contract/money.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import type { AllowanceState } from '../contract/workflows.ts';
import { dayOf, hasDailyLimits, MAX_PAYOUTS_PER_DAY } from '../domain/daily-limits.ts';
import { unlessGone } from '../temporal/client-errors.ts';
import type { Desk } from './context.ts';
import { type Html, html, table } from './html.ts';

/** In units that are whole: payouts, or hundredths of a currency. */
interface Use {
  limit: bigint;
  reserved: bigint;
  added: bigint;
  show(value: bigint): string;
}

/** Undefined for a caller without daily limits. */
export async function dailyUse(
  desk: Desk,
  caller: Caller,
  rows: readonly CheckedPayoutRequest[],
): Promise<Html | undefined> {
  if (!hasDailyLimits(caller)) return undefined;
  const reserved = await reservedToday(desk, caller).catch(() => 'unknown' as const);
  if (reserved === 'unknown')
    return html`<p class="warning">What is left of the daily limit cannot be read now, because Temporal or a worker does not respond.</p>`;
  const uses = usesOf(caller, reserved, rows);
  const isExceeded = uses.some((use) => use.reserved + use.added > use.limit);
  return html`${isExceeded && html`<p class="warning" role="alert">The batch exceeds a daily limit: it would not start, unless some of its payouts are reserved already.</p>`}
${table({
  caption: `Daily limits, ${reserved.day} (UTC)`,
  head: ['Limit', 'Reserved', 'This batch adds at most'],
  rows: uses.map((use) => [use.limit, use.reserved, use.added].map(use.show)),
})}`;
}

async function reservedToday({ clients, clock }: Desk, caller: Caller): Promise<AllowanceState> {
  const { allowances, withTemporalDeadline } = clients;
  const name = caller.actsFor ?? caller.name;
  const state = await unlessGone(() => withTemporalDeadline(() => allowances.state(name)));
  const today = dayOf(clock.wallMs());
  // A day never begins again: a later one is that of Temporal's clock.
  return state && state.day >= today ? state : { day: today, count: 0, sums: [] };
}

function usesOf(
  { dailyCount, dailyAmount }: Caller,
  { count, sums }: AllowanceState,
  rows: readonly CheckedPayoutRequest[],
): Use[] {
  const payouts = {
    limit: BigInt(dailyCount ?? MAX_PAYOUTS_PER_DAY),
    reserved: BigInt(count),
    added: BigInt(rows.length),
    show: (value: bigint) => `${value} payouts`,
  };
  if (!dailyAmount) return [payouts];
  const totals = totalsByCurrency(rows.map(({ instructedAmount }) => instructedAmount));
  const amounts = totals.map((total) => {
    const { currency } = total;
    return {
      limit: toMinorUnits(dailyAmount[currency] ?? '0'),
      reserved: hundredths(sums.find((sum) => sum.currency === currency)),
      added: hundredths(total),
      show: (value: bigint) => `${fromMinorUnits(value)} ${currency}`,
    };
  });
  return [payouts, ...amounts];
}

function hundredths(amount: Money | undefined): bigint {
  return amount ? toMinorUnits(amount.amount) : 0n;
}
