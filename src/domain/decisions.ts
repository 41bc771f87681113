/** The decisions that people make about a payout, and when a decision repeats an earlier one. */
import { formatMoney, type Money } from './money.ts';

/** The terms of a quote that decide what it costs, and what it brings. */
export interface Terms {
  /** The amount that the payer account pays. */
  pay: Money;
  fee: Money;
  /** The amount that the beneficiary receives. */
  target: Money;
}

/** A percentage below ten: more is a typing error. */
export const TOLERANCE = /^\d(\.\d{1,2})?$/;
export const TOLERANCE_RULE =
  'must be a percentage below 10 with at most two decimals, as text, such as "0.5"';

/** A decision that the payout accepted. */
export interface MadeDecision {
  action: 'approve' | 'refuse' | 'cancel' | 'resolve';
  by: string;
  /** ISO 8601. */
  at: string;
  /** The note of an approval or a refusal, or the reason of a cancellation. */
  note?: string;
  /** Of an approval: the quote that the approver saw, and its terms. */
  lockRateId?: string;
  seen?: Terms;
  /** Of an approval: by how many percent more a later quote may cost, if the approver gave it. */
  tolerance?: string;
  /** Of an approval: the worst terms of a later quote that it covers. */
  covers?: Terms;
  /** Of a resolution: what the person found out, and what they chose. */
  created?: boolean;
  orderId?: string;
  tradeOrderId?: string;
  then?: 'end' | 'retry';
  /** Of a resolution: how many creates had been sent, or may have been. */
  sends?: number;
}

/** What an approval covers, for people. */
export function coveredText({ pay, fee }: Terms): string {
  return `at most ${formatMoney(pay)} with a fee of at most ${formatMoney(fee)}`;
}

/** More than people make. The result of a payout has all of them. */
const MAX_DECISIONS = 50;

export function withDecision(made: readonly MadeDecision[], decision: MadeDecision): MadeDecision[] {
  return [...made, decision].slice(-MAX_DECISIONS);
}

/**
 * Whether `decision`, the argument of an update, is the latest decision of its kind once more, by the same person. A
 * caller that lost the answer sends it again.
 */
export function repeatsLast(
  made: readonly MadeDecision[],
  action: MadeDecision['action'],
  decision: unknown,
): boolean {
  const last = made.findLast((one) => one.action === action);
  if (!last || typeof decision !== 'object' || decision === null) return false;
  const sent = new Map(Object.entries(decision));
  const isSame = (field: keyof MadeDecision) => sent.get(field) === last[field];
  const isSameIfSent = (field: keyof MadeDecision) => sent.get(field) === undefined || isSame(field);
  return (
    isSame('by') &&
    isSameIfSent('lockRateId') &&
    isSame('tolerance') &&
    isSame('created') &&
    isSame('orderId') &&
    isSame('tradeOrderId') &&
    isSame('then') &&
    isSameIfSent('sends')
  );
}
