/** Money in integer minor units: amounts never pass through floating-point numbers. */
import { LosslessNumber } from 'lossless-json';

export interface Money {
  currency: string;
  minor: bigint;
}

/** An exchange rate as an exact fraction: `units / 10 ** decimals`. */
export interface Rate {
  text: string;
  units: bigint;
  decimals: number;
}

const AMOUNT = /^(\d{1,16})(?:\.(\d{1,2}))?$/;
const RATE = /^(\d{1,9})(?:\.(\d{1,9}))?$/;

/** Parses at most 18 digits, two of them decimals (spec: amount format); undefined for anything else. */
export function parseMinor(text: string): bigint | undefined {
  const match = AMOUNT.exec(text);
  if (!match) return undefined;
  return BigInt(`${match[1]}${(match[2] ?? '').padEnd(2, '0')}`);
}

export function formatMinor(minor: bigint): string {
  const digits = (minor < 0n ? -minor : minor).toString().padStart(3, '0');
  return `${minor < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

export function parseRate(text: string): Rate | undefined {
  const match = RATE.exec(text);
  if (!match) return undefined;
  const fraction = match[2] ?? '';
  const units = BigInt(`${match[1]}${fraction}`);
  return units > 0n ? { text, units, decimals: fraction.length } : undefined;
}

/** `minor × rate`, rounded half up. */
export function convertForward(minor: bigint, rate: Rate): bigint {
  return divideHalfUp(minor * rate.units, 10n ** BigInt(rate.decimals));
}

/** `minor ÷ rate`, rounded half up. */
export function convertBack(minor: bigint, rate: Rate): bigint {
  return divideHalfUp(minor * 10n ** BigInt(rate.decimals), rate.units);
}

/** The same rate, `percent` worse for the payer. */
export function worsened(rate: Rate, percent: number): Rate {
  const units = rate.units * BigInt(100 - percent);
  const decimals = rate.decimals + 2;
  const digits = units.toString().padStart(decimals + 1, '0');
  return { text: `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`, units, decimals };
}

/** Takes non-negative numbers. */
export function divideHalfUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend * 2n + divisor) / (divisor * 2n);
}

/** The amount as an exact JSON number. */
export function amountOnWire(minor: bigint): LosslessNumber {
  return new LosslessNumber(formatMinor(minor));
}

/** The spec's money object. */
export function moneyOnWire(money: Money): { currency: string; amount: LosslessNumber } {
  return { currency: money.currency, amount: amountOnWire(money.minor) };
}

/** The rate, its inverse with six decimals, or 0. */
export function rateOnWire(rate: Rate, shown: 'true' | 'inverse' | 'zero'): LosslessNumber {
  if (shown === 'zero') return new LosslessNumber('0');
  if (shown === 'true') return new LosslessNumber(rate.text);
  const millionths = convertBack(1_000_000n, rate).toString().padStart(7, '0');
  return new LosslessNumber(`${millionths.slice(0, -6)}.${millionths.slice(-6)}`);
}

/** Money for people: `12.30 USD`. */
export function moneyText(money: Money): string {
  return `${formatMinor(money.minor)} ${money.currency}`;
}
