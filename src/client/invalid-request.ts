/** On its own, so that whoever only checks a request loads nothing of Temporal. */
import type { FieldError } from '../contract/payout-request.ts';

/** Thrown before anything is started; `fields` names every bad field. */
export class InvalidPayoutRequestError extends Error {
  override readonly name = 'InvalidPayoutRequestError';
  readonly fields: FieldError[];
  constructor(fields: FieldError[]) {
    super(fields.map(({ path, message }) => `${path} ${message}`).join('; '));
    this.fields = fields;
  }
}
