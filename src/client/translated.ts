/** Translates errors of Temporal's client, so that callers of the client library need to know only `PayoutsError`. */
import {
  ServiceError,
  WorkflowFailedError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import type { PayoutsErrorCode } from '../contract/errors.ts';
import { type FieldError, INVALID_PAYOUT_REQUEST, NOT_ACCEPTED_NOW } from '../contract/failures.ts';
import { isUndecryptable } from '../encryption/payload-codec.ts';
import {
  applicationFailure,
  grpcStatusOf,
  isGone,
  isRetryableTemporalError,
  isUnserved,
  serverMessageOf,
  WorkflowStuckError,
} from '../temporal/client-errors.ts';
import { TemporalSetupError } from '../temporal/connection.ts';
import { NoWorkerError } from '../temporal/worker-watch.ts';
import { PayoutsError } from './errors.ts';

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
  if (error instanceof PayoutsError) return error;
  const [code, message, fields] = meaningOf(error) ?? [];
  return code ? new PayoutsError(code, message ?? '', { cause: error, ...(fields && { fields }) }) : error;
}

type Meaning = [code: PayoutsErrorCode, message: string, fields?: FieldError[] | undefined];

function meaningOf(error: unknown): Meaning | undefined {
  if (error instanceof NoWorkerError) return ['NO_WORKER', `${error.message}. ${START_WORKER}`];
  if (isUndecryptable(error)) return ['CANNOT_DECRYPT', OTHER_KEYS];
  if (error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError)
    return meaningOfFailure(error, applicationFailure(error.cause));
  if (isGone(error)) return ['NOT_FOUND', 'no such payout, batch, request or token'];
  if (error instanceof TemporalSetupError || error instanceof WorkflowStuckError)
    return ['TEMPORAL_UNAVAILABLE', error.message];
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError)
    return ['TEMPORAL_UNAVAILABLE', `neither a worker nor the provider responded in time, so ${UNKNOWN}`];
  if (isUnserved(error))
    return ['TEMPORAL_UNAVAILABLE', `${UNSERVED[grpcStatusOf(error) ?? '']} (${serverMessageOf(error)})`];
  if (error instanceof ServiceError || isRetryableTemporalError(error))
    return ['TEMPORAL_UNAVAILABLE', `Temporal refused the call, or did not respond: ${detailOf(error)}`];
  return undefined;
}

const START_WORKER = 'Start one. If one runs, read its log: it may be overloaded';
const OTHER_KEYS =
  'this machine cannot decrypt what the workers encrypt: set PAYOUTS_ENCRYPTION_KEYS to their keys';
const UNKNOWN = 'whether the change was made is unknown';
const UNSERVED: Readonly<Record<string, string>> = {
  UNAVAILABLE: 'Temporal cannot serve the request: its database or one of its services may be down',
  DEADLINE_EXCEEDED: 'Temporal, or the worker that the request needs, did not respond in time',
};

function detailOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

const badFields = z.tuple([z.array(z.object({ path: z.string(), message: z.string() }))]);

function meaningOfFailure(error: Error, failure: ApplicationFailure | undefined): Meaning {
  if (failure === undefined) return ['STOPPED', `the workflow was stopped: ${error.message}`];
  if (failure.type === NOT_ACCEPTED_NOW) return ['NOT_ACCEPTED_NOW', failure.message];
  if (failure.type !== INVALID_PAYOUT_REQUEST) return ['NO_USABLE_ANSWER', failure.message];
  return ['INVALID_PAYOUT_REQUEST', failure.message, badFields.safeParse(failure.details).data?.[0]];
}
