/** Who may pay what, and for whom, and which payouts require an approval. The HTTP API and the Nexus operation apply the same
 * rules. */

import { compareMoney, type Money } from '../contract/money.ts';
import type { ApprovalAbove, ApprovalPolicy } from '../contract/rate-limit.ts';
import type { DailyLimits } from '../contract/workflows.ts';

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

interface Actor {
  name: string;
  /** Of a person: the caller whose permissions the person has. */
  actsFor?: string | undefined;
}

/** The names of callers and people contain no slash. */
const SEPARATOR = '/';

/** `finance`, or `finance/olga` for a person, so that the rules for the caller apply to its people. */
export function starterName({ name, actsFor }: Actor): string {
  return actsFor === undefined ? name : `${actsFor}${SEPARATOR}${name}`;
}

/** The caller, and the person if there is one. */
export function namesOf(startedBy: string): string[] {
  return startedBy.split(SEPARATOR);
}

/**
 * Whether the actor started it: itself, a person with the caller's key, or a caller's key in the hands of one of its people.
 * Two people of one caller are two.
 */
export function isStarter({ name, actsFor }: Actor, startedBy: string | undefined): boolean {
  if (startedBy === undefined) return false;
  if (actsFor !== undefined && sameName(startedBy, actsFor)) return true;
  return [startedBy, ...namesOf(startedBy)].some((one) => sameName(one, name));
}

function sameName(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}

export const NO_APPROVAL_POLICY: ApprovalPolicy = { callers: {} };

/** `startedBy`: the recorded name of the caller, if there is one. */
export function requiresApproval(
  { above, callers }: ApprovalPolicy,
  instructedAmount: Money,
  startedBy: unknown,
): boolean {
  const byName = new Map(Object.entries(callers));
  const starters = typeof startedBy === 'string' ? namesOf(startedBy).map((name) => byName.get(name)) : [];
  return [above, ...starters].some((limits) => limits && exceeds(instructedAmount, limits));
}

function exceeds(amount: Money, above: ApprovalAbove): boolean {
  const { currency } = amount;
  const largest = new Map(Object.entries(above)).get(currency);
  return largest === undefined || compareMoney(amount, { currency, amount: largest }) > 0;
}
