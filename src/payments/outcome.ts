/** Turns an exchange into the parsed answer or into an error. */
import type { z } from 'zod';
import type { CreateMeaning } from '../contract/provider-records.ts';
import { classify, type Verdict } from './classify.ts';
import { type Answer, readAnswer } from './envelope.ts';
import {
  AmbiguousError,
  CreateRefusedError,
  type ErrorContext,
  IllegalParameterError,
  isTokenRejected,
  MalformedAnswerError,
  NotSentError,
  OrderNotExistError,
  type PaymentsError,
  RateLimitedError,
  RefusedError,
  SystemError,
  safeServiceCode,
  UnauthorizedError,
  UnavailableError,
} from './errors.ts';
import { type ApiOperation, rulesOf } from './operations.ts';
import type { Exchange } from './transport.ts';

/** How to read an operation's answer. */
export interface AnswerRules<T> {
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
  rules: AnswerRules<T>,
  called: ErrorContext,
  exchange: Exchange,
  createCodes: ReadonlyMap<string, CreateMeaning>,
): Outcome<T> {
  if (exchange.kind !== 'answer' && exchange.kind !== 'broken-answer')
    return { context: called, result: { error: noAnswer(rules, called, exchange) } };
  const { style, effect } = rulesOf(rules.operation);
  const answer = answerOf(style, exchange);
  const context: ErrorContext = {
    ...called,
    httpStatus: exchange.status,
    serviceCode: safeServiceCode(answer.serviceCode),
    serviceMessage: answer.message,
    transportCode: exchange.kind === 'broken-answer' ? exchange.transportCode : undefined,
  };
  const verdict = classify(effect, exchange.status, answer, createCodes);
  const result =
    verdict === 'success' ? parsed(rules, context, answer) : { error: errorOf(verdict, context) };
  return { context, result };
}

function answerOf(
  style: Parameters<typeof readAnswer>[0],
  exchange: Extract<Exchange, { status: number }>,
): Answer {
  if (exchange.kind === 'answer') return readAnswer(style, exchange.status, exchange.body);
  return { kind: exchange.tooLarge ? 'doubtful' : 'broken', dataPath: '' };
}

function noAnswer<T>(
  rules: AnswerRules<T>,
  called: ErrorContext,
  exchange: Exclude<Exchange, { status: number }>,
): PaymentsError {
  if (exchange.kind === 'withheld') return new NotSentError(called, exchange.reason);
  const context = { ...called, transportCode: exchange.transportCode };
  const detail = `(${exchange.transportCode})`;
  if (exchange.kind === 'not-received')
    return new UnavailableError(context, `the provider was not reached ${detail}`);
  return rulesOf(rules.operation).effect === 'read'
    ? new UnavailableError(context, `no answer ${detail}`)
    : new AmbiguousError(context, `sent, but no answer ${detail}`);
}

function parsed<T>(rules: AnswerRules<T>, context: ErrorContext, answer: Answer): Outcome<T>['result'] {
  const read = rules.schema.safeParse(answer.data);
  if (!read.success) {
    const path = read.error.issues[0]?.path.join('.') ?? '';
    const field = (answer.dataPath + path).replace(/\.$/, '') || undefined;
    return { error: unusable(rules, context, `cannot use ${field ?? 'the answer'}`, field) };
  }
  const mismatch = rules.mismatch?.(read.data);
  if (mismatch === undefined) return { value: read.data };
  const field = answer.dataPath + mismatch;
  return { error: unusable(rules, context, `${field} does not match the request`, field) };
}

/** The error of a success that cannot be used. If the call must not be repeated, its outcome is unknown. */
function unusable<T>(
  rules: AnswerRules<T>,
  context: ErrorContext,
  what: string,
  field: string | undefined,
): PaymentsError {
  return rulesOf(rules.operation).effect === 'read'
    ? new MalformedAnswerError(context, what, field)
    : new AmbiguousError(context, `sent, and the answer is a success, but ${what}`);
}

type FailedVerdict = Exclude<Verdict, 'success' | object>;

const FAILURES: Record<
  FailedVerdict,
  [new (context: ErrorContext, what: string) => PaymentsError, what: string]
> = {
  'rate-limited': [RateLimitedError, 'rate limit exceeded'],
  'system-error': [SystemError, 'the provider had a system error'],
  'illegal-parameter': [IllegalParameterError, 'the provider rejected a parameter as illegal'],
  'order-not-exist': [OrderNotExistError, 'the provider knows no such order'],
  unauthorized: [UnauthorizedError, 'the provider forbids the call'],
  unavailable: [UnavailableError, 'the provider gave no usable answer'],
  refused: [RefusedError, 'the provider refused the call'],
  malformed: [MalformedAnswerError, 'the answer does not match the spec'],
  ambiguous: [AmbiguousError, 'sent, but no trustworthy answer'],
};

function errorOf(verdict: Exclude<Verdict, 'success'>, context: ErrorContext): PaymentsError {
  if (typeof verdict === 'object') return new CreateRefusedError(context, verdict.createRefused);
  const { httpStatus, serviceCode } = context;
  const detail = ['HTTP', httpStatus, serviceCode && `code ${serviceCode}`].filter(Boolean).join(' ');
  const [PaymentsFailure, meaning] = FAILURES[verdict];
  const tokenRejected = verdict === 'unauthorized' && isTokenRejected(context);
  const what = tokenRejected ? 'the provider rejected the token' : meaning;
  return new PaymentsFailure(context, `${what} (${detail})`);
}
