/** Authenticates callers by bearer key. */
import type { FastifyRequest } from 'fastify';
import { type Caller, type Callers, TEST_CALLER } from '../../config/callers.ts';
import { bearerKey, findKey } from '../../config/keys.ts';
import { Problem } from '../../service/problem.ts';
import { requireOneHeader } from './bodies.ts';
import type { ReloadedCallers } from './reloaded-callers.ts';

const authenticated = new WeakMap<FastifyRequest, Caller>();

/** The caller of a request, after `callerOf` has found it. */
export function authenticatedCaller(request: FastifyRequest): Caller | undefined {
  return authenticated.get(request);
}

/**
 * Throws a 401 if the key is missing or unknown, a 400 if there are several, and a 429 if the address has sent too many
 * unknown keys.
 */
export function callerOf(callers: ReloadedCallers, request: FastifyRequest): Caller {
  return authenticate(request, callers.keys.length === 0 ? TEST_CALLER : byKey(callers, request));
}

/** Records the caller of a request for the audit trail. */
export function authenticate(request: FastifyRequest, caller: Caller): Caller {
  authenticated.set(request, caller);
  return caller;
}

function byKey(callers: ReloadedCallers, request: FastifyRequest): Caller {
  requireOneHeader(request, 'authorization');
  const key = bearerKey(request.headers.authorization);
  if (key === undefined) throw new Problem('key-missing', 'a bearer key is required');
  return withKey(callers, request, key).caller;
}

/**
 * The entry of a key that the request contains. Throws a 401 if the key is unknown or has expired, and a 429 if the address
 * has sent too many unknown keys.
 */
export function withKey(
  { keys, limits }: ReloadedCallers,
  { ip }: FastifyRequest,
  key: string,
): Callers['keys'][number] {
  const known = findKey(keys, key);
  limits.checkKey(ip, known);
  if (!known) throw new Problem('key-unknown', 'the bearer key is unknown');
  return requireUnexpired(known);
}

/** Throws a 401 if the key has expired. */
export function requireUnexpired<Entry extends { caller: Caller }>(entry: Entry): Entry {
  const { expiresAt } = entry.caller;
  if (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now())
    throw new Problem('key-expired', 'the bearer key has expired');
  return entry;
}
