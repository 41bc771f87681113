/** What a route throws to answer with a problem document. */
import type { FieldError } from '../../contract/payout-request.ts';

/** Thrown by a route: what the caller is told. */
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
  ) {
    super(detail);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
    this.fields = fields;
  }
}

/** A 400 that names every bad field. */
export function badFields(fields: readonly FieldError[]): Problem {
  return new Problem(400, 'these fields are not usable', undefined, fields);
}
