/** Authenticates callers by bearer key, and authorizes them by what `PAYOUTS_API_KEYS_FILE` allows. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { type Caller, type Callers, TEST_CALLER, type Verb } from '../../config/callers.ts';
import { compareMoney, type Money } from '../../domain/money.ts';
import { requireOneHeader } from './bodies.ts';
import { Problem } from './problem.ts';

const authenticated = new WeakMap<FastifyRequest, Caller>();

/** The caller of a request, after `callerOf` has found it. */
export function authenticatedCaller(request: FastifyRequest): Caller | undefined {
  return authenticated.get(request);
}

/** Throws a 401 if the key is missing or unknown, and a 400 if there are several. */
export function callerOf({ keys }: Callers, request: FastifyRequest): Caller {
  const caller = keys.length === 0 ? TEST_CALLER : byKey(keys, request);
  authenticated.set(request, caller);
  return caller;
}

function byKey(keys: Callers['keys'], request: FastifyRequest): Caller {
  requireOneHeader(request, 'authorization');
  const [, key] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (key === undefined) throw new Problem(401, 'a bearer key is required');
  const given = createHash('sha256').update(key).digest();
  // Compares with every key, each in constant time, so that the timing reveals nothing about the keys.
  const [known] = keys.filter(({ hash }) => timingSafeEqual(hash, given));
  if (!known) throw new Problem(401, 'the bearer key is unknown');
  return known.caller;
}

export function requireVerb({ verbs }: Caller, verb: Verb): void {
  if (!verbs.includes(verb)) throw new Problem(403, `this key lacks the verb ${verb}`);
}

export function requireApplication({ applications }: Caller, app: string): void {
  if (applications !== 'any' && !applications.includes(app))
    throw new Problem(403, 'this key does not include that application');
}

/** `prefix` identifies the amount, such as `row 17: `. */
export function requireAmount({ largestAmount }: Caller, amount: Money, prefix = ''): void {
  if (largestAmount === 'any') return;
  const largest = largestAmount[amount.currency];
  if (largest === undefined)
    throw new Problem(403, `${prefix}this key does not include payouts in ${amount.currency}`);
  if (compareMoney(amount, { currency: amount.currency, amount: largest }) > 0)
    throw new Problem(
      403,
      `${prefix}the amount exceeds the limit of this key, ${largest} ${amount.currency}`,
    );
}
