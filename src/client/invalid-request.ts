/** A separate module, so that validation does not load Temporal. */
import type { CheckResult, FieldError } from '../contract/payout-request.ts';

/** Thrown for bad input. Nothing was started. `fields` contains every bad field. */
export class InvalidPayoutRequestError extends Error {
  override readonly name = 'InvalidPayoutRequestError';
  readonly fields: FieldError[];
  constructor(fields: FieldError[]) {
    super(fields.map(({ path, message }) => `${path} ${message}`).join('; '));
    this.fields = fields;
  }
}

export function requireValid<T>(checked: CheckResult<T>): T {
  if (checked.ok) return checked.value;
  throw new InvalidPayoutRequestError(checked.errors);
}
