/** Unix milliseconds as ISO 8601 text. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
