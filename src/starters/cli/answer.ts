/** What a verb says, and how it is printed: one JSON document, or text for a person. */

import {
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { FieldError } from '../../contract/payout-request.ts';
import { INVALID_PAYOUT_REQUEST, NOT_ACCEPTED_NOW } from '../../domain/failure-types.ts';
import { BatchConflictError } from '../batches.ts';
import { InvalidPayoutRequestError, PayoutConflictError } from '../payouts.ts';
import { ReceivingAccountConflictError } from '../receiving-accounts.ts';

/** Stable: scripts rely on them. */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  badInput: 2,
  notFound: 3,
  refused: 4,
  notPaid: 5,
  doctorFoundProblems: 6,
} as const;

export interface Answer {
  json: unknown;
  text: string;
  exitCode?: number;
}

/** Thrown by a verb for what is wrong with how it was called. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly fields: FieldError[];
  constructor(message: string, fields: FieldError[] = []) {
    super(message);
    this.fields = fields;
  }
}

interface Failure {
  code: string;
  message: string;
  fields?: FieldError[];
  exitCode: number;
}

export function print(answer: Answer, json: boolean): void {
  process.stdout.write(json ? `${JSON.stringify(answer.json, null, 2)}\n` : `${answer.text}\n`);
  process.exitCode = answer.exitCode ?? EXIT.ok;
}

export function printFailure(error: unknown, json: boolean): void {
  const { exitCode, ...failure } = explain(error);
  if (json) process.stdout.write(`${JSON.stringify({ error: failure }, null, 2)}\n`);
  else process.stderr.write(`${failure.message}\n${fieldLines(failure.fields)}`);
  process.exitCode = exitCode;
}

function fieldLines(fields: FieldError[] = []): string {
  return fields.map(({ path, message }) => `  ${path} ${message}\n`).join('');
}

const CONFLICTS = [PayoutConflictError, BatchConflictError, ReceivingAccountConflictError];

function explain(error: unknown): Failure {
  if (error instanceof UsageError) return bad('USAGE', error.message, error.fields);
  if (error instanceof InvalidPayoutRequestError)
    return bad('INVALID_PAYOUT_REQUEST', 'the request is not valid', error.fields);
  if (CONFLICTS.some((conflict) => error instanceof conflict) && error instanceof Error)
    return { code: 'CONFLICT', message: error.message, exitCode: EXIT.refused };
  if (error instanceof WorkflowNotFoundError)
    return {
      code: 'NOT_FOUND',
      message: 'there is no such payout, request or token',
      exitCode: EXIT.notFound,
    };
  return explainFailure(error) ?? unexpected(error);
}

function explainFailure(error: unknown): Failure | undefined {
  if (!(error instanceof WorkflowFailedError || error instanceof WorkflowUpdateFailedError)) return undefined;
  const cause = applicationFailure(error.cause);
  if (cause?.type === NOT_ACCEPTED_NOW)
    return { code: 'NOT_ACCEPTED_NOW', message: cause.message, exitCode: EXIT.refused };
  if (cause?.type === INVALID_PAYOUT_REQUEST) return bad('INVALID_PAYOUT_REQUEST', cause.message);
  return cause && { code: cause.type ?? 'FAILED', message: cause.message, exitCode: EXIT.unexpected };
}

function applicationFailure(error: unknown): ApplicationFailure | undefined {
  if (error instanceof ApplicationFailure) return error;
  return error instanceof Error && error.cause !== undefined ? applicationFailure(error.cause) : undefined;
}

function unexpected(error: unknown): Failure {
  const message = error instanceof Error ? error.message : 'something unexpected went wrong';
  if (!(error instanceof ServiceError)) return { code: 'UNEXPECTED', message, exitCode: EXIT.unexpected };
  const why = error.cause instanceof Error ? `${message}: ${error.cause.message}` : message;
  return { code: 'ENGINE', message: why, exitCode: EXIT.unexpected };
}

function bad(code: string, message: string, fields: FieldError[] = []): Failure {
  return { code, message, ...(fields.length > 0 && { fields }), exitCode: EXIT.badInput };
}
