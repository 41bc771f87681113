import { setTimeout as sleep } from 'node:timers/promises';

/** Waits; rejects with the signal's own reason, which is how the SDK tells the end of a wait from an error. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}
