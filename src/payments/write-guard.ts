/** Stands between undici and the socket: knows whether a request was written, and lets it go only once. */
import { performance } from 'node:perf_hooks';
import type { Dispatcher } from 'undici';

/** What one exchange wants, and what became of it. */
export interface Attempt {
  /** The request's first byte may have left. */
  written: boolean;
  /** It was held back because its deadline had passed. */
  late: boolean;
  /** It was held back because the gate had closed. */
  shut: boolean;
  /** The gate's last word. */
  mayWrite: () => boolean;
  caller: AbortSignal | undefined;
  /** On the clock of `performance.now()`. */
  deadline: number | undefined;
  /** Aborted when nobody waits for the answer any more: by the caller, or by the total time-out. */
  givenUp: AbortSignal;
}

type Handler = Dispatcher.DispatchHandler;

/**
 * Undici calls `onRequestStart` right before it writes, perhaps long after `request()` (it had to connect),
 * and again if it were ever to retry: both are checked here, whatever undici's defaults become (H11).
 */
export class WriteGuard implements Handler {
  readonly #handler: Handler;
  readonly #attempt: Attempt;

  constructor(handler: Handler, attempt: Attempt) {
    this.#handler = handler;
    this.#attempt = attempt;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    if (this.#mayWrite()) {
      this.#attempt.written = true;
      this.#handler.onRequestStart?.(controller, context);
    } else controller.abort(new Error('withheld'));
  }

  onResponseStart(...args: Parameters<NonNullable<Handler['onResponseStart']>>): void {
    this.#handler.onResponseStart?.(...args);
  }

  onResponseData(...args: Parameters<NonNullable<Handler['onResponseData']>>): void {
    this.#handler.onResponseData?.(...args);
  }

  onResponseEnd(...args: Parameters<NonNullable<Handler['onResponseEnd']>>): void {
    this.#handler.onResponseEnd?.(...args);
  }

  onResponseError(...args: Parameters<NonNullable<Handler['onResponseError']>>): void {
    this.#handler.onResponseError?.(...args);
  }

  #mayWrite(): boolean {
    const attempt = this.#attempt;
    if (attempt.written) return false;
    attempt.late = attempt.deadline !== undefined && performance.now() >= attempt.deadline;
    if (attempt.late || attempt.givenUp.aborted) return false;
    // Last, for a yes counts as a send.
    attempt.shut = !attempt.mayWrite();
    return !attempt.shut;
  }
}
