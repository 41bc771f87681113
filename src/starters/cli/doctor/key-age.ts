/**
 * Whether the key that encrypts payloads is due for rotation. Nothing records how often a key was used since it was made, so its
 * age stands for that: at 20 calls per second, half of its 2^32 payloads take 180 days. Its id carries the day. The
 * alert `PayoutsKeyWearsOut` is for higher rates.
 */
import { DAY_MS } from '../../../domain/time.ts';
import { type Finding, ok, problem, unknown } from './checks.ts';

const ROTATE_AFTER_DAYS = 180;
const PAGE = 'docs/operations.md, How long a key lasts';

export function checkKeyAge(keyId: string, nowMs: number): Finding {
  const day = /\d{4}-\d{2}-\d{2}/.exec(keyId)?.[0] ?? '';
  const days = Math.floor((nowMs - Date.parse(day)) / DAY_MS);
  // An hour of a zone that is ahead of this clock is no error.
  if (Number.isNaN(days) || days < -1)
    return unknown(
      `the ID ${keyId} carries no day on which the key was made`,
      `give the next key such an ID (${PAGE})`,
    );
  const age = `${keyId} is ${Math.max(0, days)} days old`;
  return days <= ROTATE_AFTER_DAYS
    ? ok(age)
    : problem(age, `rotate it: at full rate, it wears out in a year (${PAGE})`);
}
