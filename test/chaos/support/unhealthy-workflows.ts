/** Workflows that do what none of the product's may do. */
import { ApplicationFailure, sleep } from '@temporalio/workflow';

export async function fails(): Promise<void> {
  throw ApplicationFailure.nonRetryable('it failed');
}

/** An error that is no failure of Temporal's fails the workflow task, and the server tries it again. */
export async function throwsInItsTask(): Promise<void> {
  throw new RangeError('a sum of 19 digits');
}

export async function isWell(): Promise<void> {
  await sleep(60_000);
}
