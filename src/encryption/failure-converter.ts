/**
 * Encodes failure messages and stack traces as payloads, so that the codec encrypts them. `StaleWorkflowClock` is the
 * exception: it contains no data, and every client that sends queries must recognize it. Drops the details of a cancellation,
 * which Temporal's server may have written in plain text.
 *
 * The SDK loads this file by its path, in tests without a compiler, so it has no type annotations and imports none of
 * our modules.
 */
import { DefaultFailureConverter } from '@temporalio/common';

/**
 * From src/workflows/shared/stale-clock.ts. The whole message, so that no other one stays unencrypted. Between its threads,
 * the SDK passes on no more of an error than its message.
 */
const STALE_WORKFLOW_CLOCK =
  'StaleWorkflowClock: events have arrived whose workflow task has not started yet; ask again';
const plain = new DefaultFailureConverter();
const encoding = new DefaultFailureConverter({ encodeCommonAttributes: true });

export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });

failureConverter.errorToFailure = (error, ...rest) => {
  const isStale = error instanceof Error && error.message === STALE_WORKFLOW_CLOCK;
  return (isStale ? plain : encoding).errorToFailure(error, ...rest);
};

const { failureToError } = failureConverter;
failureConverter.failureToError = function withoutDetails(failure, ...rest) {
  const shown = failure.canceledFailureInfo ? { ...failure, canceledFailureInfo: {} } : failure;
  return failureToError.call(this, shown, ...rest);
};
