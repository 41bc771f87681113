/** Authenticates callers by bearer key, and authorizes them by what `PAYOUTS_API_KEYS_FILE` allows. */
import type { FastifyRequest } from 'fastify';
import { bearerKey, findKey } from '../../config/bearer-keys.ts';
import { type Caller, type Callers, TEST_CALLER, type Verb } from '../../config/callers.ts';
import { compareMoney, type Money } from '../../domain/money.ts';
import type { CheckedPayoutRequest } from '../../domain/payout.ts';
import { requireOneHeader } from './bodies.ts';
import { Problem } from './problem.ts';

const authenticated = new WeakMap<FastifyRequest, Caller>();

/** The caller of a request, after `callerOf` has found it. */
export function authenticatedCaller(request: FastifyRequest): Caller | undefined {
  return authenticated.get(request);
}

/** Throws a 401 if the key is missing or unknown, and a 400 if there are several. */
export function callerOf({ keys }: Callers, request: FastifyRequest): Caller {
  return authenticate(request, keys.length === 0 ? TEST_CALLER : byKey(keys, request));
}

/** Records the caller of a request for the audit trail. */
export function authenticate(request: FastifyRequest, caller: Caller): Caller {
  authenticated.set(request, caller);
  return caller;
}

function byKey(keys: Callers['keys'], request: FastifyRequest): Caller {
  requireOneHeader(request, 'authorization');
  const key = bearerKey(request.headers.authorization);
  if (key === undefined) throw new Problem('key-missing', 'a bearer key is required');
  return withKey(keys, key).caller;
}

/** The entry of a key. Throws a 401 if it is unknown or has expired. */
export function withKey(keys: Callers['keys'], key: string): Callers['keys'][number] {
  const known = findKey(keys, key);
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

/** The ids in a request. An id that is not known is undefined. */
interface ScopedIds {
  clientId?: string;
  payerId?: string | undefined;
  openId?: string | undefined;
}

const SCOPES = [
  ['clientId', 'clientIds', 'client-not-allowed'],
  ['payerId', 'payerIds', 'payer-not-allowed'],
  ['openId', 'openIds', 'user-not-allowed'],
] as const;

/**
 * Requires that the key's lists contain the ids that `named` has a key for. `prefix` identifies the request, such as
 * `row 17: `.
 */
export function requireScope(caller: Caller, named: ScopedIds, prefix = ''): void {
  for (const [id, list, kind] of SCOPES) {
    const allowed = caller[list];
    if (allowed === undefined || !(id in named)) continue;
    const value = named[id];
    if (value === undefined || !allowed.includes(value))
      throw new Problem(kind, `${prefix}this key does not include that ${id}`);
  }
}

/** Whether the key is limited to clients, payers or users. */
export function isScoped(caller: Caller): boolean {
  return SCOPES.some(([, list]) => caller[list] !== undefined);
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
  requireAmount(caller, request.instructedAmount, prefix);
}

function requireAmount({ largestAmount }: Caller, amount: Money, prefix: string): void {
  if (largestAmount === 'any') return;
  const largest = largestAmount[amount.currency];
  if (largest === undefined)
    throw new Problem(
      'currency-not-allowed',
      `${prefix}this key does not include payouts in ${amount.currency}`,
    );
  if (compareMoney(amount, { currency: amount.currency, amount: largest }) > 0)
    throw new Problem(
      'amount-too-large',
      `${prefix}the amount exceeds the limit of this key, ${largest} ${amount.currency}`,
    );
}
