/** A run that was started with a request, which its first activity checks. */
import type { Caller } from '../../activities/shared/execution.ts';
import type { Prepared } from '../../activities/shared/preparation.ts';
import type { PayoutSettings } from '../../domain/payout-record.ts';
import { FlaggedRun } from './attention.ts';

/** Fails the workflow task, so that the workflow waits for workers of the version that wrote this. */
export function newerVersion(what: string): Error {
  return new Error(`only a newer version knows ${what}`);
}

export abstract class RequestRun<
  Request extends { app: string; openId?: string | undefined },
  Code extends string,
> extends FlaggedRun<Code> {
  /** Undefined before the request has been checked. Handlers run before that and must not throw. */
  prepared: Prepared<Request> | undefined;

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

  get caller(): Caller {
    return { environment: this.settings.environment, app: this.request.app, openId: this.request.openId };
  }

  private get checked(): Prepared<Request> {
    if (!this.prepared) throw new Error('the request has not been checked yet');
    return this.prepared;
  }
}
