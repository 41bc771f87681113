/**
 * The errors of the client, one class per cause. No message, field or stack contains a secret, a URL or personal data.
 * None has a `cause`, because HTTP clients put URLs there, and one URL contains the secret (H45).
 */
import type { CreateMeaning } from '../contract/provider-records.ts';
import type { OperationName } from './operations.ts';

export type PaymentsErrorCode =
  | 'RATE_LIMITED'
  | 'SYSTEM_ERROR'
  | 'ILLEGAL_PARAMETER'
  | 'ORDER_NOT_EXIST'
  | 'UNAUTHORIZED'
  | 'UNAVAILABLE'
  | 'NOT_SENT'
  | 'AMBIGUOUS'
  | 'MALFORMED_ANSWER'
  | 'CREATE_REFUSED'
  | 'REFUSED'
  | 'INVALID_REQUEST';

/** What is known about the failed call. */
export interface ErrorContext {
  operation: OperationName;
  /** The `x-request-id` that was (or would have been) sent. */
  requestId: string;
  httpStatus?: number | undefined;
  /** The envelope's `code`, as text. */
  serviceCode?: string | undefined;
  /** The envelope's `message`, which may contain anything. */
  serviceMessage?: string | undefined;
  /** The transport's error code, such as `ECONNREFUSED`. */
  transportCode?: string | undefined;
}

export abstract class PaymentsError extends Error {
  abstract readonly code: PaymentsErrorCode;
  readonly operation: OperationName;
  /** Whether the provider may have executed the request. Never repeat such a call blindly. */
  readonly mayHaveTakenEffect: boolean = false;
  readonly requestId: string;
  readonly httpStatus?: number;
  readonly serviceCode?: string;
  readonly transportCode?: string;
  /** Private, so that no log and no serialized error contains it. */
  readonly #serviceMessage: string | undefined;

  constructor(context: ErrorContext, what: string) {
    super(`${context.operation}: ${what}`);
    this.name = new.target.name;
    this.operation = context.operation;
    this.requestId = context.requestId;
    if (context.httpStatus !== undefined) this.httpStatus = context.httpStatus;
    if (context.serviceCode !== undefined) this.serviceCode = context.serviceCode;
    if (context.transportCode !== undefined) this.transportCode = context.transportCode;
    this.#serviceMessage = context.serviceMessage;
  }

  /** What the provider wrote. Only for the state of the request that it is about: it may contain personal data. */
  providerMessage(): string | undefined {
    return this.#serviceMessage;
  }
}

/**
 * Thrown if the rate limit was exceeded (HTTP 429, or code 429 in the envelope). The spec says that the call was not
 * served.
 */
export class RateLimitedError extends PaymentsError {
  override readonly code = 'RATE_LIMITED';
}

/** Thrown if a query is answered 900000. */
export class SystemError extends PaymentsError {
  override readonly code = 'SYSTEM_ERROR';
}

/** Thrown if the provider answers "illegal parameter" (900002). The query is wrong; the payout has not failed. */
export class IllegalParameterError extends PaymentsError {
  override readonly code = 'ILLEGAL_PARAMETER';
}

/** Thrown if a query finds no order (900004). Reads may lag, so this does not prove that there is none (H2). */
export class OrderNotExistError extends PaymentsError {
  override readonly code = 'ORDER_NOT_EXIST';
}

/** Thrown on 401 or 403, in the status or the envelope. Never thrown by a create. */
export class UnauthorizedError extends PaymentsError {
  override readonly code = 'UNAUTHORIZED';
}

/**
 * Whether the provider rejected the token: status 401, or code 401 under any status. A 403 forbids the call and says
 * nothing about the token, so other calls keep using it.
 */
export function isTokenRejected({
  httpStatus,
  serviceCode,
}: Pick<ErrorContext, 'httpStatus' | 'serviceCode'>): boolean {
  return httpStatus === 401 || serviceCode === '401';
}

/** Thrown if the request provably did not arrive; for reads, also if no usable answer came. */
export class UnavailableError extends PaymentsError {
  override readonly code = 'UNAVAILABLE';
}

type NotSentReason =
  | 'deadline'
  | 'aborted'
  | 'gate'
  | 'paused'
  | 'before-send'
  | 'token'
  | 'signer'
  | 'closed';

/**
 * Thrown if the client does not send: deadline, abort, gate, `beforeSend`, or no token or signature. Nothing of the
 * request left this process.
 */
export class NotSentError extends PaymentsError {
  override readonly code = 'NOT_SENT';
  readonly reason: NotSentReason;
  /** The class name of what a token source, gate, signer or `beforeSend` threw, without its message. */
  readonly causeName?: string;

  constructor(context: ErrorContext, reason: NotSentReason, causeName?: string) {
    super(context, `not sent (${reason}${causeName === undefined ? '' : `: ${causeName}`})`);
    this.reason = reason;
    if (causeName !== undefined) this.causeName = causeName;
  }
}

/** Thrown if a call that must not be repeated was sent and no trustworthy answer came. */
export class AmbiguousError extends PaymentsError {
  override readonly code = 'AMBIGUOUS';
  override readonly mayHaveTakenEffect: boolean = true;
}

/** Thrown if the answer of a read does not match the spec. */
export class MalformedAnswerError extends PaymentsError {
  override readonly code = 'MALFORMED_ANSWER';
  /** The dotted path of the first bad field, as the provider spells it; absent if the whole answer is bad. */
  readonly field?: string;

  constructor(context: ErrorContext, what: string, field?: string) {
    super(context, what);
    if (field !== undefined) this.field = field;
  }
}

/** Thrown if a create was refused with a code whose meaning the provider has stated. */
export class CreateRefusedError extends PaymentsError {
  override readonly code = 'CREATE_REFUSED';
  readonly meaning: CreateMeaning;

  constructor(context: ErrorContext, meaning: CreateMeaning) {
    super(context, `the provider did not create the order (${meaning})`);
    this.meaning = meaning;
  }
}

/** Thrown if any other call is refused with a code that the spec does not list. */
export class RefusedError extends PaymentsError {
  override readonly code = 'REFUSED';
}

interface FieldProblem {
  /** The dotted path in our own spelling. */
  path: string;
  message: string;
}

/** Thrown if a request violates the spec's lengths, patterns or enumerations. Nothing was sent. */
export class InvalidRequestError extends PaymentsError {
  override readonly code = 'INVALID_REQUEST';
  readonly fields: readonly FieldProblem[];

  constructor(context: ErrorContext, fields: readonly FieldProblem[]) {
    super(context, `invalid ${fields.map((field) => `${field.path} (${field.message})`).join(', ')}`);
    this.fields = fields;
  }
}

/** Thrown by a gate if a call's turn cannot come before its deadline. Nothing was sent. */
export class GateTooLateError extends Error {
  override readonly name = 'GateTooLateError';
}

/** Thrown by a gate to calls that create something while an operator has paused the application. Nothing was sent. */
export class GatePausedError extends Error {
  override readonly name = 'GatePausedError';
}

/** Thrown if a client, signer or verifier is misconfigured: when it is created, never by a call. */
export class PaymentsSettingError extends Error {
  override readonly name = 'PaymentsSettingError';
  readonly code = 'INVALID_SETTING';
  readonly setting: string;

  constructor(setting: string, problem: string) {
    super(`${setting}: ${problem}`);
    this.setting = setting;
  }
}

/** The error code of a transport error, or `UNKNOWN`. */
export function safeErrorCode(error: unknown): string {
  const code: unknown =
    typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : 'UNKNOWN';
}

/** The class name of what was thrown, or `Error` if it has an unusual form. */
export function safeErrorName(error: unknown): string {
  const name = error instanceof Error ? error.name : typeof error;
  return /^[A-Za-z][A-Za-z0-9]{0,63}$/.test(name) ? name : 'Error';
}

/** The envelope's code, or `unreadable` if it has an unusual form. */
export function safeServiceCode(code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  return /^[A-Za-z0-9_.-]{1,32}$/.test(code) ? code : 'unreadable';
}
