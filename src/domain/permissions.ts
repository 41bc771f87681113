/** What a caller may pay, and for whom. The HTTP API and the Nexus operation apply the same rules. */
import type { DailyLimits } from './daily-limits.ts';
import { compareMoney, type Money } from './money.ts';

export interface Permissions extends DailyLimits {
  /** The largest `instructedAmount` by its currency. A currency that is not listed is not allowed. */
  largestAmount: Readonly<Record<string, string>> | 'any';
  /** The scope: whose payouts and accounts. An absent list does not restrict. */
  clientIds?: readonly string[] | undefined;
  payerIds?: readonly string[] | undefined;
  openIds?: readonly string[] | undefined;
}

/** The ids in a request. An id that is not known is undefined. */
export interface ScopedIds {
  clientId?: string;
  payerId?: string | undefined;
  openId?: string | undefined;
}

const SCOPES = [
  ['clientId', 'clientIds', 'client-not-allowed'],
  ['payerId', 'payerIds', 'payer-not-allowed'],
  ['openId', 'openIds', 'user-not-allowed'],
] as const;

export interface Refusal {
  kind: (typeof SCOPES)[number][2] | 'currency-not-allowed' | 'amount-too-large';
  /** Follows the name of who is refused, such as `this key`. */
  message: string;
}

/** Undefined if the lists contain the ids that `named` has a key for. */
export function scopeRefusal(permissions: Permissions, named: ScopedIds): Refusal | undefined {
  for (const [id, list, kind] of SCOPES) {
    const allowed = permissions[list];
    if (allowed === undefined || !(id in named)) continue;
    const value = named[id];
    if (value === undefined || !allowed.includes(value))
      return { kind, message: `does not include that ${id}` };
  }
  return undefined;
}

/** Whether the caller is limited to clients, payers or users. */
export function isScoped(permissions: Permissions): boolean {
  return SCOPES.some(([, list]) => permissions[list] !== undefined);
}

export function amountRefusal({ largestAmount }: Permissions, amount: Money): Refusal | undefined {
  if (largestAmount === 'any') return undefined;
  const { currency } = amount;
  const largest = largestAmount[currency];
  if (largest === undefined)
    return { kind: 'currency-not-allowed', message: `does not include payouts in ${currency}` };
  return compareMoney(amount, { currency, amount: largest }) > 0
    ? { kind: 'amount-too-large', message: `allows at most ${largest} ${currency} for a payout` }
    : undefined;
}
