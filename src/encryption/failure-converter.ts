/**
 * Encodes failure messages and stack traces as payloads, so that the codec encrypts them. `StaleWorkflowClock` is the
 * exception: it contains no data, and every client that sends queries must recognize it.
 *
 * The SDK loads this file by its path, in tests without a compiler, so it has no type annotations and imports none of
 * our modules.
 */
import { ApplicationFailure, DefaultFailureConverter } from '@temporalio/common';

const plain = new DefaultFailureConverter();
const encoding = new DefaultFailureConverter({ encodeCommonAttributes: true });

export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });

failureConverter.errorToFailure = (error, ...rest) => {
  // `STALE_WORKFLOW_CLOCK` in src/contract/failure-types.ts.
  const isStale = error instanceof ApplicationFailure && error.type === 'StaleWorkflowClock';
  return (isStale ? plain : encoding).errorToFailure(error, ...rest);
};
