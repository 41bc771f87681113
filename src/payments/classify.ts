/**
 * What an answer means: one total table for each kind of effect, HTTP status class by answer sort (H26).
 * Nothing is decided elsewhere. Whether the data of a success parses is asked after it.
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
  | 'unauthorised'
  | 'unavailable'
  | 'refused'
  | 'malformed'
  | 'ambiguous'
  | { createRefused: CreateMeaning };

/** `failed` is 5xx, and every status that HTTP does not define. */
export type StatusClass = 'ok' | 'redirect' | 'unauthorised' | 'limited' | 'rejected' | 'failed';

type Row = Readonly<Record<AnswerKind, Exclude<Verdict, object>>>;

export function statusClass(status: number): StatusClass {
  if (status === 401 || status === 403) return 'unauthorised';
  if (status === 429) return 'limited';
  if (status >= 200 && status < 300) return 'ok';
  if (status >= 300 && status < 400) return 'redirect';
  return status >= 400 && status < 500 ? 'rejected' : 'failed';
}

/** Judges an answer that was received. */
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

/** Money first: a create succeeded, or was refused by a confirmed code, or nobody knows. */
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

/** The failing code that status and envelope agree on, if they do. */
function provenFailure(status: StatusClass, answer: Answer): string | undefined {
  if (answer.kind === 'success' || answer.kind === 'doubtful' || answer.kind === 'broken') return undefined;
  if (status === 'redirect' || status === 'failed') return undefined;
  if (status !== 'limited') return answer.serviceCode;
  return (answer.serviceCode ?? '429') === '429' ? '429' : undefined;
}

/** By code, where status and code may stand together. */
const BY_CODE: Row = {
  success: 'success',
  limited: 'rate-limited',
  unauthorised: 'unauthorised',
  system: 'system-error',
  illegal: 'illegal-parameter',
  'no-order': 'order-not-exist',
  'other-code': 'refused',
  empty: 'malformed',
  unreadable: 'malformed',
  doubtful: 'malformed',
  broken: 'unavailable',
};

/** A read may be asked again, so the likeliest cause is named; only "order not exist" must be proven. */
const READ: Readonly<Record<StatusClass, Row>> = {
  ok: BY_CODE,
  redirect: all('malformed'),
  unauthorised: { ...all('unauthorised'), limited: 'rate-limited' },
  limited: all('rate-limited'),
  rejected: { ...BY_CODE, success: 'malformed' },
  failed: { ...all('unavailable'), limited: 'rate-limited', system: 'system-error' },
};

/** What must not be repeated is called failed only where status and code agree that nothing was done. */
const ONCE: Readonly<Record<StatusClass, Row>> = {
  ok: { ...agreedFailures(), success: 'success' },
  redirect: all('ambiguous'),
  unauthorised: {
    ...all('unauthorised'),
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
    unauthorised: 'unauthorised',
    illegal: 'illegal-parameter',
    'no-order': 'refused',
    'other-code': 'refused',
  };
}

function all(verdict: Exclude<Verdict, object>): Row {
  return {
    success: verdict,
    limited: verdict,
    unauthorised: verdict,
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
