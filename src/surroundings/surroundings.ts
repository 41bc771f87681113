/**
 * What a process of ours has around it: the time and randomness. Code on the worker side reads them here only, so that a
 * simulation can give each of its processes surroundings of its own. Workflow code has the SDK's instead.
 */

export interface Clock {
  /** Monotonic. */
  nowMs(): number;
  /** By the wall: a machine that was suspended may have stopped the monotonic clock. */
  wallMs(): number;
  /**
   * Calls `run` once, not before `ms` have passed. Answers how to call it off. Like Node's timers it calls in the async
   * context of whoever asked: that is where the SDK keeps which activity runs.
   */
  after(ms: number, run: () => void): () => void;
}

export interface Random {
  /** In [0, 1). */
  number(): number;
  /** Good enough for nonces. */
  bytes(length: number): Uint8Array;
  uuid(): string;
}

export interface Surroundings {
  clock: Clock;
  random: Random;
}

/** Rejects when the signal aborts, with the signal's own reason: that is how the SDK tells the end of a wait from an error. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Calls `run` every `ms`, the first time after `ms`. Answers how to stop. */
export function repeat(clock: Clock, ms: number, run: () => void): () => void {
  let cancel: () => void;
  const again = () => {
    // First, for `run` may stop it, or throw.
    cancel = clock.after(ms, again);
    run();
  };
  cancel = clock.after(ms, again);
  return () => cancel();
}

/** Rejects as soon as `signal` says so, whatever the work does then. */
export function abortable<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
