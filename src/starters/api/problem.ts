/** The error that a route throws to respond with a problem document (RFC 9457). */
import type { FieldError } from '../../contract/payout-request.ts';

export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  readonly fields: readonly FieldError[];

  constructor(
    status: number,
    detail: string,
    retryAfterSeconds?: number,
    fields: readonly FieldError[] = [],
    options?: ErrorOptions,
  ) {
    super(detail, options);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
    this.fields = fields;
  }
}

/** `stopped`: there may be more. */
export function invalidFields(fields: readonly FieldError[], { stopped = false } = {}): Problem {
  const detail = stopped
    ? 'these fields are invalid; later rows were not checked'
    : 'these fields are invalid';
  return new Problem(400, detail, undefined, fields);
}

/** Whether the request was executed is unknown, and every request can be repeated. */
export function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem(503, detail, 5, [], { cause });
}
