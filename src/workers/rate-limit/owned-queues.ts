/** While this process owns the lease, it serves the queues of the application's calls. */
import { log } from '@temporalio/activity';
import type { LeaseHandover, LeaseKey, LeaseSettings, SharedSettings } from '../../contract/rate-limit.ts';
import { holdOf, type LeaseHeartbeat } from '../../domain/rate-limit.ts';
import { logEvent } from '../../domain/telemetry.ts';
import { type Clock, sleep } from '../../runtime/runtime.ts';
import { type Runnable, shutDown } from '../activity-worker.ts';
import type { Fence } from './fence.ts';
import type { LeaseOwner } from './lease.ts';
import type { RateLimiter } from './limiter.ts';
import type { Ownership } from './ownership.ts';
import type { Predecessor } from './predecessor.ts';

export interface OwnedTerm {
  /** Of this process. */
  number: number;
  callsPerSecond: number;
  fence: Fence;
  /** Undefined: no call is sent that creates something. */
  shared: SharedSettings | undefined;
}

export interface OwnedQueuesParts {
  app: string;
  key: LeaseKey;
  limiter: RateLimiter;
  ownership: Ownership;
  clock: Clock;
  callsPerSecond: number;
  /** Creates new Workers for each term, because a Worker cannot run again after its shutdown. */
  createWorkers(term: OwnedTerm): Promise<Runnable[]>;
  onBegin(): void;
  onEnd(): void;
  /** A Worker failed. `finished` rejects with its error. */
  onFailure(): void;
}

/** How long an owner keeps the lease while no call reaches the provider. */
const MIN_PATIENCE_MS = 10_000;
const MAX_PATIENCE_MS = 300_000;
const CHECK_EVERY_MS = 1_000;

/** Doubles with each owner that reached nothing, so that the lease does not move all the time. */
export function patienceMs(unreachedTerms: number): number {
  return Math.min(MAX_PATIENCE_MS, MIN_PATIENCE_MS * 2 ** unreachedTerms);
}

export class OwnedQueues implements LeaseOwner {
  readonly app: string;
  private readonly parts: OwnedQueuesParts;
  /** The runs of Workers of this term and of earlier ones. */
  private readonly running = new Set<Promise<void>>();
  private workers: Runnable[] = [];
  private failure: { error: unknown } | undefined;
  private term = 0;
  /** As the previous owner reported. */
  private unreachedBefore = 0;
  private gaveUp = false;
  private settingsVersion: number | undefined;

  constructor(parts: OwnedQueuesParts) {
    this.parts = parts;
    this.app = parts.app;
  }

  async begin(fence: Fence, before: Predecessor, settings: LeaseSettings): Promise<void> {
    const { key, limiter, ownership, onBegin, createWorkers } = this.parts;
    const callsPerSecond = settings.callsPerSecond ?? this.parts.callsPerSecond;
    const { shared } = settings;
    this.term += 1;
    this.settingsVersion = shared?.version;
    this.unreachedBefore = before.released?.unreachedTerms ?? 0;
    this.gaveUp = false;
    ownership.acquired(key.appId);
    onBegin();
    limiter.open({
      callsPerSecond,
      isPaused: holdOf(settings) !== undefined,
      isValid: () => fence.isValid(),
      silentMs: before.silentMs,
      before: before.released,
      learnedMarginMs: before.learnedMarginMs,
      unprovenForMs: before.unprovenForMs,
    });
    this.workers = await createWorkers({ number: this.term, callsPerSecond, fence, shared });
    for (const worker of this.workers) this.run(worker);
  }

  async drain(): Promise<void> {
    this.stopWorkers();
    await this.parts.limiter.drain();
  }

  end(): LeaseHandover {
    const { key, limiter, ownership, onEnd } = this.parts;
    const lastSends = limiter.close();
    this.stopWorkers();
    ownership.released(key.appId);
    onEnd();
    return { ...lastSends, unreachedTerms: this.unreachedTerms + (this.gaveUp ? 1 : 0) };
  }

  heartbeat(): LeaseHeartbeat {
    const { settingsVersion } = this;
    return { ...this.parts.limiter.heartbeat(), ...(settingsVersion !== undefined && { settingsVersion }) };
  }

  async shouldRelease(signal: AbortSignal): Promise<void> {
    const { key, ownership } = this.parts;
    await Promise.race([ownership.untilSurplus(key, signal), this.untilUnreachable(signal)]);
  }

  /** Resolves when the Workers of all terms have ended. Rejects if one of them failed. */
  async finished(): Promise<void> {
    await Promise.all(this.running);
    if (this.failure) throw this.failure.error;
  }

  private get unreachedTerms(): number {
    return this.parts.limiter.reached ? 0 : this.unreachedBefore;
  }

  /** Resolves when no call has reached the provider for long enough, and another process waits for the lease. */
  private async untilUnreachable(signal: AbortSignal): Promise<void> {
    const { app, key, limiter, ownership, clock } = this.parts;
    for (;;) {
      await sleep(clock, CHECK_EVERY_MS, signal);
      const { unreachedMs } = limiter;
      if (unreachedMs < patienceMs(this.unreachedTerms)) continue;
      if (!(await ownership.backOff(key, limiter.reached))) continue;
      this.gaveUp = true;
      logEvent(log, 'provider.unreached', { app, unreachedMs: Math.round(unreachedMs) });
      return;
    }
  }

  private stopWorkers(): void {
    for (const worker of this.workers) shutDown(worker);
    this.workers = [];
  }

  private run(worker: Runnable): void {
    const running = worker.run().catch((error: unknown) => {
      this.failure = { error };
      this.parts.onFailure();
    });
    this.running.add(running);
    void running.then(() => this.running.delete(running));
  }
}
