/** Computes figures from the simulator's call log. */
import type { SimulatorControlClient } from '../simulator/control/client.ts';

export type Calls = Awaited<ReturnType<SimulatorControlClient['calls']>>;

/** Not part of a payout: processes fetch their token before there are payouts. */
const TOKEN_CALLS: readonly string[] = ['oauthToken', 'token'];

export interface CallFigures {
  /** Served calls divided by the calls that the limit allows, without the first and the last second. */
  utilisation: number;
  answered429: number;
  maxCallsInAnySecond: number;
  calls: number;
  seconds: number;
}

/** From the first call of a payout. */
export function callFigures(all: Calls, limit: number): CallFigures {
  const first = all.findIndex(({ operation }) => !TOKEN_CALLS.includes(operation));
  const calls = first < 0 ? [] : all.slice(first);
  const served = calls.filter(({ status }) => status !== 429).map(({ atMs }) => atMs);
  return {
    utilisation: utilization(served, limit),
    answered429: calls.filter(({ status }) => status === 429).length,
    maxCallsInAnySecond: mostInOneSecond(calls.map(({ atMs }) => atMs)),
    calls: calls.length,
    seconds: round(((served.at(-1) ?? 0) - (served[0] ?? 0)) / 1_000, 1),
  };
}

/** The utilization by calls served at these ascending times. */
export function utilization(served: readonly number[], limit: number): number {
  const from = (served[0] ?? 0) + 1_000;
  const until = (served.at(-1) ?? 0) - 1_000;
  const inside = served.filter((at) => at >= from && at < until).length;
  const seconds = Math.max(0, until - from) / 1_000;
  return seconds > 0 ? round(inside / (limit * seconds), 4) : 0;
}

/** Expects ascending times. */
export function mostInOneSecond(times: readonly number[]): number {
  return Math.max(0, ...slidingSeconds(times).map(({ calls }) => calls));
}

/** For each second since the first call, the most calls in a sliding second that ended in it. Expects ascending times. */
export function callsInSlidingSecond(times: readonly number[]): number[] {
  const [begunMs = 0] = times;
  const seconds = Math.ceil(((times.at(-1) ?? 0) - begunMs + 1) / 1_000);
  const most = Array.from({ length: times.length > 0 ? seconds : 0 }, () => 0);
  for (const { endsMs, calls } of slidingSeconds(times)) {
    const second = Math.floor((endsMs - begunMs) / 1_000);
    most[second] = Math.max(most[second] ?? 0, calls);
  }
  return most;
}

/** One sliding second for each call, because the busiest seconds end with a call. */
function slidingSeconds(times: readonly number[]): { endsMs: number; calls: number }[] {
  let first = 0;
  return times.map((endsMs, at) => {
    while ((times[first] ?? 0) <= endsMs - 1_000) first += 1;
    return { endsMs, calls: at - first + 1 };
  });
}

export function countBy<T>(list: readonly T[], nameOf: (entry: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const entry of list) counts[nameOf(entry)] = (counts[nameOf(entry)] ?? 0) + 1;
  return counts;
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((one, two) => one - two);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

/** The 0th to the 100th percentile, rounded to whole units, for a plot of the distribution. */
export function percentiles(values: readonly number[]): number[] {
  const sorted = [...values].sort((one, two) => one - two);
  return Array.from({ length: 101 }, (_, part) => round(percentile(sorted, part / 100), 0));
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
