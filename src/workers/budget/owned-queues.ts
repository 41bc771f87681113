/** What owning a budget means here: while the lease is held, this process serves the application's two queues. */
import type { Worker } from '@temporalio/worker';
import type { Released } from '../../domain/rate-limit-lease.ts';
import type { CallBudget } from '../call-budget.ts';
import type { Fence } from './fence.ts';
import type { BudgetOwner } from './hold-budget.ts';
import type { Predecessor } from './predecessor.ts';

export interface OwnedQueuesParts {
  budget: CallBudget;
  /** By this process's configuration. */
  callsPerSecond: number;
  createWorkers(callsPerSecond: number, term: number): Promise<Worker[]>;
  began(): void;
  ended(): void;
  failed(error: unknown): void;
  surplus(signal: AbortSignal): Promise<void>;
}

export class OwnedQueues implements BudgetOwner {
  private readonly parts: OwnedQueuesParts;
  private readonly running = new Set<Promise<void>>();
  private workers: Worker[] = [];
  private term = 0;

  constructor(parts: OwnedQueuesParts) {
    this.parts = parts;
  }

  async begin(fence: Fence, before: Predecessor, callsPerSecond: number | undefined): Promise<void> {
    const { budget } = this.parts;
    const rate = callsPerSecond ?? this.parts.callsPerSecond;
    this.term += 1;
    const { term } = this;
    this.parts.began();
    budget.open({
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

  end(): Released {
    const released = this.parts.budget.close();
    for (const worker of this.workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    this.workers = [];
    this.parts.ended();
    return released;
  }

  learnedMarginMs(): number {
    return this.parts.budget.learnedMarginMs;
  }

  wantsToGive(signal: AbortSignal): Promise<void> {
    return this.parts.surplus(signal);
  }

  /** What was under way when a term ended, here or in earlier terms. */
  async finished(): Promise<void> {
    await Promise.all(this.running);
  }

  private run(worker: Worker): void {
    const running = worker.run().catch((error: unknown) => this.parts.failed(error));
    this.running.add(running);
    void running.then(() => this.running.delete(running));
  }
}
