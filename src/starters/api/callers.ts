/** Who calls, and what they may: nothing that is not written down for their key. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Caller, type Callers, TEST_CALLER, type Verb } from '../../config/callers.ts';
import { compareMoney, type Money } from '../../domain/money.ts';
import { Problem } from './problem.ts';

/** Throws a 401 without a key, or with one that nobody has. */
export function callerOf({ keys }: Callers, authorization: string | undefined): Caller {
  if (keys.length === 0) return TEST_CALLER;
  const [, key] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (key === undefined) throw new Problem(401, 'a bearer key is needed');
  const given = createHash('sha256').update(key).digest();
  // All are compared, each in constant time, so that the time tells nothing about any of them.
  const [known] = keys.filter(({ hash }) => timingSafeEqual(hash, given));
  if (!known) throw new Problem(401, 'this bearer key is not known');
  return known.caller;
}

export function demandVerb({ verbs }: Caller, verb: Verb): void {
  if (!verbs.includes(verb)) throw new Problem(403, `this key may not ${verb}`);
}

export function demandApplication({ applications }: Caller, app: string): void {
  if (applications !== 'any' && !applications.includes(app))
    throw new Problem(403, 'this key may not act for that application');
}

/** `which` says whose amount it is, such as `row 17: `. */
export function demandAmount({ largestAmount }: Caller, amount: Money, which = ''): void {
  if (largestAmount === 'any') return;
  const largest = largestAmount[amount.currency];
  if (largest === undefined) throw new Problem(403, `${which}this key may not pay ${amount.currency}`);
  if (compareMoney(amount, { currency: amount.currency, amount: largest }) > 0)
    throw new Problem(403, `${which}the amount is over this key's largest, ${largest} ${amount.currency}`);
}
