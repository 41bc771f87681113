/**
 * What an answer means: one complete table per effect, by HTTP status class and answer kind (H26). Nothing else decides
 * this. The data of a success is parsed afterwards.
 */

import type { CreateMeaning } from '../domain/provider-records.ts';
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

/** `failed`: 5xx, and every status that HTTP does not define. */
type StatusClass = 'ok' | 'redirect' | 'unauthorized' | 'limited' | 'rejected' | 'failed';

type Row = Readonly<Record<AnswerKind, Exclude<Verdict, object>>>;

function statusClass(status: number): StatusClass {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 429) return 'limited';
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
  return classifyCreate(status, answer, createCodes);
}

/** A create succeeded, was refused with a code of known meaning, or has an unknown outcome. */
function classifyCreate(
  status: StatusClass,
  answer: Answer,
  createCodes: ReadonlyMap<string, CreateMeaning>,
): Verdict {
  if (status === 'ok' && answer.kind === 'success') return 'success';
  const code = provenFailure(status, answer);
  const meaning = code === undefined ? undefined : createCodes.get(code);
  return meaning === undefined ? 'ambiguous' : { createRefused: meaning };
}

/** The error code, if HTTP status and envelope agree on it. */
function provenFailure(status: StatusClass, answer: Answer): string | undefined {
  if (answer.kind === 'success' || answer.kind === 'doubtful' || answer.kind === 'broken') return undefined;
  if (status === 'redirect' || status === 'failed') return undefined;
  if (status !== 'limited') return answer.serviceCode;
  return (answer.serviceCode ?? '429') === '429' ? '429' : undefined;
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
  redirect: all('malformed'),
  unauthorized: { ...all('unauthorized'), limited: 'rate-limited' },
  limited: all('rate-limited'),
  rejected: { ...BY_CODE, success: 'malformed' },
  failed: { ...all('unavailable'), limited: 'rate-limited', system: 'system-error' },
};

/** A call that must not be repeated has failed only if status and code agree that nothing was done. */
const ONCE: Readonly<Record<StatusClass, Row>> = {
  ok: { ...agreedFailures(), success: 'success' },
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
