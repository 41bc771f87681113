/** The settings of a peer's processes, from their environment. */
import { z } from 'zod';

const shape = z.object({
  PROVIDER_URL: z.string(),
  APP_ID: z.string(),
  APP_SECRET: z.string(),
  CALL_TIMEOUT_MS: z.coerce.number(),
  CALLS_PER_SECOND: z.coerce.number(),
  /** How long a payout waits for a notification before it asks. */
  POLL_MS: z.coerce.number(),
  /** Of the tool's own server. */
  SERVER: z.string(),
  /** 0, 1, … for the workers. */
  WORKER: z.string().default(''),
  /** Where this process serves HTTP, if it does. */
  PORT: z.coerce.number().default(0),
});

export const settings = shape.parse(process.env);
/** The wait before another attempt, from 1: 1 s, 2 s, 4 s, 8 s, then 10 s. */
export function backoffMs(attempt: number): number {
  return Math.min(10_000, 1_000 * 2 ** (attempt - 1));
}
