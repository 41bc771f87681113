import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { GatedCall } from '../../src/payments/options.ts';
import { sleep } from '../../src/runtime/runtime.ts';
import { RateLimiter, type Term } from '../../src/workers/rate-limit/limiter.ts';
import { AdaptiveMargin, RoundTrips, SendWindow } from '../../src/workers/rate-limit/window.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { CALL_TIMEOUT_MS, mostInOneSecond, TERM } from '../support/rate-limit.ts';

const LIMIT = 20;

interface Provider {
  /** Its fastest answer, and the spread of the others. */
  answersAfterMs: number;
  variesByMs: number;
  /** Occasional stalls of the provider or the network: [every, for]. */
  stalls: readonly [number, number];
  /** From a call's turn to its first byte. */
  claimTakesMs: number;
  /** One call in this many is never answered. */
  neverAnswers: number;
  /** By how much the delays of requests differ. */
  jitterMs: number;
  /** How long each owner keeps the lease. */
  termMs?: number;
}

/** A margin after a 429: nothing but proofs is trusted. */
const WARY = { marginMs: 30 };

/** Sends calls as fast as the limiter allows. Returns when each arrived, and how many got 429, once the limit counts. */
async function arrivalsAt(provider: Provider, calls: number, random: () => number, over: Partial<Term> = {}) {
  const clock = new FakeClock();
  const limiters = [1, 2].map(() => new RateLimiter(clock, CALL_TIMEOUT_MS));
  const ofLease = { ...TERM, callsPerSecond: LIMIT, ...over };
  let owner = limiters[0];
  owner?.open(ofLease);
  let isOver = false;
  const handOver = async (): Promise<void> => {
    await sleep(clock, provider.termMs ?? 0);
    await owner?.drain();
    const before = owner?.close();
    await sleep(clock, random() * 100);
    owner = limiters[random() < 0.3 ? 0 : 1];
    owner?.open({ ...ofLease, ...before });
    if (!isOver) await handOver();
  };
  if (provider.termMs !== undefined) void handOver();
  /** By whichever process owns the lease. */
  const sendBy = async (call: GatedCall): Promise<RateLimiter> => {
    for (;;) {
      const limiter = owner;
      const isItsTurn = await limiter?.pass(call).then(
        () => true,
        () => false,
      );
      if (isItsTurn) await sleep(clock, random() * provider.claimTakesMs);
      if (isItsTurn && limiter?.mayWrite(call)) return limiter;
      limiter?.finished(call, 'not-sent');
      await sleep(clock, 50);
    }
  };
  const begunMs = clock.nowMs();
  const arrivals: number[] = [];
  const served: number[] = [];
  let limited = 0;
  const servedBy = (ms: number) => 1 + served.filter((at) => at > ms - 1_000).length;
  const [everyMs, forMs] = provider.stalls;
  const goesOnAt = (ms: number) => {
    const into = (ms - begunMs) % (everyMs + forMs);
    return into < everyMs ? ms : ms + (everyMs + forMs - into);
  };
  const one = async (number: number) => {
    const call: GatedCall = { operation: number % 3 === 0 ? 'quote' : 'tradeResult' };
    const limiter = await sendBy(call);
    const arrivesMs = goesOnAt(clock.nowMs() + 10 + random() * provider.jitterMs);
    await sleep(clock, arrivesMs - clock.nowMs());
    arrivals.push(clock.nowMs());
    const isLimited = servedBy(clock.nowMs()) > LIMIT;
    if (!isLimited) served.push(clock.nowMs());
    else limited += 1;
    const silent = random() * provider.neverAnswers < 1;
    // Some calls of each operation are as fast as possible.
    const variesMs = number % 4 === 0 ? 0 : random() * provider.variesByMs;
    await sleep(clock, silent ? 20_000 : provider.answersAfterMs + variesMs);
    await sleep(clock, goesOnAt(clock.nowMs()) - clock.nowMs());
    if (isLimited) limiter.limited(undefined);
    limiter.finished(call, silent ? 'unanswered' : 'answered');
  };
  const all = Promise.all(Array.from({ length: calls }, (_, number) => one(number)));
  await clock.until(all);
  isOver = true;
  return { arrivals: arrivals.sort((first, second) => first - second), limited };
}

/** The same numbers in each run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const STEADY: Provider = {
  answersAfterMs: 50,
  variesByMs: 100,
  stalls: [1e9, 0],
  claimTakesMs: 0,
  neverAnswers: Number.POSITIVE_INFINITY,
  jitterMs: 8,
};

describe('H37 no second has more arrivals than the limit, without trust', () => {
  test('whatever the delays of the provider, the network and the claims before a send', async () => {
    const provider = fc.record({
      answersAfterMs: fc.integer({ min: 1, max: 700 }),
      variesByMs: fc.integer({ min: 0, max: 1_500 }),
      stalls: fc.tuple(fc.integer({ min: 3_000, max: 9_000 }), fc.integer({ min: 0, max: 8_000 })),
      claimTakesMs: fc.integer({ min: 0, max: 500 }),
      jitterMs: fc.constant(8),
      neverAnswers: fc.constantFrom(Number.POSITIVE_INFINITY, 30, 5),
    });
    await fc.assert(
      fc.asyncProperty(provider, fc.nat(), async (drawn, seed) => {
        const { arrivals } = await arrivalsAt(drawn, 150, seeded(seed), WARY);
        expect(mostInOneSecond(arrivals)).toBeLessThanOrEqual(LIMIT);
      }),
      { numRuns: 40 },
    );
  });

  test('whatever process owns the lease', async () => {
    const provider = fc.record({
      answersAfterMs: fc.integer({ min: 1, max: 700 }),
      variesByMs: fc.integer({ min: 0, max: 1_500 }),
      stalls: fc.tuple(fc.integer({ min: 3_000, max: 9_000 }), fc.integer({ min: 0, max: 8_000 })),
      claimTakesMs: fc.integer({ min: 0, max: 500 }),
      jitterMs: fc.constant(8),
      neverAnswers: fc.constantFrom(Number.POSITIVE_INFINITY, 30),
      termMs: fc.integer({ min: 200, max: 6_000 }),
    });
    await fc.assert(
      fc.asyncProperty(provider, fc.nat(), async (drawn, seed) => {
        const { arrivals } = await arrivalsAt(drawn, 100, seeded(seed), WARY);
        expect(mostInOneSecond(arrivals)).toBeLessThanOrEqual(LIMIT);
      }),
      { numRuns: 5 },
    );
  });

  test('a stalled provider gets at most the limit until it answers again', async () => {
    const { arrivals } = await arrivalsAt({ ...STEADY, stalls: [2_000, 10_000] }, 60, seeded(1), WARY);
    const atOnce = arrivals.filter((at) => arrivals.filter((other) => other === at).length > 1);
    expect(atOnce.length).toBeGreaterThan(1);
    expect(mostInOneSecond(arrivals)).toBeLessThanOrEqual(LIMIT);
  });
});

/** The utilization in the last three quarters: at first, little is known about round trips. */
function utilization(arrivals: readonly number[]): number {
  const later = arrivals.slice(arrivals.length / 4);
  const seconds = ((later.at(-1) ?? 0) - (later[0] ?? 0)) / 1_000;
  return later.length / LIMIT / seconds;
}

describe('H37 trust', () => {
  test.each([
    ['an answer takes 50 to 150 ms', STEADY],
    ['an answer takes 50 to 400 ms', { ...STEADY, variesByMs: 350 }],
    ['an answer takes 200 to 600 ms', { ...STEADY, answersAfterMs: 200, variesByMs: 400 }],
    ['an answer takes a constant 3 s', { ...STEADY, answersAfterMs: 3_000, variesByMs: 0 }],
    ['a claim takes up to 10 ms', { ...STEADY, claimTakesMs: 10 }],
  ] as const)('%s: nearly the whole limit is used, without a 429', async (_what, provider) => {
    const { arrivals, limited } = await arrivalsAt(provider, 2_500, seeded(7));
    expect(limited).toBe(0);
    expect(mostInOneSecond(arrivals)).toBeLessThanOrEqual(LIMIT);
    expect(utilization(arrivals)).toBeGreaterThan(0.975);
  });

  test.each([
    ['requests take 10 to 60 ms', { ...STEADY, jitterMs: 50 }, 0.88],
    ['requests and answers vary', { ...STEADY, jitterMs: 30, variesByMs: 350 }, 0.8],
    ['the provider stalls', { ...STEADY, stalls: [30_000, 300] as const }, 0.85],
  ] as const)('%s: the first 429s end it', async (_what, provider, least) => {
    const { arrivals, limited } = await arrivalsAt(provider, 2_500, seeded(7));
    expect(limited).toBeGreaterThan(0);
    expect(limited).toBeLessThanOrEqual(5);
    expect(utilization(arrivals)).toBeGreaterThan(least);
    const before = arrivals.slice(0, arrivals.length / 2);
    const after = arrivals.slice(arrivals.length / 2);
    expect(mostInOneSecond(before)).toBeGreaterThan(LIMIT);
    expect(mostInOneSecond(after)).toBeLessThanOrEqual(LIMIT);
  });

  test('the next owner trusts nothing after a 429', () => {
    const before = new AdaptiveMargin();
    for (let count = 0; count < 1_000; count += 1) before.noteAtLimit(0);
    expect(before.trust).toBe(1);
    before.widen(0);
    const next = new AdaptiveMargin();
    next.start(0, before.valueMs(60_000));
    for (let count = 0; count < 1_000; count += 1) next.noteAtLimit(60_000);
    expect([before.trust, next.trust]).toEqual([0, 0]);
    const returned = new AdaptiveMargin();
    for (let count = 0; count < 1_000; count += 1) returned.noteAtLimit(0);
    returned.start(0, before.valueMs(60_000));
    expect(returned.trust).toBe(0);
    for (let count = 0; count < 100; count += 1) next.noteAtLimit(7_200_000);
    expect(next.trust).toBe(0.5);
  });
});

describe('H37 the window', () => {
  test('a call that had its turn holds a place until it is written or withdrawn', () => {
    const window = new SendWindow(CALL_TIMEOUT_MS);
    for (let count = 0; count < 3; count += 1) window.begin();
    expect(window.msUntilRoom(0, 3, 0, 0)).toBe(Number.POSITIVE_INFINITY);
    const call = window.written('quote', 100);
    window.answered(call, 110);
    // It arrived at 110 at the latest.
    expect(window.msUntilRoom(110, 3, 5, 0)).toBe(1_005);
    window.dropped();
    expect(window.msUntilRoom(110, 3, 0, 0)).toBe(0);
  });

  test('an answer proves that earlier calls have arrived, and bounds how late each was', () => {
    const window = new SendWindow(CALL_TIMEOUT_MS);
    const send = (atMs: number) => {
      window.begin();
      return window.written('quote', atMs);
    };
    window.answered(send(0), 40);
    for (let count = 1; count < 30; count += 1) window.answered(send(count), count + 40);
    const early = send(1_000);
    const late = send(1_300);
    window.answered(late, 1_400);
    // The fastest round trip is 40 ms: everything sent earlier had arrived 40 ms before this answer.
    expect(early.late?.maxMs).toBeCloseTo(360, 0);
    expect(late.late?.maxMs).toBeCloseTo(60, 0);
  });

  test('a call without an answer keeps its place while answers are overdue', () => {
    const window = new SendWindow(CALL_TIMEOUT_MS);
    window.begin();
    window.answered(window.written('quote', 0), 40);
    window.begin();
    const silent = window.written('quote', 2_000);
    expect(window.msUntilRoom(9_000, 1, 0, 0)).toBeGreaterThan(0);
    window.unanswered(silent, 9_000);
    expect(window.msUntilRoom(9_000, 1, 0, 0)).toBe(1_000);
  });

  test('the fastest round trip is known only after several, and old ones expire', () => {
    const trips = new RoundTrips();
    for (let count = 0; count < 29; count += 1) trips.observe('quote', 100, count);
    expect(trips.estimate('quote').fastestMs).toBe(0);
    trips.observe('quote', 100, 29);
    expect(trips.estimate('quote').fastestMs).toBe(100);
    for (let at = 60_000; at < 180_000; at += 1_000) trips.observe('quote', 3_000, at);
    expect(trips.estimate('quote').fastestMs).toBe(3_000);
    // The fastest of a few widely different ones may be far from the fastest possible.
    for (let count = 0; count < 40; count += 1) trips.observe('accounts', 100 + 10 * count, count);
    expect(trips.estimate('accounts').fastestMs).toBeLessThan(90);
  });
});

describe('H37 the margin', () => {
  test('widens on a 429, shrinks slowly, and stays within its bounds', () => {
    const margin = new AdaptiveMargin();
    expect(margin.valueMs(0)).toBe(15);
    margin.widen(0);
    expect(margin.valueMs(0)).toBe(30);
    expect(margin.valueMs(1_200_000)).toBe(20);
    for (let times = 0; times < 10; times += 1) margin.widen(1_200_000);
    expect(margin.valueMs(1_200_000)).toBe(60);
    expect(margin.valueMs(100_000_000)).toBe(15);
  });

  test('the next owner starts with the learned margin', () => {
    const margin = new AdaptiveMargin();
    margin.start(0, 55);
    expect(margin.valueMs(0)).toBe(55);
    margin.start(0, Number.NaN);
    expect(margin.valueMs(0)).toBe(55);
  });
});
