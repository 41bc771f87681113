/** Stands between undici and the socket: asks whether a request may be written, and lets it go only once. */
import type { Dispatcher } from 'undici';
import type { Attempt } from './transport.ts';

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
