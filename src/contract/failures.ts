/** The failure types that callers rely on, and the fields that a failure names. `docs/reference.md` explains each. */

/** A workflow fails with this type on bad input only. `details[0]` is `[{ path, message }]`, with every bad field. */
export const INVALID_PAYOUT_REQUEST = 'InvalidPayoutRequest';

/** An update was refused. The message gives the reason. */
export const NOT_ACCEPTED_NOW = 'NotAcceptedNow';

/** The Nexus operation `pay`: the `partnerOrderId` belongs to a payout with another body. */
export const PAYOUT_CONFLICT = 'PayoutConflict';

/** The Nexus operation `pay`: the endpoint doesn't serve this application, client, payer, user or amount. */
export const PAYOUT_NOT_ALLOWED = 'PayoutNotAllowed';

/** The update `reserve`: the payouts exceed a daily limit of the caller. `details[0]` may have `retryAfterMs`. */
export const DAILY_LIMIT_EXCEEDED = 'DailyLimitExceeded';

/** The Nexus operation `pay`: the payout's workflow no longer exists, so its outcome is unknown. */
export const PAYOUT_IS_GONE = 'PayoutIsGone';

/** The result of a query depends on history events whose workflow task hasn't started. A retry succeeds. */
export const STALE_WORKFLOW_CLOCK = 'StaleWorkflowClock';

/** A bad field: `path` such as `receiver.bankName`, and a `message`. */
export interface FieldError {
  path: string;
  message: string;
  /** The line at which the row of a file begins, from 1. */
  line?: number;
}

/** A row in a message: by its line in the file, or by its place in the list of payouts. */
export function rowName(at: number, lines: readonly number[] = []): string {
  return lines[at] === undefined ? `payouts[${at}]` : `line ${lines[at]}`;
}

/** Finds rows whose ID an earlier row has. Two rows of one line are told apart by their places. */
export function repeatCheck(
  lines: readonly number[] = [],
): (id: string, at: number) => FieldError | undefined {
  const rowOf = new Map<string, number>();
  return (id, at) => {
    const earlier = rowOf.get(id);
    if (earlier === undefined) {
      rowOf.set(id, at);
      return undefined;
    }
    const name = lines[earlier] === lines[at] ? rowName(earlier) : rowName(earlier, lines);
    return { path: 'partnerOrderId', message: `is the same as in ${name}` };
  };
}

/** The name of a field in a message. The row of a file is named by its line. */
export function fieldName({ path, line }: Pick<FieldError, 'path' | 'line'>): string {
  return line === undefined ? path : `line ${line}: ${path.replace(/^\d+\.?/, '')}`.trimEnd();
}
