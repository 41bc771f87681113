/**
 * Failure messages and stack traces are payloads like any other, so that the codec encrypts them too. The exception
 * holds nobody's data, and everybody who sends queries has to recognize it.
 *
 * The SDK loads this file by its path, in tests without a compiler: no type annotations here, and no imports of ours.
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
