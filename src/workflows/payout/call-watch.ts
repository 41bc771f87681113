/** Flags a call to the provider that waits too long for its turn or its answer, with one timer for all calls. */
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';

interface CallWatchParts {
  /** How long a call may wait, in milliseconds. */
  limitMs(): number;
  flag(message: string): void;
  unflag(): void;
}

export class CallWatch {
  private readonly parts: CallWatchParts;
  private callSinceMs: number | undefined;
  private timer: CancellationScope | undefined;
  private timerEndsMs = 0;
  private replaceCall: (() => void) | undefined;

  constructor(parts: CallWatchParts) {
    this.parts = parts;
  }

  /** Runs `work`. When it has waited too long, `urgently` replaces it if given. */
  async call<T>(work: () => Promise<T>, urgently?: () => Promise<T>): Promise<T> {
    this.callSinceMs = Date.now();
    this.startTimer();
    try {
      return await (urgently ? this.replaceable(work, urgently) : work());
    } finally {
      this.callSinceMs = undefined;
      this.parts.unflag();
    }
  }

  private async replaceable<T>(work: () => Promise<T>, urgently: () => Promise<T>): Promise<T> {
    const scope = new CancellationScope();
    this.replaceCall = () => scope.cancel();
    try {
      return await scope.run(work);
    } catch (error) {
      if (isCancellation(error)) return await urgently();
      throw error;
    } finally {
      this.replaceCall = undefined;
    }
  }

  /** Cancels the timer before a wait that would outlast it. */
  standDownFor(ms: number): void {
    if (ms < this.timerEndsMs - Date.now()) return;
    this.timer?.cancel();
    this.timer = undefined;
  }

  private startTimer(): void {
    if (this.timer) return;
    const scope = new CancellationScope();
    this.timer = scope;
    this.timerEndsMs = Date.now() + this.parts.limitMs();
    void scope
      .run(() => this.watchCalls())
      .catch(() => undefined)
      .finally(() => {
        if (this.timer === scope) this.timer = undefined;
      });
  }

  /** One timer covers one call after another: when it fires, it waits for what is left of the current call's limit. */
  private async watchCalls(): Promise<void> {
    const limitMs = this.parts.limitMs();
    let wait = limitMs;
    while (wait > 0) {
      await sleep(wait, { summary: 'flags a call that waits too long' });
      if (this.callSinceMs === undefined) return;
      wait = this.callSinceMs + limitMs - Date.now();
      this.timerEndsMs = Date.now() + wait;
    }
    const since = new Date(this.callSinceMs ?? Date.now()).toISOString();
    this.parts.flag(`a call has waited for its turn or its answer since ${since}`);
    this.replaceCall?.();
  }
}
