/**
 * The clock and the randomness of a process. Code on the worker side uses only these, so that a simulation can replace
 * them for each process. Workflow code uses the SDK's instead.
 */

export interface Clock {
  /** A monotonic clock, in milliseconds. */
  nowMs(): number;
  /** The wall clock, in Unix milliseconds. It runs on while the machine is suspended. */
  wallMs(): number;
  /**
   * Calls `run` once, after at least `ms` milliseconds. Returns a function that cancels the call. Like Node's timers, it
   * calls `run` in the caller's async context, where the SDK stores the current activity.
   */
  after(ms: number, run: () => void): () => void;
}

export interface Random {
  /** In [0, 1). */
  number(): number;
  /** Cryptographically secure, for nonces. */
  bytes(length: number): Uint8Array;
  uuid(): string;
}

export interface Runtime {
  clock: Clock;
  random: Random;
}

/** Rejects with the signal's reason when the signal aborts. The SDK recognizes a cancellation by this reason. */
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

/** Calls `run` every `ms` milliseconds, first after `ms`. Returns a function that stops it. */
export function repeat(clock: Clock, ms: number, run: () => void): () => void {
  let cancel: () => void;
  const again = () => {
    // Schedule first, because `run` may stop the repetition or throw.
    cancel = clock.after(ms, again);
    run();
  };
  cancel = clock.after(ms, again);
  return () => cancel();
}

/** Settles with `work`, but rejects as soon as `signal` aborts. Does not cancel `work`. */
export function abortable<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Each read or start of a workflow takes Temporal milliseconds, so more of them would only queue. */
const MAX_CONCURRENT = 8;

/** Like `Promise.all` over `items`, with at most `limit` of them concurrently. */
export async function inParallel<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  limit = MAX_CONCURRENT,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const lane = async () => {
    for (const [at, item] of queue) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  return results;
}

/** Spaces what a process does, such as requests: each waits for its turn. */
export class Pace {
  private readonly clock: Clock;
  private readonly everyMs: number;
  private nextMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, everyMs: number) {
    this.clock = clock;
    this.everyMs = everyMs;
  }

  async turn(): Promise<void> {
    const now = this.clock.nowMs();
    const atMs = Math.max(now, this.nextMs);
    this.nextMs = atMs + this.everyMs;
    if (atMs > now) await sleep(this.clock, atMs - now);
  }
}
