import { durations } from './duration.ts';

/** Workers follow up by it; the CLI's `doctor` compares it with the retention of the namespace. */
export const followUpShape = {
  PAYOUTS_FOLLOW_UP: durations
    .prefault('1d,7d,30d')
    .describe(
      'When the follow-up checks a payout again, counted from its end: at most ten durations, rising, comma-separated.',
    ),
};
