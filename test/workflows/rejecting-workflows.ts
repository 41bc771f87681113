import { ApplicationFailure, condition } from '@temporalio/workflow';

export async function waits(): Promise<void> {
  await condition(() => false);
}

export async function fails(): Promise<void> {
  throw ApplicationFailure.nonRetryable('expected');
}

/** Nobody awaits the rejected promise. */
export async function rejects(): Promise<void> {
  void Promise.reject(new Error('nobody awaits'));
  await condition(() => false);
}
