/**
 * One virtual clock and one queue. Events run one at a time: the next one runs only when nothing that the previous
 * one started can continue without the clock. A seed therefore determines the order of all events.
 */
import { AsyncResource } from 'node:async_hooks';
import type { Clock, Random as Randomness } from '../../src/runtime/runtime.ts';
import { EventQueue, type PlannedEvent } from './event-queue.ts';
import { Random, randomness } from './random.ts';

/** Long enough for a restart of every process and all retries of a call. */
const FINISH_LIMIT_MS = 3_600_000;

export interface WorldOptions {
  seed: number;
  /** Milliseconds since 1970. */
  startsAt?: number | undefined;
}

/**
 * Binds a callback to the current async context, as Node's timers do. `AsyncResource.bind` does the same at a far
 * higher cost.
 */
export function inContext(run: () => void): () => void {
  const resource = new AsyncResource('VirtualTimer');
  return () => resource.runInAsyncScope(run);
}

/** What the world waited for did not happen. */
export class UnsettledError extends Error {
  constructor(ending: 'idle' | 'late', withinMs: number) {
    super(
      ending === 'idle'
        ? 'no answer, and nothing is left to happen'
        : `no answer within ${withinMs / 3_600_000} h of virtual time`,
    );
    this.name = 'UnsettledError';
  }
}

export class World implements Clock {
  readonly random: Random;
  readonly violations: string[] = [];
  /** Log lines and metrics of the processes. */
  readonly logs: string[] = [];
  now: number;
  events = 0;
  /** Names of the faults, losses and interventions that occurred. */
  readonly occurred = new Set<string>();
  readonly counts = { activations: 0, replays: 0 };
  /** What happened, and when. Two runs of a seed must have the same facts. */
  readonly facts: string[] = [];
  private readonly queue = new EventQueue();
  private pendingWork = 0;
  private failure: unknown;

  constructor({ seed, startsAt = Date.UTC(2027, 0, 1) }: WorldOptions) {
    this.random = new Random(seed);
    this.now = startsAt;
  }

  at(delayMs: number, callback: () => void): PlannedEvent {
    return this.queue.plan(this.now + Math.max(0, delayMs), callback);
  }

  /** Seeded, with the product's own interface. */
  randomness(): Randomness {
    return randomness(this.random);
  }

  nowMs(): number {
    return this.now;
  }

  wallMs(): number {
    return Math.floor(this.now);
  }

  after(ms: number, run: () => void): () => void {
    const planned = this.at(ms, inContext(run));
    return () => {
      planned.canceled = true;
    };
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.at(ms, resolve);
    });
  }

  /** Stops the clock during work that takes macrotasks, such as a call into the VM. */
  async withClockStopped<T>(work: Promise<T>): Promise<T> {
    this.pendingWork += 1;
    try {
      return await work;
    } finally {
      this.pendingWork -= 1;
    }
  }

  /** Starts work without waiting for it. An error ends the run of the world: it is a fault of the simulation. */
  spawn(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.failure ??= error;
    });
  }

  record(...fact: readonly (string | number)[]): void {
    this.facts.push(`${this.now} ${fact.join(' ')}`);
  }

  /** A repeated violation, such as a task that fails at each attempt, counts once. */
  violation(what: string): void {
    if (this.violations.includes(what)) return;
    this.record('violation', what);
    this.violations.push(what);
  }

  /** Runs until `done`, or until no event is planned, for at most `withinMs` of virtual time. */
  async run({
    done,
    withinMs,
  }: {
    done?: () => boolean;
    withinMs: number;
  }): Promise<'done' | 'idle' | 'late'> {
    const end = this.now + withinMs;
    for (;;) {
      await this.settle();
      if (done?.()) return 'done';
      const at = this.queue.nextAt();
      if (at === undefined) return 'idle';
      if (at > end) {
        this.now = Math.max(this.now, end);
        return 'late';
      }
      const event = this.queue.next();
      if (event === undefined) return 'idle';
      this.now = Math.max(this.now, event.at);
      this.events += 1;
      event.callback();
    }
  }

  /**
   * Runs the world until `work` settles, and returns its result.
   *
   * @throws {UnsettledError} `withinMs` of virtual time passed, or nothing is left to happen.
   */
  async finish<T>(work: Promise<T>, withinMs = FINISH_LIMIT_MS): Promise<T> {
    let isSettled = false;
    const end = () => {
      isSettled = true;
    };
    work.then(end, end);
    const ending = await this.run({ done: () => isSettled, withinMs });
    if (ending !== 'done') throw new UnsettledError(ending, withinMs);
    return work;
  }

  /** One turn of Node's event loop runs all pending microtasks. A call into the VM takes further turns. */
  private async settle(): Promise<void> {
    do await new Promise(setImmediate);
    while (this.pendingWork > 0);
    if (this.failure !== undefined) throw this.failure;
  }
}
