/** Waits for facts: in real time, or in the virtual time of the worlds that this process has. */
import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_PAUSE_MS = 50;
const LAST_PAUSE_MS = 250;
/** Longer than any wait that a test is about. Virtual time is cheap, and this bound only stops what hangs. */
const VIRTUAL_LIMIT_MS = 24 * 3_600_000;

/** Each lets this much virtual time pass in one world. */
export const virtualPauses = new Set<(ms: number) => Promise<void>>();

/** Tries again, less and less often, until `look` returns a value. In real time, only the test's own timeout limits it. */
export async function eventually<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  let waitedMs = 0;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 1.3)) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (virtualPauses.size === 0) await sleep(pauseMs);
    else await Promise.all([...virtualPauses].map((pause) => pause(pauseMs)));
    waitedMs += pauseMs;
    if (virtualPauses.size > 0 && waitedMs > VIRTUAL_LIMIT_MS)
      throw new Error('it did not happen within a virtual day');
  }
}
