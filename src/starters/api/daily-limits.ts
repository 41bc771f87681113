/** Starts payouts within the daily limits of a caller. */
import type { Caller } from '../../config/callers.ts';
import type { CheckedPayoutRequest } from '../../contract/payout-request.ts';
import { hasDailyLimits } from '../../domain/daily-limits.ts';
import type { Clients } from './clients.ts';

interface Start<T> {
  /** What an earlier start of the same body returned. Undefined if there was none. */
  find(): Promise<T | undefined>;
  start(): Promise<T>;
}

/**
 * Reserves the payouts, then starts them. What exists already is returned without a reservation: a repeated start gets the
 * same answer when the limit is exhausted. Throws `DailyLimitError`; then nothing was started.
 */
export async function withinDailyLimits<T>(
  { allowances }: Clients,
  caller: Caller,
  requests: readonly CheckedPayoutRequest[],
  { find, start }: Start<T>,
): Promise<T> {
  if (!hasDailyLimits(caller)) return start();
  const known = await find();
  if (known !== undefined) return known;
  const name = caller.actsFor ?? caller.name;
  await allowances.reserve(name, caller, requests);
  return start();
}
