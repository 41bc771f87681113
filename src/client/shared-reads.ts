/**
 * Queries are the most expensive reads: each occupies a worker, which may first have to replay the workflow, and Temporal's
 * newer task matcher hands out every waiting query before any workflow task (H62). So one process asks a workflow one
 * question at a time, whoever wants the answer, and all workflows together only a few.
 */

/** Thrown when more reads wait than can be answered soon: nothing was asked. */
export class TooManyReadsError extends Error {
  override readonly name = 'TooManyReadsError';
  constructor() {
    super('too many status reads are waiting for a worker');
  }
}

export interface ReadLimits {
  /**
   * Queries under way at once. Fewer than a worker takes at once (see src/workers/worker.ts), so that queries
   * never queue ahead of workflow tasks.
   */
  inFlight: number;
  /** ReadSharing that wait for their turn; one more is refused. */
  waiting: number;
  /** A read that has waited this long is refused. */
  waitMs: number;
}

/** A program of the operator's own is never refused: it waits, within its own deadlines. */
const PATIENT: ReadLimits = {
  inFlight: 10,
  waiting: Number.POSITIVE_INFINITY,
  waitMs: Number.POSITIVE_INFINITY,
};

/** Lets a few reads at a time through, in the order in which they came. */
export class ReadSlots {
  private readonly limits: ReadLimits;
  private readonly queue = new Set<() => void>();
  private free: number;

  constructor(limits: ReadLimits) {
    this.limits = limits;
    this.free = limits.inFlight;
  }

  /** Throws `TooManyReadsError` without having called `ask`. */
  async run<T>(ask: () => Promise<T>): Promise<T> {
    await this.turn();
    try {
      return await ask();
    } finally {
      this.release();
    }
  }

  private async turn(): Promise<void> {
    if (this.free > 0) {
      this.free -= 1;
      return;
    }
    const { waiting, waitMs } = this.limits;
    if (this.queue.size >= waiting) throw new TooManyReadsError();
    await new Promise<void>((resolve, reject) => {
      const timer = Number.isFinite(waitMs) ? setTimeout(giveUp, waitMs, this.queue) : undefined;
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      function giveUp(queue: Set<() => void>) {
        queue.delete(begin);
        reject(new TooManyReadsError());
      }
      this.queue.add(begin);
    });
  }

  /** The slot goes to who has waited longest, if anybody waits. */
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

/** How reads of one kind share workers with those of others. */
export interface ReadSharing {
  slots: ReadSlots;
  /** For how long an answer is given again; 0: only to those who waited for it. */
  freshMs: number;
}

/** For programs that read what they have just done elsewhere: nothing is answered from memory. */
export function unlimitedReads(): ReadSharing {
  return { slots: new ReadSlots(PATIENT), freshMs: 0 };
}

/** One read of a workflow under way; all who want it meanwhile, and for `freshMs` after it, share its answer. */
export class SharedReads<T> {
  private readonly slots: ReadSlots;
  private readonly freshMs: number;
  private readonly known = new Map<string, Promise<T>>();

  constructor({ slots, freshMs }: ReadSharing) {
    this.slots = slots;
    this.freshMs = freshMs;
  }

  /** A failure is shared by those who waited for it, and not kept. */
  read(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.known.get(key);
    if (known) return known;
    const answer = ask();
    this.known.set(key, answer);
    answer.then(
      () => this.keepFresh(key, answer),
      () => this.drop(key, answer),
    );
    return answer;
  }

  /** For the part of a read that needs a worker. Throws `TooManyReadsError` without having asked. */
  withSlot<Q>(ask: () => Promise<Q>): Promise<Q> {
    return this.slots.run(ask);
  }

  /** What is known by now is outdated: who reads after this sees what happened before it. */
  forget(key: string): void {
    this.known.delete(key);
  }

  private keepFresh(key: string, answer: Promise<T>): void {
    if (this.freshMs === 0) this.drop(key, answer);
    else setTimeout(() => this.drop(key, answer), this.freshMs).unref();
  }

  private drop(key: string, answer: Promise<T>): void {
    if (this.known.get(key) === answer) this.known.delete(key);
  }
}
