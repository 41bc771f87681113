/** Validates the content of a file: one payout, a list of payouts, or the request of a receiving account. */

import type { BatchFile } from '../../batch-file/batch-file.ts';
import { InvalidPayoutRequestError, requireValid } from '../../client/invalid-request.ts';
import { checkBody } from '../../contract/fields.ts';
import { totalsByCurrency } from '../../contract/money.ts';
import { type CheckedPayoutRequest, payoutRequestSchema } from '../../contract/payout-request.ts';
import {
  type CheckedReceivingAccountRequest,
  checkReceivingAccount,
} from '../../contract/receiving-account.ts';

/** Throws `InvalidPayoutRequestError` for the first invalid payout. */
export async function checkedRequests(payouts: BatchFile): Promise<CheckedPayoutRequest[]> {
  const bodies: unknown[] = [];
  for await (const body of payouts) bodies.push(body);
  return bodies.map((body, row) => {
    const checked = checkBody(payoutRequestSchema, body);
    if (checked.ok) return checked.value;
    const { [row]: line } = payouts.lines;
    throw new InvalidPayoutRequestError(
      bodies.length === 1
        ? checked.errors
        : checked.errors.map(({ path, message }) => ({
            ...{ path: `${row}.${path}`, message },
            ...(line !== undefined && { line }),
          })),
    );
  });
}

export function checkedOpening(content: unknown): CheckedReceivingAccountRequest {
  return requireValid(checkReceivingAccount(content));
}

/** `pay 3 payouts (4800.00 CNY, 20.00 USD)`. */
export function paymentText(requests: readonly CheckedPayoutRequest[]): string {
  const totals = totalsByCurrency(requests.map(({ instructedAmount }) => instructedAmount));
  const sums = totals.map(({ amount, currency }) => `${amount} ${currency}`).join(', ');
  return `pay ${requests.length} ${requests.length === 1 ? 'payout' : 'payouts'} (${sums})`;
}
