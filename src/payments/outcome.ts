/** Turns an exchange into the parsed response or into an error. */
import type { z } from 'zod';
import type { CreateMeaning } from '../contract/provider-records.ts';
import { classify, type FailureCode, type Verdict } from './classify.ts';
import { type ReadResponse, readResponse } from './envelope.ts';
import { type ErrorContext, isTokenRejected, notSent, PaymentsError, safeServiceCode } from './errors.ts';
import { type ApiOperation, rulesOf } from './operations.ts';
import type { Exchange } from './transport.ts';

/** How to read an operation's response. */
export interface ResponseRules<T> {
  operation: ApiOperation;
  schema: z.ZodType<T>;
  /** Returns the field, in the provider's spelling, whose value does not match the request (H15). */
  mismatch?: ((value: T) => string | undefined) | undefined;
}

export interface Outcome<T> {
  context: ErrorContext;
  result: { value: T } | { error: PaymentsError };
}

/** Never throws: every exchange has an outcome. */
export function outcomeOf<T>(
  rules: ResponseRules<T>,
  called: ErrorContext,
  exchange: Exchange,
  createCodes: ReadonlyMap<string, CreateMeaning>,
): Outcome<T> {
  if (exchange.kind !== 'response' && exchange.kind !== 'broken-response')
    return { context: called, result: { error: noResponse(rules, called, exchange) } };
  const { style, effect } = rulesOf(rules.operation);
  const response = responseOf(style, exchange);
  const context: ErrorContext = {
    ...called,
    httpStatus: exchange.status,
    serviceCode: safeServiceCode(response.serviceCode),
    serviceMessage: response.message,
    transportCode: exchange.kind === 'broken-response' ? exchange.transportCode : undefined,
  };
  const verdict = classify(effect, exchange.status, response, createCodes);
  const result =
    verdict === 'success' ? parsed(rules, context, response) : { error: errorOf(verdict, context) };
  return { context, result };
}

function responseOf(
  style: Parameters<typeof readResponse>[0],
  exchange: Extract<Exchange, { status: number }>,
): ReadResponse {
  if (exchange.kind === 'response') return readResponse(style, exchange.status, exchange.body);
  return { kind: exchange.tooLarge ? 'doubtful' : 'broken' };
}

function noResponse<T>(
  rules: ResponseRules<T>,
  called: ErrorContext,
  exchange: Exclude<Exchange, { status: number }>,
): PaymentsError {
  if (exchange.kind === 'withheld') return notSent(called, exchange.reason);
  const context = { ...called, transportCode: exchange.transportCode };
  const detail = `(${exchange.transportCode})`;
  if (exchange.kind === 'not-received')
    return new PaymentsError('UNAVAILABLE', context, `the provider was not reached ${detail}`);
  return rulesOf(rules.operation).effect === 'read'
    ? new PaymentsError('UNAVAILABLE', context, `no response ${detail}`)
    : new PaymentsError('AMBIGUOUS', context, `sent, but no response ${detail}`);
}

function parsed<T>(
  rules: ResponseRules<T>,
  context: ErrorContext,
  response: ReadResponse,
): Outcome<T>['result'] {
  const read = rules.schema.safeParse(response.data);
  // A bare record has no code.
  const prefix = response.serviceCode === undefined ? '' : 'data.';
  if (!read.success) {
    const path = read.error.issues[0]?.path.join('.') ?? '';
    const field = (prefix + path).replace(/\.$/, '') || undefined;
    return { error: unusable(rules, context, `cannot use ${field ?? 'the response'}`, field) };
  }
  const mismatch = rules.mismatch?.(read.data);
  if (mismatch === undefined) return { value: read.data };
  const field = prefix + mismatch;
  return { error: unusable(rules, context, `${field} does not match the request`, field) };
}

/** The error of a success that cannot be used. If the call must not be repeated, its outcome is unknown. */
function unusable<T>(
  rules: ResponseRules<T>,
  context: ErrorContext,
  what: string,
  field: string | undefined,
): PaymentsError {
  return rulesOf(rules.operation).effect === 'read'
    ? new PaymentsError('MALFORMED_ANSWER', context, what, { field })
    : new PaymentsError('AMBIGUOUS', context, `sent, and the response is a success, but ${what}`);
}

const FAILURES: Readonly<Record<FailureCode, string>> = {
  RATE_LIMITED: 'rate limit exceeded',
  SYSTEM_ERROR: 'the provider had a system error',
  ILLEGAL_PARAMETER: 'the provider rejected a parameter as illegal',
  ORDER_NOT_EXIST: 'the provider knows no such order',
  UNAUTHORIZED: 'the provider forbids the call',
  UNAVAILABLE: 'the provider gave no usable response',
  REFUSED: 'the provider refused the call',
  MALFORMED_ANSWER: 'the response does not match the spec',
  AMBIGUOUS: 'sent, but no trustworthy response',
};

function errorOf(verdict: Exclude<Verdict, 'success'>, context: ErrorContext): PaymentsError {
  if (typeof verdict === 'object') {
    const { createRefused: meaning } = verdict;
    const what = `the provider did not create the order (${meaning})`;
    return new PaymentsError('CREATE_REFUSED', context, what, { meaning });
  }
  const { httpStatus, serviceCode } = context;
  const detail = ['HTTP', httpStatus, serviceCode && `code ${serviceCode}`].filter(Boolean).join(' ');
  const tokenRejected = verdict === 'UNAUTHORIZED' && isTokenRejected(context);
  const what = tokenRejected ? 'the provider rejected the token' : FAILURES[verdict];
  return new PaymentsError(verdict, context, `${what} (${detail})`);
}
