/** A separate module, so that validation does not load Temporal. */
import type { CheckResult, FieldError } from '../contract/payout-request.ts';

/** Thrown for bad input. Nothing was started. `fields` contains every bad field, unless the check `stopped` before the end. */
export class InvalidPayoutRequestError extends Error {
  override readonly name = 'InvalidPayoutRequestError';
  readonly fields: FieldError[];
  /** The rows of a batch after those in `fields` were not checked. */
  readonly stopped: boolean;
  constructor(fields: FieldError[], { stopped = false }: { stopped?: boolean } = {}) {
    super(fields.map(({ path, message }) => `${path} ${message}`).join('; '));
    this.fields = fields;
    this.stopped = stopped;
  }
}

export function requireValid<T>(checked: CheckResult<T>): T {
  if (checked.ok) return checked.value;
  throw new InvalidPayoutRequestError(checked.errors);
}
