/** The error that becomes a problem document (RFC 9457), and the problems of all other errors. */
import { DailyLimitError } from '../client/allowances.ts';
import { AuthorizationError } from '../client/authorizations.ts';
import { EndedError, InvalidPayoutRequestError, PayoutsError } from '../client/errors.ts';
import { translatedError } from '../client/translated.ts';
import { ERRORS } from '../contract/errors.ts';
import { type FieldError, fieldName } from '../contract/failures.ts';
import { PROBLEMS, type ProblemKind } from '../contract/problems.ts';
import { isInvalidArgument } from '../temporal/client-errors.ts';

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

/** In `detail`. All of them are in `errors`. */
const NAMED_FIELDS = 3;

/** `stopped`: there may be more. */
export function invalidFields(fields: readonly FieldError[], { stopped = false } = {}): Problem {
  const named = fields
    .slice(0, NAMED_FIELDS)
    .map((field) => `${fieldName(field)} ${field.message}`.trimStart());
  const more = fields.length - named.length;
  const detail = [
    named.join('; '),
    ...(more > 0 ? [`${more} more are in errors`] : []),
    ...(stopped ? ['later rows were not checked'] : []),
  ].join('; ');
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
  kind: 'temporal-unavailable' | 'no-worker' | 'too-many-waiting' | 'notification-not-delivered',
  detail: string,
  cause?: unknown,
): Problem {
  return new Problem(kind, detail, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause });
}

/** Undefined for unexpected errors. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (error instanceof DailyLimitError)
    return new Problem(
      'daily-limit-exceeded',
      `this key ${error.message}`,
      error.retryAfterMs === undefined ? {} : retryAfter(error.retryAfterMs),
    );
  if (error instanceof AuthorizationError && error.kind === 'busy')
    return unavailable('too-many-waiting', 'too many concurrent authorizations: send the same request again');
  if (error instanceof AuthorizationError && error.kind === 'exchanging')
    return new Problem(
      'authorization-in-progress',
      'the provider has not responded yet. The authorization continues: ask for a new link only if it is still missing after a minute',
    );
  const known = isInvalidArgument(error) ? undefined : translatedError(error);
  return known instanceof PayoutsError ? problemOfKnown(known) : undefined;
}

function problemOfKnown(error: PayoutsError): Problem | undefined {
  const { problem } = ERRORS[error.code];
  if (error instanceof EndedError) return new Problem('already-ended', error.message);
  if (error instanceof InvalidPayoutRequestError) return invalidFields(error.fields, error);
  if (error.fields.length > 0) return invalidFields(error.fields);
  if (problem === 'too-many-waiting' || problem === 'no-worker') return unavailable(problem, error.message);
  if (problem === 'temporal-unavailable')
    return unavailable(
      problem,
      'Temporal, a worker or the provider does not respond in time. It is unknown whether the request was executed: read the state, or send the same request again',
    );
  return problem === 'unexpected-error' ? undefined : new Problem(problem, error.message);
}

/** For reads: turns the failure of the workflow, which can only be bad input, into a 409. */
export function rejectedStart(error: unknown): never {
  const problem = problemOf(error);
  if (problem?.kind !== 'invalid-request') throw error;
  throw new Problem('start-rejected', 'the start was rejected as bad input', { fields: problem.fields });
}
