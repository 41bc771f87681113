/** The arithmetic of the benchmarks, on call logs with known figures. */
import { describe, expect, test } from 'vitest';
import { type Figures, figuresSchema, figuresText } from '../../bench/figures.ts';
import {
  type Calls,
  callFigures,
  callsInSlidingSecond,
  mostInOneSecond,
  percentile,
  percentiles,
} from '../../bench/measures.ts';
import { cpuMs, rssMiB } from '../../bench/process-use.ts';
import { roundRobinDetects } from '../../bench/round-robin.ts';
import { sample } from '../../bench/seeded.ts';

function call(atMs: number, over: Partial<Calls[number]> = {}): Calls[number] {
  return {
    at: new Date(atMs).toISOString(),
    atMs,
    operation: 'queryResult',
    appId: 'app',
    partnerOrderId: null,
    status: 200,
    code: 200,
    token: 'valid',
    fault: null,
    ...over,
  };
}

function every(stepMs: number, count: number, fromMs = 0): Calls {
  return Array.from({ length: count }, (_, at) => call(fromMs + at * stepMs));
}

describe('use of the rate limit', () => {
  test('calls at exactly the limit use all of it, and half as many use half', () => {
    expect(callFigures(every(50, 400), 20).utilisation).toBeCloseTo(1, 2);
    expect(callFigures(every(100, 200), 20).utilisation).toBeCloseTo(0.5, 2);
  });

  test('rate-limited calls count as 429 and not as use', () => {
    const busyAnswers = every(50, 400).map((one, at) => (at % 2 === 0 ? { ...one, status: 429 } : one));
    const { utilisation, answered429 } = callFigures(busyAnswers, 20);
    expect(utilisation).toBeCloseTo(0.5, 2);
    expect(answered429).toBe(200);
  });

  test('time before the first payout is not idle time', () => {
    const warm = call(-10_000, { operation: 'oauthToken' });
    expect(callFigures([warm, ...every(50, 400)], 20).utilisation).toBeCloseTo(1, 2);
  });

  test('a log of token calls only has no figures, and neither has an empty log', () => {
    const token = call(0, { operation: 'oauthToken' });
    expect(callFigures([token], 20)).toMatchObject({ utilisation: 0, calls: 0 });
    expect(callFigures([], 20)).toMatchObject({ utilisation: 0, maxCallsInAnySecond: 0 });
  });

  test('a second holds the calls that arrived within less than 1000 ms', () => {
    expect(mostInOneSecond([0, 500, 999])).toBe(3);
    expect(mostInOneSecond([0, 500, 1_000])).toBe(2);
  });

  test('a burst across two clock seconds counts in the second in which it ends', () => {
    expect(callsInSlidingSecond([0, 900, 950, 1_050, 1_100, 3_500])).toEqual([3, 4, 0, 1]);
  });
});

describe('distributions', () => {
  test('percentiles are measured values', () => {
    const values = [5, 1, 4, 2, 3];
    expect(percentile(values, 0.5)).toBe(3);
    expect(percentile(values, 0.99)).toBe(5);
    expect(percentiles(values)).toHaveLength(101);
    expect(percentiles(values).at(0)).toBe(1);
    expect(percentiles(values).at(-1)).toBe(5);
  });

  test('a seeded choice is reproducible and draws no value twice', () => {
    const list = Array.from({ length: 100 }, (_, at) => at);
    expect(sample(list, 10)).toEqual(sample(list, 10));
    expect(new Set(sample(list, 50)).size).toBe(50);
    expect(sample(list, 10, 2)).not.toEqual(sample(list, 10, 1));
  });
});

describe('lower bound for polling', () => {
  const open = (count: number) => Array.from({ length: count }, () => Number.POSITIVE_INFINITY);

  test('one payout alone is polled without a pause', () => {
    expect(roundRobinDetects({ finalAtMs: [1_020], callsPerSecond: 20 })).toEqual([30]);
  });

  test('a payout that becomes final right after its poll waits for a full round', () => {
    expect(roundRobinDetects({ finalAtMs: [51, ...open(99)], callsPerSecond: 20 })).toEqual([4_999]);
  });

  test('each payout found final costs one more call', () => {
    expect(roundRobinDetects({ finalAtMs: [0, 0, 0], callsPerSecond: 20 })).toEqual([50, 150, 250]);
  });
});

test('a process reports CPU time and memory', () => {
  expect(cpuMs(process.pid)).toBeGreaterThan(0);
  expect(rssMiB(process.pid)).toBeGreaterThan(10);
});

test('the JSON text of figures parses back to the same figures, with each list on one line', () => {
  const about = { measuredAt: '2026-01-01T00:00:00.000Z', node: 'v20', engine: 'e', machine: 'm', scale: 1 };
  const waiting = {
    openPayouts: 1,
    workerRss: 2,
    workerRssAfterResume: 3,
    resumeAll: 4,
    resumeWorkerReady: 5,
  };
  const figures: Figures = { waiting: { ...about, ...waiting, settings: { spans: [50, 150] } } };
  const text = figuresText(figures);
  expect(figuresSchema.parse(JSON.parse(text))).toEqual(figures);
  expect(text).toContain('"spans": [50, 150]');
});
