/** A separate module, so that validation does not load Temporal. */
import { type FieldError, fieldName } from '../contract/failures.ts';
import type { CheckResult } from '../contract/fields.ts';
import { PayoutsError } from './payouts-error.ts';

/** Thrown for bad input. Nothing was started. `fields` contains every bad field, unless the check `stopped` before the end. */
export class InvalidPayoutRequestError extends PayoutsError {
  override readonly name = 'InvalidPayoutRequestError';
  /** The rows of a batch after those in `fields` were not checked. */
  readonly stopped: boolean;
  constructor(fields: FieldError[], { stopped = false }: { stopped?: boolean } = {}) {
    const message = fields.map((field) => `${fieldName(field)} ${field.message}`).join('; ');
    super('INVALID_PAYOUT_REQUEST', message, { fields });
    this.stopped = stopped;
  }
}

export function requireValid<T>(checked: CheckResult<T>): T {
  if (checked.ok) return checked.value;
  throw new InvalidPayoutRequestError(checked.errors);
}
