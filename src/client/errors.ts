/** The errors of the client library. Loads nothing of Temporal, so that validation is fast. */
import { ERRORS, type PayoutsErrorCode } from '../contract/errors.ts';
import { type FieldError, fieldName } from '../contract/failures.ts';
import type { CheckResult } from '../contract/fields.ts';

/** Thrown by every call of the client library. `cause` is the error of Temporal's client, if there is one. */
export class PayoutsError extends Error {
  override readonly name: string = 'PayoutsError';
  readonly code: PayoutsErrorCode;
  /** Names every bad field of bad input. Otherwise empty. */
  readonly fields: FieldError[];

  constructor(
    code: PayoutsErrorCode,
    message: string,
    { fields = [], cause }: { fields?: FieldError[]; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.fields = fields;
  }

  /** Whether the same call may succeed later. A refusal stays one. */
  get isRetryable(): boolean {
    return ERRORS[this.code].isRetryable === true;
  }
}

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

/** Leases, endpoints and limits are those of one environment. Throws `InvalidPayoutRequestError` without it. */
export function requireEnvironment(environment: string | undefined): string {
  if (environment !== undefined) return environment;
  throw new InvalidPayoutRequestError([
    { path: 'environment', message: 'is missing: set PAYMENTS_ENVIRONMENT' },
  ]);
}

/** Thrown if the id belongs to another body, to other rows or to another caller's batch. Nothing was started or changed. */
export class ConflictError extends PayoutsError {
  override readonly name = 'ConflictError';
  constructor(message: string) {
    super('CONFLICT', message);
  }
}

/** Thrown for a decision about what has ended. Nothing was changed. */
export class EndedError extends PayoutsError {
  override readonly name = 'EndedError';

  /** Without `outcome`, the workflow has ended in another way, or its result cannot be read. */
  constructor(what: 'payout' | 'batch' | 'request', outcome?: string) {
    super(
      'NOT_ACCEPTED_NOW',
      outcome === undefined ? `the workflow of this ${what} has ended` : `this ${what} has ended: ${outcome}`,
    );
  }
}

/** Thrown if too many reads are waiting. Nothing was queried. */
export class TooManyReadsError extends PayoutsError {
  override readonly name = 'TooManyReadsError';
  constructor() {
    super('TOO_MANY_READS', 'too many status reads are waiting for a worker');
  }
}
