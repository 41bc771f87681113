/** Payouts as a file holds them: one, or a list. */
import { z } from 'zod';
import { checkPayoutRequest } from '../../contract/payout-request.ts';
import type { CheckedPayoutRequest } from '../../domain/payout.ts';
import { InvalidPayoutRequestError } from '../invalid-request.ts';

/** All are checked before anything is done with any. */
export function checkedRequests(content: unknown): CheckedPayoutRequest[] {
  const bodies = z.array(z.unknown()).min(1).or(z.unknown()).parse(content);
  if (!Array.isArray(bodies)) return [check(bodies, '')];
  return bodies.map((body, row) => check(body, bodies.length > 1 ? `${row}.` : ''));
}

function check(body: unknown, prefix: string): CheckedPayoutRequest {
  const checked = checkPayoutRequest(body);
  if (checked.ok) return checked.value;
  throw new InvalidPayoutRequestError(
    checked.errors.map((error) => ({ ...error, path: prefix + error.path })),
  );
}
