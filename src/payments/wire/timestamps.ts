/** Times on the wire. The spec does not show the unit: magnitude decides, and nothing depends on it (H25). */
import { z } from 'zod';
import { numericText } from './scalars.ts';

/** From here on a number is milliseconds: as seconds it is the year 5138, as milliseconds 1973. */
const FIRST_MILLISECONDS = 100_000_000_000;
/** 31 December 9999: later "times" are some other unit. */
const LAST_MILLISECONDS = 253_402_300_799_999;

/** ISO 8601, or absent: a time that cannot be read must never hide a result. */
export const timestamp: z.ZodType<string | undefined> = z.unknown().optional().transform(toIso);

export function toIso(value: unknown): string | undefined {
  const digits = numericText(value)?.trim();
  if (digits === undefined || !/^[1-9]\d{0,15}$/.test(digits)) return undefined;
  const number = Number(digits);
  const milliseconds = number < FIRST_MILLISECONDS ? number * 1000 : number;
  return milliseconds > LAST_MILLISECONDS ? undefined : new Date(milliseconds).toISOString();
}
