/** Which payouts of an application require an approval, whatever their request says. */
import { compareMoney, type Money } from './money.ts';
import { namesOf } from './starter.ts';

/** The largest amount without an approval, by currency. A currency that is not listed always requires one. */
export type ApprovalAbove = Readonly<Record<string, string>>;

export interface ApprovalPolicy {
  /** Absent: the application requires none. */
  above?: ApprovalAbove | undefined;
  /** By the name of the caller who started the payout. */
  callers: Readonly<Record<string, ApprovalAbove>>;
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
