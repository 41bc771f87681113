/**
 * What an answer means: one complete table per effect, by HTTP status class and answer kind (H26). Nothing else decides
 * this. The data of a success is parsed afterwards.
 */

import type { CreateMeaning } from '../contract/provider-records.ts';
import type { Answer, AnswerKind } from './envelope.ts';
import type { Effect } from './operations.ts';

export type Verdict =
  | 'success'
  | 'rate-limited'
  | 'system-error'
  | 'illegal-parameter'
  | 'order-not-exist'
  | 'unauthorized'
  | 'unavailable'
  | 'refused'
  | 'malformed'
  | 'ambiguous'
  | { createRefused: CreateMeaning };

/** `created`: 201, which contradicts any error code. `failed`: 5xx, and every status that HTTP does not define. */
type StatusClass = 'ok' | 'created' | 'redirect' | 'unauthorized' | 'limited' | 'rejected' | 'failed';

type Row = Readonly<Record<AnswerKind, Exclude<Verdict, object>>>;

function statusClass(status: number): StatusClass {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 429) return 'limited';
  if (status === 201) return 'created';
  if (status >= 200 && status < 300) return 'ok';
  if (status >= 300 && status < 400) return 'redirect';
  return status >= 400 && status < 500 ? 'rejected' : 'failed';
}

/** Classifies a received answer. */
export function classify(
  effect: Effect,
  httpStatus: number,
  answer: Answer,
  createCodes: ReadonlyMap<string, CreateMeaning>,
): Verdict {
  const status = statusClass(httpStatus);
  if (effect === 'read') return READ[status][answer.kind];
  if (effect === 'once') return ONCE[status][answer.kind];
  if ((status === 'ok' || status === 'created') && answer.kind === 'success') return 'success';
  return classifyFailedCreate(httpStatus, answer, createCodes);
}

/** The create was refused with a code of known meaning, or has an unknown outcome. */
function classifyFailedCreate(
  httpStatus: number,
  answer: Answer,
  createCodes: ReadonlyMap<string, CreateMeaning>,
): Verdict {
  const meanings = provenCodes(httpStatus, answer).map((code) => createCodes.get(code));
  const meaning = meanings.find((known) => known !== undefined);
  return meaning === undefined ? 'ambiguous' : { createRefused: meaning };
}

/**
 * The error codes on which HTTP status and envelope agree. The status alone is one, as `http:401`, if the envelope has no
 * code of its own.
 */
function provenCodes(httpStatus: number, { kind, serviceCode }: Answer): string[] {
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
  limited: 'rate-limited',
  unauthorized: 'unauthorized',
  system: 'system-error',
  illegal: 'illegal-parameter',
  'no-order': 'order-not-exist',
  'other-code': 'refused',
  empty: 'malformed',
  unreadable: 'malformed',
  doubtful: 'malformed',
  broken: 'unavailable',
};

/** A read may be repeated, so the likeliest cause is reported. Only "order not exist" needs proof. */
const READ: Readonly<Record<StatusClass, Row>> = {
  ok: BY_CODE,
  created: BY_CODE,
  redirect: all('malformed'),
  unauthorized: { ...all('unauthorized'), limited: 'rate-limited' },
  limited: all('rate-limited'),
  rejected: { ...BY_CODE, success: 'malformed' },
  failed: { ...all('unavailable'), limited: 'rate-limited', system: 'system-error' },
};

/** A call that must not be repeated has failed only if status and code agree that nothing was done. */
const ONCE: Readonly<Record<StatusClass, Row>> = {
  ok: { ...agreedFailures(), success: 'success' },
  created: { ...all('ambiguous'), success: 'success' },
  redirect: all('ambiguous'),
  unauthorized: {
    ...all('unauthorized'),
    limited: 'rate-limited',
    success: 'ambiguous',
    system: 'ambiguous',
    doubtful: 'ambiguous',
    broken: 'ambiguous',
  },
  limited: {
    ...all('ambiguous'),
    limited: 'rate-limited',
    empty: 'rate-limited',
    unreadable: 'rate-limited',
  },
  rejected: agreedFailures(),
  failed: all('ambiguous'),
};

function agreedFailures(): Row {
  return {
    ...all('ambiguous'),
    limited: 'rate-limited',
    unauthorized: 'unauthorized',
    illegal: 'illegal-parameter',
    'no-order': 'refused',
    'other-code': 'refused',
  };
}

function all(verdict: Exclude<Verdict, object>): Row {
  return {
    success: verdict,
    limited: verdict,
    unauthorized: verdict,
    system: verdict,
    illegal: verdict,
    'no-order': verdict,
    'other-code': verdict,
    empty: verdict,
    unreadable: verdict,
    doubtful: verdict,
    broken: verdict,
  };
}
