/** Validates the content of a file: one payout, a list of payouts, or the request of a receiving account. */
import { InvalidPayoutRequestError, requireValid } from '../../client/invalid-request.ts';
import { checkPayoutRequest } from '../../contract/payout-request.ts';
import { checkReceivingAccount } from '../../contract/receiving-account.ts';
import { totalsByCurrency } from '../../domain/money.ts';
import type { CheckedPayoutRequest } from '../../domain/payout.ts';
import type { CheckedOpeningRequest } from '../../domain/receiving-account.ts';
import { UsageError } from './answer.ts';

/** Throws `UsageError` for an empty list: a script would take it for success, though nothing was paid. */
export function checkedRequests(content: unknown, file: string): CheckedPayoutRequest[] {
  if (!Array.isArray(content)) return [check(content, '')];
  if (content.length === 0) throw new UsageError(`${file} contains no payouts`);
  return content.map((body, row) => check(body, content.length > 1 ? `${row}.` : ''));
}

export function checkedOpening(content: unknown): CheckedOpeningRequest {
  return requireValid(checkReceivingAccount(content));
}

function check(body: unknown, prefix: string): CheckedPayoutRequest {
  const checked = checkPayoutRequest(body);
  if (checked.ok) return checked.value;
  throw new InvalidPayoutRequestError(
    checked.errors.map((error) => ({ ...error, path: prefix + error.path })),
  );
}

/** `pay 3 payouts (4800.00 CNY, 20.00 USD)`. */
export function paymentText(requests: readonly CheckedPayoutRequest[]): string {
  const totals = totalsByCurrency(requests.map(({ instructedAmount }) => instructedAmount));
  const sums = totals.map(({ amount, currency }) => `${amount} ${currency}`).join(', ');
  return `pay ${requests.length} ${requests.length === 1 ? 'payout' : 'payouts'} (${sums})`;
}
