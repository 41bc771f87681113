/** Payouts as a file holds them: one, or a list. */

import { InvalidPayoutRequestError } from '../../client/invalid-request.ts';
import { checkPayoutRequest } from '../../contract/payout-request.ts';
import type { CheckedPayoutRequest } from '../../domain/payout.ts';
import { UsageError } from './answer.ts';

/** All are checked before anything is done with any. */
export function checkedRequests(bodies: unknown, file: string): CheckedPayoutRequest[] {
  if (!Array.isArray(bodies)) return [check(bodies, '')];
  // Nothing was paid, and a script would take it as done.
  if (bodies.length === 0) throw new UsageError(`${file} holds no payouts`);
  return bodies.map((body, row) => check(body, bodies.length > 1 ? `${row}.` : ''));
}

function check(body: unknown, prefix: string): CheckedPayoutRequest {
  const checked = checkPayoutRequest(body);
  if (checked.ok) return checked.value;
  throw new InvalidPayoutRequestError(
    checked.errors.map((error) => ({ ...error, path: prefix + error.path })),
  );
}
