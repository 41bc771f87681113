/** Runs a few calls at once, one of each caller, in turns among the callers that wait. */
import type { Clock } from '../runtime/runtime.ts';
import { unavailable } from './problem.ts';

interface CallerTurnsOptions {
  /** The maximum number of concurrent calls. */
  inFlight: number;
  /** A call that has waited this long is rejected with a 503. Milliseconds. */
  waitMs: number;
  /** The detail of the 503. */
  refusal: string;
}

export class CallerTurns {
  private readonly options: CallerTurnsOptions;
  private readonly clock: Clock;
  /** By caller, in the order of their next turns. */
  private readonly queues = new Map<string, (() => void)[]>();
  private readonly running = new Set<string>();

  constructor(options: CallerTurnsOptions, clock: Clock) {
    this.options = options;
    this.clock = clock;
  }

  /** Rejects with the reason of `gone` if that is aborted before the call's turn. */
  async run<T>(caller: string, call: () => Promise<T>, gone?: AbortSignal): Promise<T> {
    await this.turnOf(caller, gone);
    try {
      return await call();
    } finally {
      this.running.delete(caller);
      this.grant();
    }
  }

  private async turnOf(caller: string, gone?: AbortSignal): Promise<void> {
    gone?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const stopWaiting = () => {
        cancel();
        gone?.removeEventListener('abort', leave);
      };
      const go = () => {
        stopWaiting();
        resolve();
      };
      const leave = () => {
        stopWaiting();
        this.keep(
          caller,
          this.queueOf(caller).filter((one) => one !== go),
        );
        reject(gone?.aborted ? gone.reason : unavailable('too-many-waiting', this.options.refusal));
      };
      const cancel = this.clock.after(this.options.waitMs, leave);
      gone?.addEventListener('abort', leave);
      this.queues.set(caller, [...this.queueOf(caller), go]);
      this.grant();
    });
  }

  private grant(): void {
    for (const [caller, [next, ...later]] of this.queues) {
      if (this.running.size >= this.options.inFlight) return;
      if (next === undefined || this.running.has(caller)) continue;
      this.running.add(caller);
      // At the end: the caller's next turn comes after those of the others.
      this.queues.delete(caller);
      this.keep(caller, later);
      next();
    }
  }

  private queueOf(caller: string): (() => void)[] {
    return this.queues.get(caller) ?? [];
  }

  private keep(caller: string, queue: (() => void)[]): void {
    if (queue.length === 0) this.queues.delete(caller);
    else this.queues.set(caller, queue);
  }
}
