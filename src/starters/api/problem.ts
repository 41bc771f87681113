/** The error that a route throws to respond with a problem document (RFC 9457). */
import type { FieldError } from '../../contract/failures.ts';
import { PROBLEMS, type ProblemKind } from '../../contract/problems.ts';

interface ProblemExtras {
  retryAfterSeconds?: number;
  fields?: readonly FieldError[];
  cause?: unknown;
}

export class Problem extends Error {
  override readonly name = 'Problem';
  readonly kind: ProblemKind;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  readonly fields: readonly FieldError[];

  constructor(
    kind: ProblemKind,
    detail: string,
    { retryAfterSeconds, fields = [], cause }: ProblemExtras = {},
  ) {
    super(detail, { cause });
    this.kind = kind;
    this.status = PROBLEMS[kind].status;
    this.retryAfterSeconds = retryAfterSeconds;
    this.fields = fields;
  }
}

/** `stopped`: there may be more. */
export function invalidFields(fields: readonly FieldError[], { stopped = false } = {}): Problem {
  const detail = stopped
    ? 'these fields are invalid; later rows were not checked'
    : 'these fields are invalid';
  return new Problem('invalid-request', detail, { fields });
}

/** A 429. Nothing was done. */
export function tooManyRequests(detail: string, waitMs: number): Problem {
  return new Problem('too-many-requests', detail, retryAfter(waitMs));
}

export function retryAfter(waitMs: number): { retryAfterSeconds: number } {
  return { retryAfterSeconds: Math.ceil(waitMs / 1_000) };
}

const RETRY_AFTER_SECONDS = 5;

/** A 503. Every request can be repeated. */
export function unavailable(
  kind: 'temporal-unavailable' | 'too-many-waiting' | 'notification-not-delivered',
  detail: string,
  cause?: unknown,
): Problem {
  return new Problem(kind, detail, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause });
}
