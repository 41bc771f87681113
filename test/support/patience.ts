/**
 * How long a test waits for something that surely comes. A machine may be slow for as long as it likes: this only ends
 * what hangs, before the limit of the test itself says less about it.
 */
export const PATIENCE_MS = 480_000;

/** For `expect.poll` and `vi.waitFor`, whose own limit is one second. */
export const PATIENT = { timeout: PATIENCE_MS, interval: 20 } as const;
