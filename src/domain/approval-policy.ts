/** Which payouts require an approval, whatever their request says. */
import { compareMoney, type Money } from './money.ts';
import { namesOf } from './starter.ts';

/** The largest amount without an approval, by currency. A currency that is not listed always requires one. */
export type ApprovalAbove = Readonly<Record<string, string>>;

export interface ApprovalPolicy {
  /** By the name of the application, and by that of the caller who started the payout. */
  applications: ReadonlyMap<string, ApprovalAbove>;
  callers: ReadonlyMap<string, ApprovalAbove>;
}

export const NO_APPROVAL_POLICY: ApprovalPolicy = { applications: new Map(), callers: new Map() };

/** `startedBy`: the recorded name of the caller, if there is one. */
export function requiresApproval(
  { applications, callers }: ApprovalPolicy,
  { app, instructedAmount }: { app: string; instructedAmount: Money },
  startedBy: unknown,
): boolean {
  const starters = typeof startedBy === 'string' ? namesOf(startedBy).map((name) => callers.get(name)) : [];
  return [applications.get(app), ...starters].some((above) => above && exceeds(instructedAmount, above));
}

function exceeds(amount: Money, above: ApprovalAbove): boolean {
  const { currency } = amount;
  const largest = above[currency];
  return largest === undefined || compareMoney(amount, { currency, amount: largest }) > 0;
}
