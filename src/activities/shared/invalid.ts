/** Bad input, told by field: the only way in which workflows of ours fail. */
import { ApplicationFailure } from '@temporalio/activity';
import { INVALID_PAYOUT_REQUEST } from '../../contract/failure-types.ts';
import type { FieldError } from '../../contract/payout-request.ts';

export const NOT_CONFIGURED: FieldError = { path: 'app', message: 'is not configured' };

export function invalid(errors: FieldError[], what = 'payout request'): ApplicationFailure {
  const message = errors.map((error) => `${error.path} ${error.message}`).join('; ');
  return ApplicationFailure.nonRetryable(
    `the ${what} is not valid: ${message}`,
    INVALID_PAYOUT_REQUEST,
    errors,
  );
}
