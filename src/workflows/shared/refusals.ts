/** Refuses an update with a reason that a person can read. */
import { ApplicationFailure } from '@temporalio/workflow';
import { NOT_ACCEPTED_NOW } from '../../contract/failure-types.ts';
import { isRecord } from './raw-signal.ts';

export function notAccepted(problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(problem, NOT_ACCEPTED_NOW);
}

/** Refuses the update if there is a problem. */
export function demand(problem: string | undefined): void {
  if (problem) throw notAccepted(problem);
}

/** The problem with `by`, the person who decides. */
export function named(message: unknown): string | undefined {
  const by = isRecord(message) ? message['by'] : undefined;
  return typeof by === 'string' && by.trim() !== '' ? undefined : 'by: must name who decides';
}
