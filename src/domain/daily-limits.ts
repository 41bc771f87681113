/** The daily limits of callers: what a caller has reserved on a day (UTC), and whether it can reserve more. */

import { recordOf } from '../contract/compact.ts';
import { fromMinorUnits, toMinorUnits } from '../contract/money.ts';
import type {
  AllowanceRecord,
  AllowanceState,
  DailyLimits,
  DailyRefusal,
  Reservation,
  ReservedPayouts,
  ReserveRequest,
  ReserveResult,
} from '../contract/workflows.ts';
import { DAY_MS, dayOf } from './time.ts';

/** A limit that isn't known can't be kept. */
const KNOWN_LIMITS: readonly string[] = ['dailyAmount', 'dailyCount'] satisfies (keyof DailyLimits)[];

export function hasDailyLimits({ dailyAmount, dailyCount }: DailyLimits): boolean {
  return dailyAmount !== undefined || dailyCount !== undefined;
}

/** Temporal accepts 2 MB per payload: so many payouts fit, whatever their amounts. As many as a batch has rows. */
export const MAX_PAYOUTS_PER_DAY = 50_000;

/** Characters of a payout's key: 132 bits, so that no caller can find two payouts with the same key. */
export const PAYOUT_KEY_LENGTH = 22;

const startOf = (day: string) => Date.parse(`${day}T00:00:00Z`);

interface Reserved {
  day: string;
  /** In hundredths, by currency. */
  sums: Map<string, bigint>;
  keys: Set<string>;
}

/** The reservations of one caller on one day. `nowMs` is the clock of the workflow, in Unix milliseconds. */
export class Allowance {
  #reserved: Reserved;

  constructor(
    nowMs: number,
    { day, sums, keys }: AllowanceRecord = { day: dayOf(nowMs), sums: {}, keys: '' },
  ) {
    const carried = Object.entries(sums).map(([currency, sum]) => [currency, BigInt(sum)] as const);
    this.#reserved = { day, sums: new Map(carried), keys: new Set(splitKeys(keys)) };
  }

  /** Never an earlier day, even if the server's clock was set back: the sums of a day don't return to zero. */
  #on(nowMs: number): Reserved {
    const day = dayOf(nowMs);
    return day > this.#reserved.day ? { day, sums: new Map(), keys: new Set() } : this.#reserved;
  }

  /** Why the payouts can't be reserved; undefined if they can. Changes nothing. */
  refusal({ limits, payouts }: Reservation, nowMs: number): DailyRefusal | undefined {
    const { day, keys, sums } = this.#on(nowMs);
    const added = additionOf(payouts, keys);
    const unknown = Object.keys(limits).find((name) => !KNOWN_LIMITS.includes(name));
    if (unknown !== undefined) return { message: `has the limit ${unknown}, which only newer workers know` };
    // A repeated reservation needs nothing, even if the limit is exhausted or was lowered.
    if (added.keys.size === 0) return undefined;
    const found = countProblem(limits, keys.size, added) ?? amountProblem(limits, sums, added);
    if (!found) return undefined;
    const { message, fitsAlone } = found;
    return fitsAlone ? { message, retryAfterMs: startOf(day) + DAY_MS - nowMs } : { message };
  }

  /** The result if none of the reservations can be made. Changes nothing. */
  refusals({ reservations }: ReserveRequest, nowMs: number): ReserveResult | undefined {
    const refusals = reservations.map((reservation) => this.refusal(reservation, nowMs));
    return refusals.every((refusal) => refusal !== undefined) ? { refusals } : undefined;
  }

  /** Reserves what the limits allow, one reservation after another. */
  reserveEach({ reservations }: ReserveRequest, nowMs: number): ReserveResult {
    const refusals = reservations.map((reservation) => {
      const refusal = this.refusal(reservation, nowMs);
      if (!refusal) this.reserve(reservation, nowMs);
      return refusal ?? null;
    });
    return { refusals };
  }

  /** Reserves the payouts, each once per day. Call it only if nothing refuses them. */
  reserve({ payouts }: Reservation, nowMs: number): AllowanceState {
    this.#reserved = this.#on(nowMs);
    const { keys, sums } = this.#reserved;
    const added = additionOf(payouts, keys);
    for (const key of added.keys) keys.add(key);
    for (const [currency, sum] of added.sums) sums.set(currency, (sums.get(currency) ?? 0n) + sum);
    return this.state();
  }

  state(): AllowanceState {
    const { day, keys, sums } = this.#reserved;
    const amounts = [...sums].map(([currency, sum]) => ({ currency, amount: fromMinorUnits(sum) }));
    return { day, count: keys.size, sums: amounts };
  }

  record(): AllowanceRecord {
    const { day, keys, sums } = this.#reserved;
    const texts = [...sums].map(([currency, sum]) => [currency, sum.toString()]);
    return { day, sums: Object.fromEntries(texts), keys: [...keys].join('') };
  }

  /** The day of the last reservation. */
  get day(): string {
    return this.#reserved.day;
  }

  /** When a whole day without reservations will be over. */
  get unusedAtMs(): number {
    return startOf(this.day) + 2 * DAY_MS;
  }
}

type Addition = Pick<Reserved, 'keys' | 'sums'>;

/** The payouts that aren't known yet. */
function additionOf(payouts: readonly ReservedPayouts[], known: ReadonlySet<string>): Addition {
  const keys = new Set<string>();
  const sums = new Map<string, bigint>();
  for (const { currency, hundredths, keys: joined } of payouts) {
    const amounts = hundredths.split(',');
    for (const [at, key] of splitKeys(joined).entries()) {
      if (known.has(key) || keys.has(key)) continue;
      keys.add(key);
      sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(amounts[at] ?? 0));
    }
  }
  return { keys, sums };
}

function splitKeys(joined: string): string[] {
  return joined.match(new RegExp(`.{${PAYOUT_KEY_LENGTH}}`, 'gs')) ?? [];
}

interface Problem {
  message: string;
  fitsAlone: boolean;
}

function countProblem({ dailyCount }: DailyLimits, count: number, { keys }: Addition): Problem | undefined {
  const largest = Math.min(dailyCount ?? MAX_PAYOUTS_PER_DAY, MAX_PAYOUTS_PER_DAY);
  if (count + keys.size <= largest) return undefined;
  const message = `allows at most ${largest} payouts per day (UTC): ${count} are reserved, and ${keys.size} more are requested`;
  return { message, fitsAlone: keys.size <= largest };
}

function amountProblem(
  { dailyAmount }: DailyLimits,
  reserved: ReadonlyMap<string, bigint>,
  { sums }: Addition,
): Problem | undefined {
  if (dailyAmount === undefined) return undefined;
  for (const [currency, sum] of sums) {
    const largest = Object.hasOwn(dailyAmount, currency) ? toMinorUnits(dailyAmount[currency] ?? '0') : 0n;
    const before = reserved.get(currency) ?? 0n;
    if (before + sum <= largest) continue;
    const [most, used, more] = [largest, before, sum].map((each) => `${fromMinorUnits(each)} ${currency}`);
    const message = `allows at most ${most} per day (UTC): ${used} are reserved, and ${more} more are requested`;
    return { message, fitsAlone: sum <= largest };
  }
  return undefined;
}

/** The problem with an argument of `reserve`, which anyone who has access to the namespace can send. */
export function reserveProblem(value: unknown): string | undefined {
  const { reservations } = recordOf(value);
  if (!Array.isArray(reservations) || reservations.length === 0) return 'reservations: must be a list';
  return reservations.every(isReservation) ? undefined : 'reservations: must be limits, keys and amounts';
}

function isReservation(value: unknown): boolean {
  const { limits, payouts } = recordOf(value);
  const { dailyAmount, dailyCount } = recordOf(limits);
  const amounts = Object.values(recordOf(dailyAmount));
  return (
    amounts.every((amount) => typeof amount === 'string' && /^\d+\.\d{2}$/.test(amount)) &&
    (dailyCount === undefined || Number.isSafeInteger(dailyCount)) &&
    Array.isArray(payouts) &&
    payouts.every(areReservedPayouts)
  );
}

function areReservedPayouts(value: unknown): boolean {
  const { currency, keys, hundredths } = recordOf(value);
  if (typeof currency !== 'string' || typeof keys !== 'string' || typeof hundredths !== 'string')
    return false;
  const amounts = hundredths.split(',');
  return (
    /^[A-Z]{3}$/.test(currency) &&
    keys.length === amounts.length * PAYOUT_KEY_LENGTH &&
    amounts.every((amount) => /^\d{1,18}$/.test(amount))
  );
}
