/** Workflows that misbehave as no workflow of the product may. */
import { ApplicationFailure, sleep } from '@temporalio/workflow';

export async function fails(): Promise<void> {
  throw ApplicationFailure.nonRetryable('it failed');
}

/** An error that is not a Temporal failure fails the workflow task, and the server retries the task. */
export async function throwsInItsTask(): Promise<void> {
  throw new RangeError('a sum of 19 digits');
}

export async function isWell(): Promise<void> {
  await sleep(60_000);
}
