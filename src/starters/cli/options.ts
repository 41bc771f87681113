/** What options may hold. Loads nothing of Temporal: whatever is wrong with a call is told at once. */

import type { PayoutFilter } from '../../client/payout-list.ts';
import { APP_NAME } from '../../contract/ids.ts';
import { dayBounds } from '../../domain/daily-report.ts';
import { OUTCOMES, PHASES } from '../../domain/payout.ts';
import { UsageError } from './answer.ts';

export interface ListOptions {
  phase?: string | undefined;
  outcome?: string | undefined;
  attention?: boolean | undefined;
  app?: string | undefined;
  limit: string;
}

export interface RateLimitOptions {
  /** A whole number, or `default`. */
  callsPerSecond?: string | undefined;
  by?: string | undefined;
}

export interface RateChange {
  callsPerSecond: number | null;
  by: string;
}

export function checkedApp(app: string): string {
  if (!APP_NAME.test(app))
    throw new UsageError('--app must be 1 to 32 lower case letters, digits and hyphens');
  return app;
}

export function checkedLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1) throw new UsageError('--limit must be a whole number from 1');
  return limit;
}

export function checkedFilter({ phase, outcome, attention, app }: ListOptions): PayoutFilter {
  return {
    phase: oneOf('--phase', phase, PHASES),
    outcome: oneOf('--outcome', outcome, OUTCOMES),
    attention,
    app: app === undefined ? undefined : checkedApp(app),
  };
}

/** Today by default. */
export function checkedDay(day = new Date().toISOString().slice(0, 10)): string {
  if (!dayBounds(day)) throw new UsageError('--day must be a date such as 2026-01-31');
  return day;
}

/** Undefined where the rate is only looked at. */
export function checkedRate({ callsPerSecond, by }: RateLimitOptions): RateChange | undefined {
  if (callsPerSecond === undefined) return undefined;
  if (by === undefined) throw new UsageError('--by must name who changes it');
  return { callsPerSecond: rateOf(callsPerSecond), by };
}

function rateOf(text: string): number | null {
  if (text === 'default') return null;
  const rate = Number(text);
  if (!/^\d+$/.test(text) || rate < 1 || rate > 10_000)
    throw new UsageError('--calls-per-second must be a whole number from 1 to 10000, or default');
  return rate;
}

function oneOf<T extends string>(
  option: string,
  value: string | undefined,
  known: readonly T[],
): T | undefined {
  const found = known.find((word) => word === value);
  if (value !== undefined && found === undefined)
    throw new UsageError(`${option} must be one of ${known.join(', ')}`);
  return found;
}
