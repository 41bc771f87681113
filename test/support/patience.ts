/**
 * How long a test waits for something certain. It ends only what hangs, before the timeout of the test itself gives a less
 * useful message; slow machines stay within it.
 */
export const PATIENCE_MS = 480_000;

/** For `expect.poll` and `vi.waitFor`, whose default timeout is one second. */
export const PATIENT = { timeout: PATIENCE_MS, interval: 20 } as const;
