/** The error class of the client library. A separate module, so that validation does not load Temporal. */
import type { FieldError } from '../contract/failures.ts';

/** Stable: callers may branch on them. `docs/reference.md` explains each. */
export type PayoutsErrorCode =
  | 'INVALID_PAYOUT_REQUEST'
  | 'CONFLICT'
  | 'NOT_ACCEPTED_NOW'
  | 'NOT_FOUND'
  | 'NO_USABLE_ANSWER'
  | 'STOPPED'
  | 'TOO_MANY_READS'
  | 'TEMPORAL_UNAVAILABLE';

const RETRYABLE: readonly PayoutsErrorCode[] = [
  'NO_USABLE_ANSWER',
  'STOPPED',
  'TOO_MANY_READS',
  'TEMPORAL_UNAVAILABLE',
];

/** Thrown by every call of the client library. `cause` is the error of Temporal's client, if there is one. */
export class PayoutsError extends Error {
  override readonly name: string = 'PayoutsError';
  readonly code: PayoutsErrorCode;
  /** Of bad input: every bad field. Otherwise empty. */
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
    return RETRYABLE.includes(this.code);
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

/** The update, or the call, is refused in the current state of the payout. */
export function isNotAccepted(error: unknown): error is PayoutsError {
  return error instanceof PayoutsError && error.code === 'NOT_ACCEPTED_NOW';
}

/** The id belongs to a payout, batch or request with another body, or to a batch of another caller. */
export function isConflict(error: unknown): error is PayoutsError {
  return error instanceof PayoutsError && error.code === 'CONFLICT';
}
