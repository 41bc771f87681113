/** One check of `doctor`: what it found, and what to do. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClockOffset } from '../../../domain/time.ts';
import { messageOf } from '../../../temporal/client-errors.ts';

/** `unknown`: cannot be determined from this machine. Does not make doctor fail. */
export type Verdict = 'ok' | 'problem' | 'unknown';

export interface Check {
  check: string;
  verdict: Verdict;
  detail: string;
  advice?: string;
}

/** A check that also read a clock. */
export interface CheckWithClock {
  check: Check;
  clock?: ClockOffset;
}

export function ok(check: string, detail: string): Check {
  return { check, verdict: 'ok', detail };
}

export function problem(check: string, detail: string, advice: string): Check {
  return { check, verdict: 'problem', detail, advice };
}

export function unknown(check: string, detail: string, advice: string): Check {
  return { check, verdict: 'unknown', detail, advice };
}

/** The result of `run`, or `unknown` with the message of the error that it throws. */
export async function checkOrUnknown(
  check: string,
  advice: string,
  run: () => Promise<Check>,
): Promise<Check> {
  return run().catch((error: unknown) => unknown(check, messageOf(error), advice));
}

/** Calls `look` until it resolves with a value. Undefined if it has none within `withinMs`. */
export async function until<T>(
  look: () => Promise<T | undefined>,
  everyMs: number,
  withinMs: number,
): Promise<T | undefined> {
  for (let waitedMs = 0; ; waitedMs += everyMs) {
    const found = await look();
    if (found !== undefined || waitedMs >= withinMs) return found;
    await sleep(everyMs);
  }
}
