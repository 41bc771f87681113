/** The permissions of a caller, for the HTTP API and the Nexus operation, and the payouts that require an approval. */

import { compareMoney, type Money } from '../contract/money.ts';
import type { ApprovalPolicy } from '../contract/rate-limit.ts';
import type { DailyLimits } from '../contract/workflows.ts';

export interface Permissions extends DailyLimits {
  /** The largest `instructedAmount` by its currency. A currency that isn't listed isn't allowed. */
  largestAmount: Readonly<Record<string, string>> | 'any';
  /** The scope: whose payouts and accounts. An absent list doesn't restrict. */
  clientIds?: readonly string[] | undefined;
  payerIds?: readonly string[] | undefined;
  openIds?: readonly string[] | undefined;
  /** How the ids begin that the caller chooses. */
  idPrefix?: string | undefined;
}

/** The ids in a request. An id that isn't known is undefined. */
export interface ScopedIds extends Partial<Record<(typeof OWN_IDS)[number], string>> {
  clientId?: string | undefined;
  payerId?: string | undefined;
  openId?: string | undefined;
}

const SCOPED_IDS = ['clientId', 'payerId', 'openId'] as const;
const OWN_IDS = ['partnerOrderId', 'batchId', 'requestId'] as const;

export interface Refusal {
  kind: 'outside-scope' | 'amount-too-large';
  /** Follows the name of who is refused, such as `this key`. */
  message: string;
}

/** Undefined if the lists contain the ids that `named` has a key for, and its own ids have the prefix. */
export function scopeRefusal(permissions: Permissions, named: ScopedIds): Refusal | undefined {
  for (const id of SCOPED_IDS) {
    const [allowed, value] = [permissions[`${id}s`], named[id]];
    if (allowed === undefined || !(id in named)) continue;
    if (value === undefined || !allowed.includes(value))
      return { kind: 'outside-scope', message: `does not include that ${id}` };
  }
  const { idPrefix = '' } = permissions;
  const other = OWN_IDS.find((id) => named[id]?.startsWith(idPrefix) === false);
  if (other === undefined) return undefined;
  return { kind: 'outside-scope', message: `does not include that ${other}: it must begin with ${idPrefix}` };
}

/** Whether the caller is limited to clients, payers, users or a prefix. */
export function isScoped({ clientIds, payerIds, openIds, idPrefix }: Permissions): boolean {
  return [clientIds, payerIds, openIds, idPrefix].some((limit) => limit !== undefined);
}

/** A list finds what begins with a prefix; a limit to clients, payers or users alone would read the rows of everyone. */
export function mayList(permissions: Permissions): boolean {
  return permissions.idPrefix !== undefined || !isScoped(permissions);
}

/** Whether the caller may cancel the batches that it lists: their rows may be of any client and payer. */
export function mayCancelAny({ clientIds, payerIds, openIds }: Permissions): boolean {
  return clientIds === undefined && payerIds === undefined && openIds === undefined;
}

/** Whether a caller who is limited otherwise may use any client, or any payer. */
export function usesAny(list: 'clientIds' | 'payerIds', permissions: Permissions): boolean {
  return permissions[list] === undefined && isScoped(permissions);
}

export function amountRefusal({ largestAmount }: Permissions, amount: Money): Refusal | undefined {
  if (largestAmount === 'any' || !exceeds(amount, largestAmount)) return undefined;
  const { currency } = amount;
  const largest = largestAmount[currency];
  const message = largest
    ? `allows at most ${largest} ${currency} for a payout`
    : `does not include payouts in ${currency}`;
  return { kind: 'amount-too-large', message };
}

interface Actor {
  name: string;
  /** For a signed-in user: the caller whose permissions the user has. */
  actsFor?: string | undefined;
}

/** The names of callers and users contain no slash. */
const SEPARATOR = '/';

/** `finance`, or `finance/olga` for a user, so that the rules for the caller apply to its users. */
export function starterName({ name, actsFor }: Actor): string {
  return actsFor === undefined ? name : `${actsFor}${SEPARATOR}${name}`;
}

/** The caller, and the user if there is one. */
export function namesOf(startedBy: string): string[] {
  return startedBy.split(SEPARATOR);
}

/**
 * Whether the actor started it: itself, a user of the caller, or the caller of one of its users. Two users of one caller are
 * two.
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

/** `startedBy`: the recorded name of the caller. Without one, the limits of every caller apply (H328). */
export function requiresApproval(
  { above, callers }: ApprovalPolicy,
  instructedAmount: Money,
  startedBy: string | undefined,
): boolean {
  const byName = new Map(Object.entries(callers));
  const starters =
    startedBy === undefined ? [...byName.values()] : namesOf(startedBy).map((name) => byName.get(name));
  return [above, ...starters].some((limits) => limits && exceeds(instructedAmount, limits));
}

/** Whether the amount is larger than that of its currency. A currency that isn't listed allows nothing. */
function exceeds(amount: Money, amounts: Readonly<Record<string, string>>): boolean {
  const { currency } = amount;
  const largest = new Map(Object.entries(amounts)).get(currency);
  return largest === undefined || compareMoney(amount, { currency, amount: largest }) > 0;
}
