/**
 * Limits queries. A query is the most expensive read: it occupies a worker, which may have to replay the workflow first,
 * and Temporal's newer task matcher dispatches all waiting queries before any workflow task (H62). So a process sends at
 * most one query at a time to a workflow, shared by all callers, and only a few to all workflows together.
 */

import { PROCESS_RUNTIME } from '../runtime/process.ts';
import type { Clock } from '../runtime/runtime.ts';
import { TooManyReadsError } from './errors.ts';

export interface ReadLimits {
  /**
   * The maximum number of concurrent queries. Lower than a worker's own limit (see src/workers/worker.ts), so that
   * queries never wait ahead of workflow tasks.
   */
  inFlight: number;
  /** The maximum number of waiting reads. Further reads are rejected. */
  waiting: number;
  /** A read that has waited this long is rejected. Milliseconds. */
  waitMs: number;
}

/** Runs a limited number of reads concurrently, first come, first served. */
export class ReadSlots {
  private readonly limits: ReadLimits;
  private readonly clock: Clock;
  private readonly queue = new Set<() => void>();
  private free: number;

  constructor(limits: ReadLimits, clock: Clock) {
    this.limits = limits;
    this.clock = clock;
    this.free = limits.inFlight;
  }

  /** Throws `TooManyReadsError` without calling `ask`. */
  async run<T>(ask: () => Promise<T>): Promise<T> {
    await this.acquire();
    try {
      return await ask();
    } finally {
      this.release();
    }
  }

  private async acquire(): Promise<void> {
    if (this.free > 0) {
      this.free -= 1;
      return;
    }
    const { waiting, waitMs } = this.limits;
    if (this.queue.size >= waiting) throw new TooManyReadsError();
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        this.queue.delete(begin);
        reject(new TooManyReadsError());
      };
      const cancel = Number.isFinite(waitMs) ? this.clock.after(waitMs, giveUp) : undefined;
      const begin = () => {
        cancel?.();
        resolve();
      };
      this.queue.add(begin);
    });
  }

  /** Passes the slot to the longest-waiting read, if there is one. */
  private release(): void {
    const [next] = this.queue;
    if (next === undefined) {
      this.free += 1;
      return;
    }
    this.queue.delete(next);
    next();
  }
}

export interface ReadSharing {
  slots: ReadSlots;
  /** How long a response is cached, in milliseconds. 0: only concurrent callers share it. */
  freshMs: number;
  clock: Clock;
}

/** For the operator's own programs: no read is rejected, and no response is cached. */
export function unlimitedReads(): ReadSharing {
  const { clock } = PROCESS_RUNTIME;
  const unlimited = { waiting: Number.POSITIVE_INFINITY, waitMs: Number.POSITIVE_INFINITY };
  return { slots: new ReadSlots({ inFlight: 10, ...unlimited }, clock), freshMs: 0, clock };
}

interface Known<T> {
  response: Promise<T>;
  /** Infinite while the read runs. */
  untilMs: number;
}

/** Runs one read per key at a time. Concurrent callers, and callers within `freshMs` after it, share its response. */
export class SharedReads<T> {
  private readonly freshMs: number | ((response: T) => number);
  private readonly clock: Clock;
  /** In the order of the reads. */
  private readonly known = new Map<string, Known<T>>();

  constructor({ freshMs, clock }: { freshMs: number | ((response: T) => number); clock: Clock }) {
    this.freshMs = freshMs;
    this.clock = clock;
  }

  /** Concurrent callers share a failure, but it is not cached. */
  read(key: string, ask: () => Promise<T>): Promise<T> {
    this.dropStale();
    const known = this.known.get(key);
    if (known && this.isFresh(known)) return known.response;
    const read = { response: ask(), untilMs: Number.POSITIVE_INFINITY };
    this.known.delete(key);
    this.known.set(key, read);
    read.response.then(
      (response) => {
        const freshMs = typeof this.freshMs === 'number' ? this.freshMs : this.freshMs(response);
        read.untilMs = this.clock.nowMs() + freshMs;
        if (freshMs === 0) this.drop(key, read);
      },
      () => this.drop(key, read),
    );
    return read.response;
  }

  /** Discards the response for `key`, so that later reads see all earlier changes. */
  forget(key: string): void {
    this.known.delete(key);
  }

  private isFresh({ untilMs }: Known<T>): boolean {
    return this.clock.nowMs() < untilMs;
  }

  private dropStale(): void {
    for (const [key, read] of this.known) {
      if (this.isFresh(read)) return;
      this.known.delete(key);
    }
  }

  private drop(key: string, read: Known<T>): void {
    if (this.known.get(key) === read) this.known.delete(key);
  }
}

/** Shares a call among all who ask meanwhile, and its result for `freshMs` after it. A failure is not cached. */
export function cached<T>(
  read: () => Promise<T>,
  freshMs: number | ((result: T) => number),
  clock: Clock = PROCESS_RUNTIME.clock,
): () => Promise<T> {
  const shared = new SharedReads({ freshMs, clock });
  return () => shared.read('', read);
}
