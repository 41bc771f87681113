/**
 * Bounds every call of a connection in time. Without a deadline, Temporal's client waits for an answer for ever, and a
 * server that accepts connections may never answer, for example while its database is down.
 */
import {
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';
import type { Clock } from '../runtime/runtime.ts';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/**
 * Retries as Temporal's client does. A call without a deadline of its own gets one `maxMs` from now. No retry begins after
 * the deadline, so that the last error says why the call failed.
 */
export function boundedCalls(clock: Clock, maxMs: number): Interceptor {
  return (options, nextCall) => {
    const deadlineMs = Number(options.deadline ?? clock.wallMs() + maxMs);
    const { delayFunction, retryableDecider } = defaultGrpcRetryOptions();
    let delayMs = 0;
    const retry = makeGrpcRetryInterceptor({
      retryableDecider: (attempt, status) => {
        delayMs = delayFunction(attempt, status);
        return retryableDecider(attempt, status) && clock.wallMs() + delayMs < deadlineMs;
      },
      delayFunction: () => delayMs,
    });
    return retry({ ...options, deadline: deadlineMs }, nextCall);
  };
}
