/** Durations as text, without zod, for code that must load fast. */
const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export const DURATION_RULE = 'must be a duration such as 500ms, 30s, 10m, 12h or 30d';

/** Undefined if the text is no duration. */
export function durationMs(text: string): number | undefined {
  if (!/^\d{1,9}(ms|s|m|h|d)$/.test(text)) return undefined;
  const unit = Object.entries(UNITS_MS).find(([name]) => name === text.replace(/^\d+/, ''));
  return Number.parseInt(text, 10) * (unit?.[1] ?? 0);
}
