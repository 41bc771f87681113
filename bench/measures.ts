/** From the simulator's log of calls to figures. */
import type { SimulatorControlClient } from '../simulator/control-client.ts';

type Calls = Awaited<ReturnType<SimulatorControlClient['calls']>>;

export interface CallFigures {
  /** Calls served over what the limit allows, without the first and the last second. */
  utilisation: number;
  answered429: number;
  maxCallsInAnySecond: number;
  calls: number;
  seconds: number;
}

export function callFigures(calls: Calls, limit: number): CallFigures {
  const served = calls.filter(({ status }) => status !== 429).map(({ atMs }) => atMs);
  const from = (served[0] ?? 0) + 1_000;
  const until = (served.at(-1) ?? 0) - 1_000;
  const inside = served.filter((at) => at >= from && at < until).length;
  const seconds = Math.max(0, until - from) / 1_000;
  return {
    utilisation: seconds > 0 ? round(inside / (limit * seconds), 4) : 0,
    answered429: calls.filter(({ status }) => status === 429).length,
    maxCallsInAnySecond: mostInOneSecond(calls.map(({ atMs }) => atMs)),
    calls: calls.length,
    seconds: round(((served.at(-1) ?? 0) - (served[0] ?? 0)) / 1_000, 1),
  };
}

/** Times ascend. */
export function mostInOneSecond(times: readonly number[]): number {
  let [first, most] = [0, 0];
  for (const [at, time] of times.entries()) {
    while ((times[first] ?? 0) <= time - 1_000) first += 1;
    most = Math.max(most, at - first + 1);
  }
  return most;
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((one, two) => one - two);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
