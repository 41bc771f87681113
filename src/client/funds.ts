/** What a batch adds up to, beside the balance of each payer, which only a quote tells. */
import { addMoney, type Money } from '../contract/money.ts';
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
