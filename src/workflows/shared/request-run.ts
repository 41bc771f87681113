/** A run that was started with a request, which its first activity checks: its attention flags and its calls. */
import type { Principal } from '../../activities/shared/execution.ts';
import type { Prepared } from '../../activities/shared/preparation.ts';
import type { PayoutSettings } from '../../domain/payout-record.ts';
import { flagged, unflagged } from './attention.ts';
import { type CallSettings, ranOut } from './calls.ts';

/** Fails the workflow task, so that the workflow waits for workers of the version that wrote this. */
export function newerVersion(what: string): Error {
  return new Error(`only a newer version knows ${what}`);
}

/** Makes a call with these settings. */
export type Work<T> = (calls: CallSettings) => Promise<T>;

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
  /** The last call was flagged, because it had waited too long. */
  wasLate = false;

  abstract get calls(): CallSettings;

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
   * One call to the provider. If it waits too long for its turn or its response, it is flagged, and `late` replaces it,
   * without a limit. Temporal ends the first call, so no timer of the workflow is needed.
   */
  async call<T>(work: Work<T>, late = work, isOver = ranOut): Promise<T> {
    const sinceMs = Date.now();
    this.record.lastAskedAtMs = sinceMs;
    this.wasLate = false;
    try {
      return await work({ ...this.calls, withinMs: this.settings.callWaitsMs });
    } catch (error) {
      if (!isOver(error)) throw error;
      const since = new Date(sinceMs).toISOString();
      this.wasLate = true;
      this.flag('CALL_WAITS', `a call has waited for its turn or its response since ${since}`);
      this.show();
      return await late(this.calls);
    } finally {
      this.unflag('CALL_WAITS');
    }
  }

  private get checked(): Prepared<Request> {
    if (!this.prepared) throw new Error('the request has not been checked yet');
    return this.prepared;
  }
}
