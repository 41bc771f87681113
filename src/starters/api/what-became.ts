/** Where something stands, and how it ended. */
import type { Workflow, WorkflowHandle } from '@temporalio/client';
import { refusedStart } from './explained.ts';

type Known<R> = Pick<WorkflowHandle<Workflow>, 'describe'> & { result(): Promise<R> };

/** A 409 where its start was refused as bad input. */
export async function whatBecame<S extends { phase: string }, R>(
  workflow: Known<R>,
  readState: () => Promise<S>,
): Promise<{ state: S; result?: R }> {
  const { status } = await workflow.describe();
  if (status.name === 'FAILED') await workflow.result().catch(refusedStart);
  const state = await readState();
  // One that says it is done ends in this very moment.
  const ended = status.name === 'COMPLETED' || (status.name === 'RUNNING' && state.phase === 'DONE');
  return ended ? { state, result: await workflow.result() } : { state };
}
