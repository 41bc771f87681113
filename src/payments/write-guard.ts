/** An undici handler that checks whether a request may be written, and lets it be written only once. */
import type { Dispatcher } from 'undici';
import type { Attempt } from './transport.ts';

type Handler = Dispatcher.DispatchHandler;

/**
 * undici calls `onRequestStart` immediately before it writes, possibly long after `request()` because it had to connect,
 * and again before a retry. The guard checks both, so that it does not depend on undici's defaults (H11).
 */
export class WriteGuard implements Handler {
  readonly #handler: Handler;
  readonly #attempt: Attempt;

  constructor(handler: Handler, attempt: Attempt) {
    this.#handler = handler;
    this.#attempt = attempt;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    if (this.#attempt.mayWrite()) this.#handler.onRequestStart?.(controller, context);
    else controller.abort(new Error('withheld'));
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
}
