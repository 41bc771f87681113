/** A rate limiter whose lease this process owns as long as the test needs it. */

import type { GatedCall } from '../../src/payments/options.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { RateLimiter, type Term } from '../../src/workers/rate-limit/limiter.ts';
import { FakeClock } from './fake-clock.ts';
import type { WorldOptions } from './payout-world.ts';

export const CALL_TIMEOUT_MS = 20_000;

/** An app_id may contain characters with a meaning in a workflow id, a queue name, a query or a URL. */
export const STRANGE_APP_IDS = { east: 'app:1', north: "it's/2%3A", west: '../west?x=1#"' };

/** The content of `PAYOUTS_APPS_FILE`. */
export function appsOf(appIds: Record<string, string>) {
  const entries = Object.entries(appIds).map(([app, appId]) => [
    app,
    { appId, appSecret: 'env:PAYMENTS_APP_SECRET' },
  ]);
  return Object.fromEntries(entries);
}

/** A world without workers yet, whose provider counts strictly, and where polls take fewer calls than creates. */
export function strictWorld(limit: number): WorldOptions {
  return {
    idle: true,
    settings: { callsPerSecond: limit, repeatedCreate: 'refuse' },
    env: {
      PAYOUTS_POLL_FIRST: '4s',
      PAYOUTS_POLL_MAX: '6s',
      PAYMENTS_REPEATED_CREATE: 'safe',
      PAYMENTS_CALLS_PER_SECOND: `${limit}`,
      PAYMENTS_CALL_TIMEOUT: '2s',
    },
  };
}

/** A busy lease that stays valid. */
export const TERM: Term = {
  callsPerSecond: 20,
  mode: 'busy',
  isPaused: false,
  silentMs: 0,
  isValid: () => true,
  renew: () => undefined,
};

/** For a client that talks to a real server. */
export function realLimiter(callsPerSecond: number, over: Partial<Term> = {}): RateLimiter {
  const limiter = new RateLimiter(PROCESS_RUNTIME.clock, CALL_TIMEOUT_MS);
  limiter.open({ ...TERM, callsPerSecond, ...over });
  return limiter;
}

export function openLimiter(callsPerSecond: number, over: Partial<Term> = {}) {
  const clock = new FakeClock();
  const limiter = new RateLimiter(clock, CALL_TIMEOUT_MS);
  limiter.open({ ...TERM, callsPerSecond, ...over });
  return { limiter, clock };
}

/** One call, written as soon as possible, and answered at once. */
export async function send(
  limiter: RateLimiter,
  operation: GatedCall['operation'] = 'tradeResult',
  options: Omit<GatedCall, 'operation'> = {},
): Promise<boolean> {
  const call = { operation, ...options };
  await limiter.pass(call);
  const written = limiter.mayWrite(call);
  limiter.finished(call, written ? 'answered' : 'not-sent');
  return written;
}

/** The most calls in any second that begins with a call. */
export function mostInOneSecond(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
}
