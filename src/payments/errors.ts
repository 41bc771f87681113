/**
 * The errors of the client, with a code per cause. No message, field or stack contains a secret, a URL or personal data.
 * None has a `cause`, because HTTP clients put URLs there, and one URL contains the secret (H45).
 */
import type { CreateMeaning } from '../contract/provider-records.ts';
import type { OperationName } from './operations.ts';

export type PaymentsErrorCode =
  /** The rate limit was exceeded (HTTP 429, or code 429 in the envelope). The spec says that the call was not served. */
  | 'RATE_LIMITED'
  /** A query returned 900000. */
  | 'SYSTEM_ERROR'
  /** The provider returned "illegal parameter" (900002). The query is wrong; the payout has not failed. */
  | 'ILLEGAL_PARAMETER'
  /** A query found no order (900004). Reads may lag, so this doesn't prove that there is none (H2). */
  | 'ORDER_NOT_EXIST'
  /** 401 or 403, in the status or the envelope. Never of a create call. */
  | 'UNAUTHORIZED'
  /** The request provably did not arrive; for reads, also if no usable response came. */
  | 'UNAVAILABLE'
  /** The client did not send: nothing of the request left this process. `reason` says why. */
  | 'NOT_SENT'
  /** A call that must not be repeated was sent, and no trustworthy response came. */
  | 'AMBIGUOUS'
  /** The response of a read doesn't match the spec. */
  | 'MALFORMED_ANSWER'
  /** A create call was refused with a code whose `meaning` the provider has stated. */
  | 'CREATE_REFUSED'
  /** Any other call was refused with a code that the spec doesn't list. */
  | 'REFUSED'
  /** The request violates the spec's lengths, patterns or enumerations in `fields`. Nothing was sent. */
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

export type NotSentReason = 'deadline' | 'gate' | 'paused' | 'before-send' | 'token' | 'signer' | 'closed';

/** What only some codes have. */
interface ErrorDetails {
  /** `NOT_SENT`: what stopped the call. */
  reason?: NotSentReason;
  /** `NOT_SENT`: the class name of what a token source, gate, signer or `beforeSend` threw, without its message. */
  causeName?: string | undefined;
  /** `MALFORMED_ANSWER`: the dotted path of the first bad field, as the provider spells it; absent if all of it is bad. */
  field?: string | undefined;
  /** `CREATE_REFUSED`. */
  meaning?: CreateMeaning;
  /** `INVALID_REQUEST`: dotted paths in our own spelling. */
  fields?: readonly { path: string; message: string }[];
}

export class PaymentsError extends Error {
  override readonly name = 'PaymentsError';
  readonly code: PaymentsErrorCode;
  readonly operation: OperationName;
  readonly requestId: string;
  readonly httpStatus: number | undefined;
  readonly serviceCode: string | undefined;
  readonly transportCode: string | undefined;
  readonly reason: ErrorDetails['reason'];
  readonly causeName: ErrorDetails['causeName'];
  readonly field: ErrorDetails['field'];
  readonly meaning: ErrorDetails['meaning'];
  readonly fields: ErrorDetails['fields'];
  /** Private, so that no log and no serialized error contains it. */
  readonly #serviceMessage: string | undefined;

  constructor(code: PaymentsErrorCode, context: ErrorContext, what: string, details: ErrorDetails = {}) {
    super(`${context.operation}: ${what}`);
    this.code = code;
    this.operation = context.operation;
    this.requestId = context.requestId;
    this.httpStatus = context.httpStatus;
    this.serviceCode = context.serviceCode;
    this.transportCode = context.transportCode;
    this.reason = details.reason;
    this.causeName = details.causeName;
    this.field = details.field;
    this.meaning = details.meaning;
    this.fields = details.fields;
    this.#serviceMessage = context.serviceMessage;
  }

  /** Whether the provider may have executed the request. Never repeat such a call blindly. */
  get mayHaveTakenEffect(): boolean {
    return this.code === 'AMBIGUOUS';
  }

  /** What the provider wrote. Only for the state of the request that it is about: it may contain personal data. */
  providerMessage(): string | undefined {
    return this.#serviceMessage;
  }
}

/** Whether the client threw `error` with one of the codes. */
export function hasCode(error: unknown, ...codes: readonly PaymentsErrorCode[]): error is PaymentsError {
  return error instanceof PaymentsError && codes.includes(error.code);
}

export function notSent(context: ErrorContext, reason: NotSentReason, causeName?: string): PaymentsError {
  const cause = causeName === undefined ? '' : `: ${causeName}`;
  return new PaymentsError('NOT_SENT', context, `not sent (${reason}${cause})`, { reason, causeName });
}

export function invalidRequest(
  context: ErrorContext,
  fields: NonNullable<ErrorDetails['fields']>,
): PaymentsError {
  const what = `invalid ${fields.map(({ path, message }) => `${path} (${message})`).join(', ')}`;
  return new PaymentsError('INVALID_REQUEST', context, what, { fields });
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
