/**
 * The messages of a batch and its parts. `add` is an update, because the caller needs to know that the rows have been
 * added. A batch and its parts use signals between each other, which survive continue-as-new on either side.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { AddedRows, BatchState } from '../domain/batch.ts';
import type { PartReport } from '../domain/batch-record.ts';
import type { PayoutRequest } from '../domain/payout.ts';

export interface AddRows {
  /** The index in the batch of the first of these rows. The first row of the batch is row 0. */
  offset: number;
  /** At most 500. */
  payouts: PayoutRequest[];
}

export const addUpdate = defineUpdate<BatchState, [AddRows]>('add');
export const batchStateQuery = defineQuery<BatchState>('state');
/** For a caller who continues a batch: the rows that were added, to compare with the caller's own rows. */
export const addedRowsQuery = defineQuery<AddedRows[]>('addedRows');
/** From the batch to a part: start the rows, and report. */
export const turnSignal = defineSignal('turn');
/** From the batch to a part: start no more rows. */
export const stopStartingSignal = defineSignal('stopStarting');
/** From a part to its batch. */
export const partReportSignal = defineSignal<[PartReport]>('partReport');
