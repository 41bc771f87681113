/** `rate-limit`: shows an application's rate limit and lease owner, and changes the rate without a restart. */
import { type RateLimit, RateLimits } from '../rate-limits.ts';
import { type Answer, UsageError } from './answer.ts';
import type { Session } from './session.ts';
import { facts } from './text.ts';

export interface RateLimitOptions {
  app: string;
  /** A whole number, or `default`. */
  callsPerSecond?: string | undefined;
  by?: string | undefined;
}

export async function rateLimit(
  session: Session,
  { app, callsPerSecond, by }: RateLimitOptions,
): Promise<Answer> {
  if (session.environment === undefined)
    throw new UsageError('PAYMENTS_ENVIRONMENT: must name the environment');
  const rateLimits = new RateLimits(session.client, session.environment);
  if (callsPerSecond === undefined) return answer(await session.soon(() => rateLimits.state(app)));
  if (by === undefined) throw new UsageError('--by must name who changes it');
  const rate = rateOf(callsPerSecond);
  return answer(await session.soon(() => rateLimits.setCallsPerSecond(app, rate, by)));
}

function rateOf(text: string): number | null {
  if (text === 'default') return null;
  const rate = Number(text);
  if (!/^\d+$/.test(text) || rate < 1 || rate > 10_000)
    throw new UsageError('--calls-per-second must be a whole number from 1 to 10000, or default');
  return rate;
}

function answer(rateLimit: RateLimit): Answer {
  const { app, callsPerSecond, changedBy, owner } = rateLimit;
  return {
    json: rateLimit,
    text: facts([
      ['application', app],
      ['calls a second', callsPerSecond === null ? "by the workers' configuration" : `${callsPerSecond}`],
      ['set by', changedBy ?? undefined],
      ['owner', owner ?? 'none just now'],
    ]),
  };
}
