/** Translates errors of Temporal's client, so that callers of the client library need to know only `PayoutsError`. */
import {
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { INVALID_PAYOUT_REQUEST, NOT_ACCEPTED_NOW } from '../contract/failures.ts';
import { applicationFailure, isGone, WorkflowStuckError } from '../temporal/client-errors.ts';
import { TemporalSetupError } from '../temporal/connection.ts';
import { PayoutsError } from './payouts-error.ts';

const badFields = z.tuple([z.array(z.object({ path: z.string(), message: z.string() }))]);

/** `target`, whose methods throw translated errors. */
export function translated<T extends object>(target: T): T {
  return new Proxy(target, {
    get(object, name) {
      const member: unknown = Reflect.get(object, name);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => translatedResult(Reflect.apply(member, object, args));
    },
  });
}

function translatedResult(result: unknown): unknown {
  if (result instanceof Promise)
    return result.catch((error: unknown) => {
      throw translatedError(error);
    });
  return isIterator(result) ? translatedIterator(result) : result;
}

function isIterator(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function* translatedIterator(rows: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  try {
    yield* rows;
  } catch (error) {
    throw translatedError(error);
  }
}

/** Other errors, such as the reason of an abort signal, stay as they are. */
export function translatedError(error: unknown): unknown {
  if (error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError)
    return failed(error, applicationFailure(error));
  if (error instanceof WorkflowNotFoundError || isGone(error))
    return new PayoutsError('NOT_FOUND', 'no such payout, batch or request', { cause: error });
  if (error instanceof WorkflowStuckError)
    return new PayoutsError('TEMPORAL_UNAVAILABLE', error.message, { cause: error });
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || error instanceof ServiceError)
    return new PayoutsError(
      'TEMPORAL_UNAVAILABLE',
      `Temporal did not answer, so whether the call was done is unknown: ${error.message}`,
      { cause: error },
    );
  if (error instanceof TemporalSetupError)
    return new PayoutsError('TEMPORAL_UNAVAILABLE', error.message, { cause: error });
  return error;
}

function failed(error: Error, failure: ApplicationFailure | undefined): PayoutsError {
  const cause = { cause: error };
  if (failure === undefined)
    return new PayoutsError('STOPPED', `the workflow was stopped: ${error.message}`, cause);
  if (failure.type === NOT_ACCEPTED_NOW) return new PayoutsError('NOT_ACCEPTED_NOW', failure.message, cause);
  if (failure.type !== INVALID_PAYOUT_REQUEST)
    return new PayoutsError('NO_USABLE_ANSWER', failure.message, cause);
  const fields = badFields.safeParse(failure.details).data?.[0] ?? [];
  return new PayoutsError('INVALID_PAYOUT_REQUEST', failure.message, { ...cause, fields });
}
