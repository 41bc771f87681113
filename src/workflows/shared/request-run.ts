/** A run that was started with a request, which its first activity checks: its attention flags and its calls. */
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import type { Principal } from '../../activities/shared/execution.ts';
import type { Prepared } from '../../activities/shared/preparation.ts';
import type { PayoutSettings } from '../../domain/payout-record.ts';
import { flagged, unflagged } from './attention.ts';

/** Fails the workflow task, so that the workflow waits for workers of the version that wrote this. */
export function newerVersion(what: string): Error {
  return new Error(`only a newer version knows ${what}`);
}

export abstract class RequestRun<
  Request extends { app: string; openId?: string | undefined },
  Code extends string,
> {
  abstract readonly record: {
    attention: { code: Code | 'CALL_WAITS'; message: string }[];
    lastAskedAtMs: number;
  };
  /** Undefined before the request has been checked. Handlers run before that and must not throw. */
  prepared: Prepared<Request> | undefined;
  /** A `resolve` update is checking what a person named. */
  isResolving = false;

  private timer: CancellationScope | undefined;
  private timerEndsMs = 0;
  private callSinceMs: number | undefined;
  private replaceCall: (() => void) | undefined;

  /** Shows the state in the Temporal UI. */
  abstract show(): void;

  flag(code: Code | 'CALL_WAITS', message: string): void {
    this.record.attention = flagged(this.record.attention, code, message);
  }

  unflag(...codes: (Code | 'CALL_WAITS')[]): void {
    this.record.attention = unflagged(this.record.attention, ...codes);
  }

  get request(): Request {
    return this.checked.request;
  }

  get settings(): PayoutSettings {
    return this.checked.settings;
  }

  /** Throws if the settings need more than this version knows: its workers must not continue (H191). */
  assertKnown(): void {
    const [unknown] = this.settings.requires ?? [];
    if (unknown !== undefined) throw newerVersion(unknown);
  }

  get principal(): Principal {
    return { environment: this.settings.environment, app: this.request.app, openId: this.request.openId };
  }

  /**
   * One call to the provider. If it waits too long for its turn or its response, it is flagged, and `urgently` replaces it if
   * given.
   */
  async call<T>(work: () => Promise<T>, urgently?: () => Promise<T>): Promise<T> {
    this.record.lastAskedAtMs = Date.now();
    this.callSinceMs = Date.now();
    this.startTimer();
    try {
      return await (urgently ? this.replaceable(work, urgently) : work());
    } finally {
      this.callSinceMs = undefined;
      this.unflag('CALL_WAITS');
    }
  }

  /** Cancels the timer of the calls before a wait of `ms` that would outlast it. */
  protected cancelTimerFor(ms: number): void {
    if (ms < this.timerEndsMs - Date.now()) return;
    this.timer?.cancel();
    this.timer = undefined;
  }

  private get checked(): Prepared<Request> {
    if (!this.prepared) throw new Error('the request has not been checked yet');
    return this.prepared;
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

  private startTimer(): void {
    if (this.timer) return;
    const scope = new CancellationScope();
    this.timer = scope;
    this.timerEndsMs = Date.now() + this.settings.callWaitsMs;
    void scope
      .run(() => this.watchCalls())
      .catch(() => undefined)
      .finally(() => {
        if (this.timer === scope) this.timer = undefined;
      });
  }

  /** One timer covers one call after another: when it fires, it waits for what is left of the current call's limit. */
  private async watchCalls(): Promise<void> {
    const limitMs = this.settings.callWaitsMs;
    let wait = limitMs;
    while (wait > 0) {
      await sleep(wait, { summary: 'flags a call that waits too long' });
      if (this.callSinceMs === undefined) return;
      wait = this.callSinceMs + limitMs - Date.now();
      this.timerEndsMs = Date.now() + wait;
    }
    const since = new Date(this.callSinceMs ?? Date.now()).toISOString();
    this.flag('CALL_WAITS', `a call has waited for its turn or its response since ${since}`);
    this.show();
    this.replaceCall?.();
  }
}
