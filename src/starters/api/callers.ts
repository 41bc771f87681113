/** Authenticates callers by bearer key, and authorizes them by what `PAYOUTS_API_KEYS_FILE` allows. */
import type { FastifyRequest } from 'fastify';
import { bearerKey, findKey } from '../../config/bearer-keys.ts';
import { type Caller, type Callers, TEST_CALLER, type Verb } from '../../config/callers.ts';
import type { CheckedPayoutRequest } from '../../contract/payout-request.ts';
import { amountRefusal, type Refusal, type ScopedIds, scopeRefusal } from '../../domain/permissions.ts';
import { requireOneHeader } from './bodies.ts';
import { Problem } from './problem.ts';
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

export function requireVerb({ verbs }: Caller, verb: Verb): void {
  if (!verbs.includes(verb)) throw new Problem('verb-not-allowed', `this key lacks the verb ${verb}`);
}

export function requireApplication({ applications }: Caller, app: string): void {
  if (applications !== 'any' && !applications.includes(app))
    throw new Problem('application-not-allowed', 'this key does not include that application');
}

/**
 * Requires that the key's lists contain the ids that `named` has a key for. `prefix` identifies the request, such as
 * `row 17: `.
 */
export function requireScope(caller: Caller, named: ScopedIds, prefix = ''): void {
  throwIfRefused(scopeRefusal(caller, named), prefix);
}

export function requirePayoutScope(
  caller: Caller,
  { clientId, payerId, openId }: CheckedPayoutRequest,
  prefix = '',
): void {
  requireScope(caller, { clientId, payerId, openId }, prefix);
}

/** The scope and the largest amount of the key. `prefix` identifies the request, such as `row 17: `. */
export function requirePayout(caller: Caller, request: CheckedPayoutRequest, prefix = ''): void {
  requirePayoutScope(caller, request, prefix);
  throwIfRefused(amountRefusal(caller, request.instructedAmount), prefix);
}

function throwIfRefused(refusal: Refusal | undefined, prefix: string): void {
  if (refusal) throw new Problem(refusal.kind, `${prefix}this key ${refusal.message}`);
}
