/** What the API server and the CLI share for batches: the lines of NDJSON, and the cancellation. */
import type { Batches } from '../client/batches.ts';
import type { BatchRef } from '../client/checked-batch.ts';
import { EndedError } from '../client/payouts-error.ts';
import type { BatchState } from '../domain/batch.ts';

/**
 * Stops starting rows; canceling again returns the state again. Throws `EndedError`, and Temporal's
 * `WorkflowNotFoundError` if there is no such batch.
 */
export async function cancelBatch(
  batches: Batches,
  ref: BatchRef,
  withDeadline: <T>(call: () => Promise<T>) => Promise<T>,
): Promise<BatchState> {
  await batches.cancel(ref);
  const state = await withDeadline(() => batches.state(ref));
  if (state.phase === 'DONE' && !state.canceled) throw new EndedError('batch', 'every row is done');
  return state;
}

export interface NdjsonLine {
  /** From 1. */
  number: number;
  bytes: Buffer;
}

/** Only the white space of JSON: a line of other blanks is an invalid row. */
export const isBlank = (line: Buffer) => line.length === 0 || /^[ \t\r]*$/.test(line.toString('latin1'));

/** Yields the lines that are not blank one by one, so that a reader stops at the first invalid row. */
export function* ndjsonLines(bytes: Buffer): Generator<NdjsonLine> {
  for (const line of linesOf(bytes)) if (!isBlank(line.bytes)) yield line;
}

/** Also yields blank lines. */
export function* linesOf(bytes: Buffer): Generator<NdjsonLine> {
  for (let [from, number] = [0, 1]; from < bytes.length; number += 1) {
    const end = bytes.indexOf('\n', from);
    const to = end === -1 ? bytes.length : end;
    yield { number, bytes: bytes.subarray(from, to) };
    from = to + 1;
  }
}
