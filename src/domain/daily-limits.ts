/** The daily limits of callers: what a caller has reserved on a day (UTC), and whether more may be reserved. No I/O. */

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
import { DAY_MS, isoTime } from './time.ts';

/** A limit that is not known cannot be kept. */
const KNOWN_LIMITS: readonly string[] = ['dailyAmount', 'dailyCount'] satisfies (keyof DailyLimits)[];

export function hasDailyLimits({ dailyAmount, dailyCount }: DailyLimits): boolean {
  return dailyAmount !== undefined || dailyCount !== undefined;
}

/** Temporal accepts 2 MB per payload: so many payouts fit, whatever their amounts. As many as a batch has rows. */
export const MAX_PAYOUTS_PER_DAY = 50_000;

/**
 * Characters of a payout's key, a digest of 132 bits. The caller chooses what is digested, so it must be long enough that
 * no one can find two payouts with the same key.
 */
export const PAYOUT_KEY_LENGTH = 22;

/** What a reservation adds to a day. */
interface Addition {
  keys: string[];
  sums: Map<string, bigint>;
}

export function dayOf(ms: number): string {
  return isoTime(ms).slice(0, 10);
}

const startOf = (day: string) => Date.parse(`${day}T00:00:00Z`);

/** What one caller has reserved. `nowMs` is the clock of the workflow, in Unix milliseconds. */
export class Allowance {
  #day: string;
  #sums: Map<string, bigint>;
  #keys: Set<string>;

  constructor(nowMs: number, carried?: AllowanceRecord) {
    this.#day = carried?.day ?? dayOf(nowMs);
    this.#sums = new Map(Object.entries(carried?.sums ?? {}).map(([name, sum]) => [name, BigInt(sum)]));
    this.#keys = new Set(splitKeys(carried?.keys ?? ''));
  }

  /** Why the payouts cannot be reserved; undefined if they can. Changes nothing. */
  refusal({ limits, payouts }: Reservation, nowMs: number): DailyRefusal | undefined {
    const isSameDay = this.#dayAt(nowMs) === this.#day;
    const known: ReadonlySet<string> = isSameDay ? this.#keys : new Set();
    const sums: ReadonlyMap<string, bigint> = isSameDay ? this.#sums : new Map();
    const added = additionOf(payouts, known);
    const [unknown] = Object.keys(limits).filter((name) => !KNOWN_LIMITS.includes(name));
    if (unknown !== undefined) return { message: `has the limit ${unknown}, which only newer workers know` };
    // A repeated reservation needs nothing, also when the limit is exhausted or was lowered.
    if (added.keys.length === 0) return undefined;
    const found = countProblem(limits, known.size, added) ?? amountProblem(limits, sums, added);
    if (!found) return undefined;
    const retryAfterMs = startOf(this.#dayAt(nowMs)) + DAY_MS - nowMs;
    return { message: found.message, ...(found.fitsAlone && { retryAfterMs }) };
  }

  /** The answer, if none of the reservations can be made. Changes nothing. */
  refusals({ reservations }: ReserveRequest, nowMs: number): ReserveResult | undefined {
    const refusals: DailyRefusal[] = [];
    for (const reservation of reservations) {
      const refusal = this.refusal(reservation, nowMs);
      if (!refusal) return undefined;
      refusals.push(refusal);
    }
    return { refusals };
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
    const day = this.#dayAt(nowMs);
    if (day !== this.#day) {
      this.#day = day;
      this.#sums = new Map();
      this.#keys = new Set();
    }
    const { keys, sums } = additionOf(payouts, this.#keys);
    for (const key of keys) this.#keys.add(key);
    for (const [currency, sum] of sums) this.#sums.set(currency, (this.#sums.get(currency) ?? 0n) + sum);
    return this.state();
  }

  state(): AllowanceState {
    const sums = [...this.#sums].map(([currency, sum]) => ({ currency, amount: fromMinorUnits(sum) }));
    return { day: this.#day, count: this.#keys.size, sums };
  }

  record(): AllowanceRecord {
    const sums = [...this.#sums].map(([currency, sum]) => [currency, sum.toString()]);
    return { day: this.#day, sums: Object.fromEntries(sums), keys: [...this.#keys].join('') };
  }

  /** The day of the last reservation. */
  get day(): string {
    return this.#day;
  }

  /** When a whole day without reservations will be over. */
  get unusedAtMs(): number {
    return startOf(this.#day) + 2 * DAY_MS;
  }

  /** Never an earlier day, also if the server's clock was set back: the sums of a day do not return to zero. */
  #dayAt(nowMs: number): string {
    const today = dayOf(nowMs);
    const isLater = today > this.#day;
    return isLater ? today : this.#day;
  }
}

/** The payouts that are not known yet. */
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
  return { keys: [...keys], sums };
}

function splitKeys(joined: string): string[] {
  return Array.from({ length: joined.length / PAYOUT_KEY_LENGTH }, (_, at) =>
    joined.slice(at * PAYOUT_KEY_LENGTH, (at + 1) * PAYOUT_KEY_LENGTH),
  );
}

interface Problem {
  message: string;
  fitsAlone: boolean;
}

function countProblem({ dailyCount }: DailyLimits, count: number, { keys }: Addition): Problem | undefined {
  const largest = Math.min(dailyCount ?? MAX_PAYOUTS_PER_DAY, MAX_PAYOUTS_PER_DAY);
  if (count + keys.length <= largest) return undefined;
  const message = `allows at most ${largest} payouts per day (UTC): ${count} are reserved, and ${keys.length} more are requested`;
  return { message, fitsAlone: keys.length <= largest };
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
  return reservations.map(reservationProblem).find((problem) => problem !== undefined);
}

function reservationProblem(value: unknown): string | undefined {
  const { limits, payouts } = recordOf(value);
  const { dailyAmount, dailyCount } = recordOf(limits);
  const amounts = dailyAmount === undefined ? [] : Object.values(recordOf(dailyAmount));
  if (!amounts.every((amount) => typeof amount === 'string' && /^\d+\.\d{2}$/.test(amount)))
    return 'limits.dailyAmount: must be amounts by currency';
  if (dailyCount !== undefined && !Number.isSafeInteger(dailyCount))
    return 'limits.dailyCount: must be a whole number';
  if (!Array.isArray(payouts) || !payouts.every(areReservedPayouts))
    return 'payouts: must be keys and amounts by currency';
  return undefined;
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

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
