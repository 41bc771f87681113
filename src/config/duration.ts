import { z } from 'zod';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `500ms`, `30s`, `10m`, `12h` or `30d`, parsed to milliseconds. */
export const duration = z
  .string()
  .regex(/^\d{1,9}(ms|s|m|h|d)$/, 'must be a duration such as 500ms, 30s, 10m, 12h or 30d')
  .transform(durationMs)
  .meta({ valueType: 'duration' });

/** `1d,7d,30d`: in rising order, at most ten. */
export const durations = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(duration).min(1).max(10))
  .refine((list) => list.every((each, at) => each > (list[at - 1] ?? 0)), 'must rise from one to the next')
  .meta({ valueType: 'durations' });

/** Milliseconds of a text that `duration` has accepted. */
function durationMs(text: string): number {
  const unit = text.replace(/^\d+/, '');
  return Number.parseInt(text, 10) * (Object.entries(UNIT_MS).find(([name]) => name === unit)?.[1] ?? 0);
}
