/** What owning the lease means here: while it is held, this process serves the application's two queues. */
import { log } from '@temporalio/activity';
import type { LeaseHandover, LeaseHeartbeat } from '../../domain/rate-limit-lease.ts';
import { type Clock, sleep } from '../../surroundings/surroundings.ts';
import type { Runnable } from '../activity-worker.ts';
import type { Fence } from './fence.ts';
import type { LeaseOwner } from './lease.ts';
import type { RateLimiter } from './limiter.ts';
import type { Predecessor } from './predecessor.ts';

export interface OwnedQueuesParts {
  app: string;
  limiter: RateLimiter;
  clock: Clock;
  /** By this process's configuration. */
  callsPerSecond: number;
  createWorkers(callsPerSecond: number, term: number): Promise<Runnable[]>;
  began(): void;
  ended(): void;
  failed(error: unknown): void;
  /** Resolves when another process that waits for the lease owns fewer. */
  surplus(signal: AbortSignal): Promise<void>;
  /** Makes this process stay off the lease for a while; false, and nothing, where no other process waits for it. */
  leaveToOthers(reached: boolean): Promise<boolean>;
}

/** How long no call reaches the provider before the lease is given up. */
const PATIENCE_MS = 10_000;
/** Where nobody reaches it, each owner waits twice as long as the one before: the lease must not keep moving. */
const MOST_PATIENCE_MS = 300_000;
const LOOK_EVERY_MS = 1_000;

export function patienceMs(unreachedTerms: number): number {
  return Math.min(MOST_PATIENCE_MS, PATIENCE_MS * 2 ** unreachedTerms);
}

export class OwnedQueues implements LeaseOwner {
  private readonly parts: OwnedQueuesParts;
  private readonly running = new Set<Promise<void>>();
  private workers: Runnable[] = [];
  private term = 0;
  /** What the owner before this one said. */
  private unreachedBefore = 0;
  private gaveUp = false;

  constructor(parts: OwnedQueuesParts) {
    this.parts = parts;
  }

  get app(): string {
    return this.parts.app;
  }

  async begin(fence: Fence, before: Predecessor, callsPerSecond: number | undefined): Promise<void> {
    const { limiter } = this.parts;
    const rate = callsPerSecond ?? this.parts.callsPerSecond;
    this.term += 1;
    const { term } = this;
    this.unreachedBefore = before.released?.unreachedTerms ?? 0;
    this.gaveUp = false;
    this.parts.began();
    limiter.open({
      callsPerSecond: rate,
      counts: () => fence.counts(),
      silentMs: before.silentMs,
      before: before.released,
      learnedMarginMs: before.learnedMarginMs,
    });
    const workers = await this.parts.createWorkers(rate, term);
    this.workers = workers;
    for (const worker of workers) this.run(worker);
  }

  end(): LeaseHandover {
    const lastWords = this.parts.limiter.close();
    for (const worker of this.workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    this.workers = [];
    this.parts.ended();
    return { ...lastWords, unreachedTerms: this.unreachedTerms + (this.gaveUp ? 1 : 0) };
  }

  note(): LeaseHeartbeat {
    return this.parts.limiter.note();
  }

  async wantsToGive(signal: AbortSignal): Promise<void> {
    await Promise.race([this.parts.surplus(signal), this.unreached(signal)]);
  }

  /** How many owners in a row, up to now, gave up. */
  private get unreachedTerms(): number {
    return this.parts.limiter.reached ? 0 : this.unreachedBefore;
  }

  /** What was under way when a term ended, here or in earlier terms. */
  async finished(): Promise<void> {
    await Promise.all(this.running);
  }

  /** Resolves when no call has reached the provider for long enough, and another process could try. */
  private async unreached(signal: AbortSignal): Promise<void> {
    const { app, limiter, clock, leaveToOthers } = this.parts;
    for (;;) {
      await sleep(clock, LOOK_EVERY_MS, signal);
      const { unreachedMs } = limiter;
      if (unreachedMs < patienceMs(this.unreachedTerms)) continue;
      if (!(await leaveToOthers(limiter.reached))) continue;
      this.gaveUp = true;
      log.warn('no call reaches the provider from here: another process may have the rate-limit lease', {
        app,
        unreachedMs: Math.round(unreachedMs),
      });
      return;
    }
  }

  private run(worker: Runnable): void {
    const running = worker.run().catch((error: unknown) => this.parts.failed(error));
    this.running.add(running);
    void running.then(() => this.running.delete(running));
  }
}
