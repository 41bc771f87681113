/**
 * Every message that a batch and its parts take. `add` is an update, for the caller needs to know that the rows
 * are in; what a part and its batch tell each other are signals, which survive each other's continue-as-new.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { AddedRows, BatchState } from '../domain/batch.ts';
import type { PartReport } from '../domain/batch-record.ts';
import type { PayoutRequest } from '../domain/payout.ts';

export interface AddRows {
  /** The number of the first of these rows in the batch, from 0. */
  offset: number;
  /** At most 500. */
  payouts: PayoutRequest[];
}

export const addUpdate = defineUpdate<BatchState, [AddRows]>('add');
export const batchStateQuery = defineQuery<BatchState>('state');
/** For whoever goes on with a batch: what it has, to compare with what should be there. */
export const addedRowsQuery = defineQuery<AddedRows[]>('taken');
/** From the batch to a part: begin, and report where you stand. */
export const turnSignal = defineSignal('turn');
/** From the batch to a part: start no more rows. */
export const stopStartingSignal = defineSignal('stopStarting');
/** From a part to its batch. */
export const partReportSignal = defineSignal<[PartReport]>('partReport');
