/** The error that becomes a problem document (RFC 9457), and the problems of all other errors. */
import {
  WorkflowFailedError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { DailyLimitError } from '../client/allowances.ts';
import { AuthorizationsBusyError, StillExchangingError } from '../client/authorizations.ts';
import { InvalidPayoutRequestError } from '../client/invalid-request.ts';
import { EndedError, PayoutsError, type PayoutsErrorCode } from '../client/payouts-error.ts';
import { TooManyReadsError } from '../client/shared-reads.ts';
import type { FieldError } from '../contract/failures.ts';
import { INVALID_PAYOUT_REQUEST, NOT_ACCEPTED_NOW } from '../contract/failures.ts';
import { PROBLEMS, type ProblemKind } from '../contract/problems.ts';
import { applicationFailure, isGone, isRetryableTemporalError } from '../temporal/client-errors.ts';

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

const fieldErrors = z.array(z.object({ path: z.string(), message: z.string() }));

/** Undefined for unexpected errors. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  const refusal = refusalOf(error);
  if (refusal) return refusal;
  if (error instanceof InvalidPayoutRequestError) return invalidFields(error.fields, error);
  if (error instanceof DailyLimitError)
    return new Problem(
      'daily-limit-exceeded',
      `this key ${error.message}`,
      error.retryAfterMs === undefined ? {} : retryAfter(error.retryAfterMs),
    );
  if (error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError)
    return problemOfFailure(applicationFailure(error.cause));
  if (error instanceof AuthorizationsBusyError)
    return unavailable('too-many-waiting', 'too many concurrent authorizations: send the same request again');
  if (error instanceof StillExchangingError)
    return new Problem(
      'authorization-in-progress',
      'the provider has not responded yet. The authorization continues: ask for a new link only if it is still missing after a minute',
    );
  if (error instanceof TooManyReadsError) return unavailable('too-many-waiting', error.message);
  if (isGone(error)) return new Problem('not-found', 'not found');
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || isRetryableTemporalError(error))
    return unavailable(
      'temporal-unavailable',
      'Temporal, a worker or the provider does not respond in time. It is unknown whether the request was executed: read the state, or send the same request again',
    );
  return undefined;
}

const REFUSALS: Partial<Record<PayoutsErrorCode, ProblemKind>> = {
  CONFLICT: 'id-conflict',
  NOT_ACCEPTED_NOW: 'not-accepted-now',
};

/** The problem of an error whose message says everything. */
function refusalOf(error: unknown): Problem | undefined {
  if (error instanceof EndedError) return new Problem('already-ended', error.message);
  const kind = error instanceof PayoutsError ? REFUSALS[error.code] : undefined;
  return kind && error instanceof Error ? new Problem(kind, error.message) : undefined;
}

function problemOfFailure(failure: ApplicationFailure | undefined): Problem {
  if (failure?.type === NOT_ACCEPTED_NOW) return new Problem('not-accepted-now', failure.message);
  if (failure?.type !== INVALID_PAYOUT_REQUEST)
    return new Problem(
      'provider-unavailable',
      failure?.message ?? 'the provider gave no usable response in time',
    );
  const fields = fieldErrors.safeParse(failure.details?.[0]);
  return fields.success ? invalidFields(fields.data) : new Problem('invalid-request', failure.message);
}

/** For reads: turns the failure of the workflow, which can only be bad input, into a 409. */
export function rejectedStart(error: unknown): never {
  const problem = problemOf(error);
  if (problem?.kind !== 'invalid-request') throw error;
  throw new Problem('start-rejected', 'the start was rejected as bad input', { fields: problem.fields });
}
