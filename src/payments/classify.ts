/**
 * What a response means: one complete table per effect, by HTTP status class and kind of response (H26). Nothing else decides
 * this. The data of a success is parsed afterwards.
 */

import type { CreateMeaning } from '../contract/provider-records.ts';
import type { ReadResponse, ResponseKind } from './envelope.ts';
import type { PaymentsErrorCode } from './errors.ts';
import type { Effect } from './operations.ts';

export type FailureCode = Exclude<PaymentsErrorCode, 'NOT_SENT' | 'INVALID_REQUEST' | 'CREATE_REFUSED'>;
export type Verdict = 'success' | FailureCode | { createRefused: CreateMeaning };

/** `created`: 201, which contradicts any error code. `failed`: 5xx, and every status that HTTP does not define. */
type StatusClass = 'ok' | 'created' | 'redirect' | 'unauthorized' | 'limited' | 'rejected' | 'failed';

/** By kind. `others`: the kinds that the row doesn't name. */
type Row = Readonly<Partial<Record<ResponseKind, 'success' | FailureCode>> & { others: FailureCode }>;

function statusClass(status: number): StatusClass {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 429) return 'limited';
  if (status === 201) return 'created';
  if (status >= 200 && status < 300) return 'ok';
  if (status >= 300 && status < 400) return 'redirect';
  return status >= 400 && status < 500 ? 'rejected' : 'failed';
}

/** Classifies a received response. */
export function classify(
  effect: Effect,
  httpStatus: number,
  response: ReadResponse,
  createCodes: ReadonlyMap<string, CreateMeaning>,
): Verdict {
  const status = statusClass(httpStatus);
  if (effect !== 'create') {
    const row = (effect === 'read' ? READ : ONCE)[status];
    return row[response.kind] ?? row.others;
  }
  if ((status === 'ok' || status === 'created') && response.kind === 'success') return 'success';
  return classifyFailedCreate(httpStatus, response, createCodes);
}

/** The create call was refused with a code of known meaning, or has an unknown outcome. */
function classifyFailedCreate(
  httpStatus: number,
  response: ReadResponse,
  createCodes: ReadonlyMap<string, CreateMeaning>,
): Verdict {
  const meanings = provenCodes(httpStatus, response).map((code) => createCodes.get(code));
  const meaning = meanings.find((known) => known !== undefined);
  return meaning === undefined ? 'AMBIGUOUS' : { createRefused: meaning };
}

/**
 * The error codes on which HTTP status and envelope agree. The status alone is one, as `http:401`, if the envelope has no
 * code of its own.
 */
function provenCodes(httpStatus: number, { kind, serviceCode }: ReadResponse): string[] {
  const status = statusClass(httpStatus);
  if (kind === 'success' || kind === 'doubtful' || kind === 'broken') return [];
  if (status === 'created' || status === 'redirect' || status === 'failed') return [];
  const ofStatus = String(httpStatus);
  const code = serviceCode ?? ofStatus;
  if (code === ofStatus)
    return [...(serviceCode !== undefined || status === 'limited' ? [code] : []), `http:${code}`];
  return status === 'limited' ? [] : [code];
}

/** By code, for status classes that do not contradict the code. */
const BY_CODE: Row = {
  success: 'success',
  limited: 'RATE_LIMITED',
  unauthorized: 'UNAUTHORIZED',
  system: 'SYSTEM_ERROR',
  illegal: 'ILLEGAL_PARAMETER',
  'no-order': 'ORDER_NOT_EXIST',
  'other-code': 'REFUSED',
  broken: 'UNAVAILABLE',
  others: 'MALFORMED_ANSWER',
};

/** A read may be repeated, so the likeliest cause is reported. Only "order not exist" needs proof. */
const READ: Readonly<Record<StatusClass, Row>> = {
  ok: BY_CODE,
  created: BY_CODE,
  redirect: { others: 'MALFORMED_ANSWER' },
  unauthorized: { limited: 'RATE_LIMITED', others: 'UNAUTHORIZED' },
  limited: { others: 'RATE_LIMITED' },
  rejected: { ...BY_CODE, success: 'MALFORMED_ANSWER' },
  failed: { limited: 'RATE_LIMITED', system: 'SYSTEM_ERROR', others: 'UNAVAILABLE' },
};

const AGREED_FAILURES: Row = {
  limited: 'RATE_LIMITED',
  unauthorized: 'UNAUTHORIZED',
  illegal: 'ILLEGAL_PARAMETER',
  'no-order': 'REFUSED',
  'other-code': 'REFUSED',
  others: 'AMBIGUOUS',
};

/** A call that must not be repeated has failed only if status and code agree that nothing was done. */
const ONCE: Readonly<Record<StatusClass, Row>> = {
  ok: { ...AGREED_FAILURES, success: 'success' },
  created: { success: 'success', others: 'AMBIGUOUS' },
  redirect: { others: 'AMBIGUOUS' },
  unauthorized: {
    limited: 'RATE_LIMITED',
    success: 'AMBIGUOUS',
    system: 'AMBIGUOUS',
    doubtful: 'AMBIGUOUS',
    broken: 'AMBIGUOUS',
    others: 'UNAUTHORIZED',
  },
  limited: {
    limited: 'RATE_LIMITED',
    empty: 'RATE_LIMITED',
    unreadable: 'RATE_LIMITED',
    others: 'AMBIGUOUS',
  },
  rejected: AGREED_FAILURES,
  failed: { others: 'AMBIGUOUS' },
};
