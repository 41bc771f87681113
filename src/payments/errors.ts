/**
 * What can go wrong, one class a cause. No message, field or stack holds a secret, a URL or personal
 * data, and none has a `cause`: HTTP clients quote URLs there, and one URL carries the secret (H45).
 */

import type { CreateMeaning } from '../domain/provider-records.ts';
import type { OperationName } from './operations.ts';

export type PaymentsErrorCode =
  | 'RATE_LIMITED'
  | 'SYSTEM_ERROR'
  | 'ILLEGAL_PARAMETER'
  | 'ORDER_NOT_EXIST'
  | 'UNAUTHORISED'
  | 'UNAVAILABLE'
  | 'NOT_SENT'
  | 'AMBIGUOUS'
  | 'MALFORMED_ANSWER'
  | 'CREATE_REFUSED'
  | 'REFUSED'
  | 'INVALID_REQUEST';

/** What is known about the call that failed. */
export interface ErrorContext {
  operation: OperationName;
  /** The `x-request-id` that was (or would have been) sent. */
  requestId: string;
  httpStatus?: number | undefined;
  /** The envelope's `code`, as text. */
  serviceCode?: string | undefined;
  /** The transport's own code, such as `ECONNREFUSED`. */
  transportCode?: string | undefined;
}

export abstract class PaymentsError extends Error {
  abstract readonly code: PaymentsErrorCode;
  readonly operation: OperationName;
  /** True when the service may have done what was asked: never repeat such a call blindly. */
  readonly mayHaveTakenEffect: boolean = false;
  readonly requestId: string;
  readonly httpStatus?: number;
  readonly serviceCode?: string;
  readonly transportCode?: string;

  constructor(context: ErrorContext, what: string) {
    super(`${context.operation}: ${what}`);
    this.name = new.target.name;
    this.operation = context.operation;
    this.requestId = context.requestId;
    if (context.httpStatus !== undefined) this.httpStatus = context.httpStatus;
    if (context.serviceCode !== undefined) this.serviceCode = context.serviceCode;
    if (context.transportCode !== undefined) this.transportCode = context.transportCode;
  }
}

/** Thrown when the call rate was exceeded (HTTP 429, or code 429 in an envelope): documented as not served. */
export class RateLimitedError extends PaymentsError {
  override readonly code = 'RATE_LIMITED';
}

/** Thrown when a query is answered 900000. */
export class SystemError extends PaymentsError {
  override readonly code = 'SYSTEM_ERROR';
}

/** Thrown when the service calls the request illegal (900002): the query is wrong, the payout has not failed. */
export class IllegalParameterError extends PaymentsError {
  override readonly code = 'ILLEGAL_PARAMETER';
}

/** Thrown when a query finds no order (900004). Reads may lag: no proof that there is none (H2). */
export class OrderNotExistError extends PaymentsError {
  override readonly code = 'ORDER_NOT_EXIST';
}

/** Thrown on 401 or 403, by status or envelope. Never thrown by a create. */
export class UnauthorisedError extends PaymentsError {
  override readonly code = 'UNAUTHORISED';
}

/**
 * The provider did not accept the token, whatever that means for the call: status 401, or code 401 under any status.
 * A 403 forbids the call and says nothing about the token, which everybody else goes on using.
 */
export function isTokenRejected({
  httpStatus,
  serviceCode,
}: Pick<ErrorContext, 'httpStatus' | 'serviceCode'>): boolean {
  return httpStatus === 401 || serviceCode === '401';
}

/** Thrown when the request surely did not arrive, and for reads also when no usable answer came back. */
export class UnavailableError extends PaymentsError {
  override readonly code = 'UNAVAILABLE';
}

export type NotSentReason = 'deadline' | 'aborted' | 'gate' | 'before-send' | 'token' | 'signer' | 'closed';

/**
 * Thrown when we decided not to send: deadline, abort, gate, `beforeSend`, or no token or signature. Whatever the
 * reason, not one byte of the request left this process.
 */
export class NotSentError extends PaymentsError {
  override readonly code = 'NOT_SENT';
  readonly reason: NotSentReason;
  /** Class name of what a token source, gate, signer or `beforeSend` threw; its text is left out. */
  readonly causeName?: string;

  constructor(context: ErrorContext, reason: NotSentReason, causeName?: string) {
    super(context, `not sent (${reason}${causeName === undefined ? '' : `: ${causeName}`})`);
    this.reason = reason;
    if (causeName !== undefined) this.causeName = causeName;
  }
}

/** Thrown when a call that must not be repeated was sent and no answer came that can be trusted. */
export class AmbiguousError extends PaymentsError {
  override readonly code = 'AMBIGUOUS';
  override readonly mayHaveTakenEffect: boolean = true;
}

/** Thrown when the answer of a read is not what the spec describes. */
export class MalformedAnswerError extends PaymentsError {
  override readonly code = 'MALFORMED_ANSWER';
  /** Dotted path of the first bad field, as the service spells it; absent when the whole answer is bad. */
  readonly field?: string;

  constructor(context: ErrorContext, what: string, field?: string) {
    super(context, what);
    if (field !== undefined) this.field = field;
  }
}

/** Thrown when a create was refused by a code whose meaning the service's operator confirmed. */
export class CreateRefusedError extends PaymentsError {
  override readonly code = 'CREATE_REFUSED';
  readonly meaning: CreateMeaning;

  constructor(context: ErrorContext, meaning: CreateMeaning) {
    super(context, `the service did not create the payout (${meaning})`);
    this.meaning = meaning;
  }
}

/** Thrown when any other call is refused by a code that the spec does not name. */
export class RefusedError extends PaymentsError {
  override readonly code = 'REFUSED';
}

export interface FieldProblem {
  /** Dotted path in the caller's own spelling. */
  path: string;
  message: string;
}

/** Thrown when a request breaks the spec's lengths, patterns or enumerations; nothing was sent. */
export class InvalidRequestError extends PaymentsError {
  override readonly code = 'INVALID_REQUEST';
  readonly fields: readonly FieldProblem[];

  constructor(context: ErrorContext, fields: readonly FieldProblem[]) {
    super(context, `invalid ${fields.map((field) => `${field.path} (${field.message})`).join(', ')}`);
    this.fields = fields;
  }
}

/** Thrown by a gate when a call's turn cannot come before its deadline: nothing was sent. */
export class GateTooLateError extends Error {
  override readonly name = 'GateTooLateError';
}

/** Thrown when a client, signer or verifier is set up wrongly: at a process's start, never by a call. */
export class PaymentsSettingError extends Error {
  override readonly name = 'PaymentsSettingError';
  readonly code = 'INVALID_SETTING';
  readonly setting: string;

  constructor(setting: string, problem: string) {
    super(`${setting}: ${problem}`);
    this.setting = setting;
  }
}
