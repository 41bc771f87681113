/** Quotes, and the rate locks that tie one quote to one create. */
import { convertBack, convertForward, type Money, parseRate, type Rate } from '../money.ts';
import { newId, type Runtime } from '../runtime.ts';
import type { Settings } from '../settings.ts';

export interface PriceRequest {
  instructed: Money;
  originCurrency: string;
  targetCurrency: string;
}

/** The amounts of one payout. `pay` is principal plus fee, both in the origin currency. */
export interface Price {
  rate: Rate;
  pay: Money;
  target: Money;
  fee: Money;
}

export interface Lock {
  lockRateId: string;
  payerId: string;
  request: PriceRequest;
  price: Price;
  lockedAtMs: number;
  expiresAtMs: number;
  used: boolean;
}

const KEPT_LOCKS = 50_000;
const ONE: Rate = { text: '1', units: 1n, decimals: 0 };

export class Locks {
  readonly #locks = new Map<string, Lock>();
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  lock(payerId: string, request: PriceRequest, price: Price, lifetimeMs: number): Lock {
    const { clock, random } = this.#runtime;
    const lockRateId = newId(random, 'LR');
    const lockedAtMs = clock.nowMs();
    const expiresAtMs = lockedAtMs + lifetimeMs;
    const lock: Lock = { lockRateId, payerId, request, price, lockedAtMs, expiresAtMs, used: false };
    this.#locks.set(lockRateId, lock);
    const oldest = this.#locks.size > KEPT_LOCKS ? this.#locks.keys().next().value : undefined;
    if (oldest !== undefined) this.#locks.delete(oldest);
    return lock;
  }

  /** Returns a lock only if it is known, unused and unexpired. */
  usable(lockRateId: string): Lock | undefined {
    const lock = this.#locks.get(lockRateId);
    return lock && !lock.used && lock.expiresAtMs > this.#runtime.clock.nowMs() ? lock : undefined;
  }

  /** How long ago the price was locked. */
  ageMs(lockRateId: string): number | null {
    const lock = this.#locks.get(lockRateId);
    return lock ? this.#runtime.clock.nowMs() - lock.lockedAtMs : null;
  }

  reset(): void {
    this.#locks.clear();
  }
}

export function rateOf(origin: string, target: string, settings: Settings): Rate | undefined {
  return origin === target ? ONE : parseRate(settings.rates[`${origin}/${target}`] ?? '');
}

/** Undefined if the instructed amount is in neither currency of the exchange. */
export function priceAt(rate: Rate, request: PriceRequest, settings: Settings): Price | undefined {
  const { instructed, originCurrency, targetCurrency } = request;
  const principal = principalOf(rate, request);
  const feeRate = parseRate(settings.feeRate) ?? { text: '0', units: 0n, decimals: 0 };
  if (principal === undefined) return undefined;
  const feeMinor = convertForward(principal, feeRate);
  const targetMinor =
    instructed.currency === targetCurrency ? instructed.minor : convertForward(principal, rate);
  return {
    rate,
    pay: { currency: originCurrency, minor: principal + feeMinor },
    target: { currency: targetCurrency, minor: targetMinor },
    fee: { currency: originCurrency, minor: feeMinor },
  };
}

/** The debit before the fee, rounded half up. */
function principalOf(rate: Rate, request: PriceRequest): bigint | undefined {
  const { instructed } = request;
  if (instructed.currency === request.targetCurrency) return convertBack(instructed.minor, rate);
  return instructed.currency === request.originCurrency ? instructed.minor : undefined;
}

export function sameRequest(left: PriceRequest, right: PriceRequest): boolean {
  return (
    left.instructed.minor === right.instructed.minor &&
    left.instructed.currency === right.instructed.currency &&
    left.originCurrency === right.originCurrency &&
    left.targetCurrency === right.targetCurrency
  );
}
