/** Failure messages and stack traces are payloads like any other, so that the codec encrypts them too. */
import { DefaultFailureConverter } from '@temporalio/common';

export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
