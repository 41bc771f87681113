/** What a batch adds up to, beside the balance of each payer, which only a quote tells. */
import { addMoney, compareDecimals, fromMinorUnits, type Money, toMinorUnits } from '../contract/money.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import type { QuotedPayout } from '../contract/workflows.ts';
import { type Clock, sleep } from '../runtime/runtime.ts';

/** The rows that one payer pays in one currency. */
export interface PayerFunds {
  payerId: string;
  payouts: number;
  total: Money;
  /** Of one of the rows. Absent if it cannot be read. */
  quote?: { available?: Money; pay: Money; target: Money };
}

/** Each costs a call to the provider. */
const MAX_QUOTES = 5;
/** A batch need not wait for a provider that is busy. */
const GIVE_UP_MS = 10_000;

/** `quote` may fail: then the balances that are missing cannot be read now. */
export async function fundsOf(
  rows: readonly CheckedPayoutRequest[],
  quote: (row: CheckedPayoutRequest) => Promise<QuotedPayout>,
  clock: Clock,
): Promise<PayerFunds[]> {
  const groups = new Map<string, { funds: PayerFunds; row: CheckedPayoutRequest }>();
  for (const row of rows) {
    const { app, openId, payerId, originCurrency, targetCurrency, instructedAmount } = row;
    const key = JSON.stringify([app, openId, payerId, originCurrency, targetCurrency]);
    const known = groups.get(key)?.funds;
    if (known) {
      known.payouts += 1;
      known.total = addMoney(known.total, instructedAmount);
    } else groups.set(key, { funds: { payerId, payouts: 1, total: instructedAmount }, row });
  }
  const all = [...groups.values()];
  const read = async () => {
    for (const { funds, row } of all.slice(0, MAX_QUOTES)) {
      const { available, pay, target } = (await quote(row)).quote;
      funds.quote = { ...(available && { available }), pay, target };
    }
  };
  const settled = new AbortController();
  const late = sleep(clock, GIVE_UP_MS, settled.signal);
  await Promise.race([read().catch(() => undefined), late]).finally(() => settled.abort());
  return all.map(({ funds }) => ({ ...funds }));
}

/** A balance that is too low for all rows of its payer, if they cost what a quote says. */
export interface Shortfall {
  payerId: string;
  available: Money;
  /** In whole units, rounded up: later quotes differ. */
  needed: Money;
}

export function shortfalls(funds: readonly PayerFunds[]): Shortfall[] {
  const payers = new Map<string, { payerId: string; available: Money; needed: bigint }>();
  for (const { payerId, total, quote } of funds) {
    const { available, pay, target } = quote ?? {};
    if (available?.currency !== pay?.currency || !available || !pay || !target) continue;
    const key = JSON.stringify([payerId, pay.currency]);
    const { needed } = payers.get(key) ?? { needed: 0n };
    payers.set(key, { payerId, available, needed: needed + costOf(total, { pay, target }) });
  }
  return [...payers.values()].flatMap(({ payerId, available, needed }) => {
    const { currency } = available;
    if (compareDecimals(fromMinorUnits(needed), available.amount) <= 0) return [];
    return [{ payerId, available, needed: { currency, amount: String((needed + 99n) / 100n) } }];
  });
}

/** In hundredths of the payer's currency, rounded up. */
function costOf(total: Money, { pay, target }: { pay: Money; target: Money }): bigint {
  const quoted = toMinorUnits(target.amount);
  const cost = toMinorUnits(total.amount) * toMinorUnits(pay.amount);
  return quoted === 0n ? 0n : (cost + quoted - 1n) / quoted;
}
