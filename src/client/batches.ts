/**
 * How other programs pay many payouts at once. Every call can be repeated: whoever crashed in the middle, or is
 * not sure, calls again with the same rows. Talks to Temporal only.
 */

import { type Client, WorkflowExecutionAlreadyStartedError, type WorkflowHandle } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { addedRowsQuery, addUpdate, batchStateQuery } from '../contract/batch-messages.ts';
import { PAYOUTS_TASK_QUEUE, payoutBatchWorkflowId } from '../contract/ids.ts';
import { rowsDigest } from '../contract/payout-batch.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { AddedRows, BatchRequest, BatchResult, BatchState, RowRange } from '../domain/batch.ts';
import type { CheckedPayoutRequest } from '../domain/payout.ts';
import { APP } from '../temporal/search-keys.ts';
import { type BatchRef, checkedBatch, type NewBatch } from './checked-batch.ts';
import { retryDroppedUpdate } from './payouts.ts';
import { type ReadSharing, SharedReads, unlimitedReads } from './shared-reads.ts';
import { slicesOf } from './slices.ts';

/** Thrown when the batch was started with other rows, or by somebody else. Nothing was added. */
export class BatchConflictError extends Error {
  override readonly name = 'BatchConflictError';
  constructor(batchId: string, which: string) {
    super(`batch ${batchId} has been started otherwise: ${which}`);
  }
}

type Soon = <T>(call: () => Promise<T>) => Promise<T>;

export interface BatchesOptions {
  client: Client;
  /** Recorded with each start; a worker of another environment refuses it. */
  environment?: string | undefined;
  /** Wraps each call but the wait for a result, such as with a deadline. */
  soon?: Soon | undefined;
  /** How status reads share workers with others; by default only among the callers of this object. */
  reads?: ReadSharing | undefined;
}

export class Batches {
  private readonly client: Client;
  private readonly environment: string | undefined;
  private readonly soon: Soon;
  private readonly states: SharedReads<BatchState>;

  constructor({ client, environment, soon = (call) => call(), reads = unlimitedReads() }: BatchesOptions) {
    this.states = new SharedReads({ ...reads, freshMs: 0 });
    this.client = client;
    this.environment = environment;
    this.soon = soon;
  }

  /**
   * Starts a batch, or goes on with one that was started with the same rows; answers when all rows are in. A batch
   * whose workflow was stopped takes any rows: one whose payout was started with another body ends as a conflict.
   * Throws `InvalidPayoutRequestError`, which names every bad row and field, or `BatchConflictError`.
   */
  async start(
    batch: NewBatch,
    onProgress: (state: BatchState) => void = () => undefined,
  ): Promise<BatchState> {
    const { request, rows } = await checkedBatch(batch);
    const handle = await this.begin(request, batch.startedBy);
    let state = await this.soon(() => handle.query(batchStateQuery));
    const taken = await this.soon(() => handle.query(addedRowsQuery));
    refuseOtherRows(request, state.count, taken, rows);
    for (const range of state.missing)
      for (const { offset, payouts } of slicesOf(rows, range)) {
        onProgress(state);
        state = await this.soon(() =>
          retryDroppedUpdate(() => handle.executeUpdate(addUpdate, { args: [{ offset, payouts }] })),
        );
      }
    return state;
  }

  async state(ref: BatchRef): Promise<BatchState> {
    const handle = this.handle(ref);
    return this.states.read(handle.workflowId, () =>
      this.states.withSlot(() => handle.query(batchStateQuery)),
    );
  }

  /** Waits for the end. */
  async result(ref: BatchRef): Promise<BatchResult> {
    return this.handle(ref).result();
  }

  /** No more rows are started; the payouts that were started go on. */
  async cancel(ref: BatchRef): Promise<void> {
    await this.handle(ref).cancel();
  }

  handle({ app = 'default', batchId }: BatchRef): WorkflowHandle<WorkflowSignatures['payoutBatch']> {
    return this.client.workflow.getHandle<WorkflowSignatures['payoutBatch']>(
      payoutBatchWorkflowId(app, batchId),
    );
  }

  /** One that was stopped or failed is started again, and finds its payouts; one that ended is only looked at. */
  private async begin(
    request: BatchRequest,
    startedBy: string | undefined,
  ): Promise<WorkflowHandle<WorkflowSignatures['payoutBatch']>> {
    const { app, batchId, count } = request;
    try {
      await this.soon(() =>
        this.client.workflow.start<WorkflowSignatures['payoutBatch']>('payoutBatch', {
          taskQueue: PAYOUTS_TASK_QUEUE,
          workflowId: payoutBatchWorkflowId(app, batchId),
          workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
          workflowIdConflictPolicy: 'USE_EXISTING',
          args: [request],
          memo: {
            ...(this.environment && { environment: this.environment }),
            ...(startedBy !== undefined && { startedBy }),
          },
          typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
          staticSummary: `batch of ${count} payouts`,
        }),
      );
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    const handle = this.handle(request);
    if (startedBy !== undefined) await this.requireSameStarter(handle, batchId, startedBy);
    return handle;
  }

  /** Rows that somebody adds are recorded as the starter's, who then could not approve them; the other could. */
  private async requireSameStarter(
    handle: WorkflowHandle<WorkflowSignatures['payoutBatch']>,
    batchId: string,
    startedBy: string,
  ): Promise<void> {
    const { memo } = await this.soon(() => handle.describe());
    if (memo?.['startedBy'] !== startedBy) throw new BatchConflictError(batchId, 'somebody else started it');
  }
}

function refuseOtherRows(
  { batchId, count }: BatchRequest,
  started: number,
  taken: readonly AddedRows[],
  rows: readonly CheckedPayoutRequest[],
): void {
  if (started !== count) throw new BatchConflictError(batchId, `there were ${started}, and not ${count}`);
  const other = taken.find((known) => rowsDigest(rowsIn(rows, known)) !== known.digest);
  if (other)
    throw new BatchConflictError(
      batchId,
      `look at rows ${other.offset} to ${other.offset + other.count - 1}`,
    );
}

function rowsIn<T>(rows: readonly T[], { offset, count }: RowRange): T[] {
  return rows.slice(offset, offset + count);
}
