/**
 * Starts and reads batches of payouts. Every call is idempotent: after a crash or an error, call again with the same
 * rows. Connects to Temporal only.
 */
import { WorkflowExecutionAlreadyStartedError, type WorkflowHandle } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { type BatchRequest, type BatchState, type RowRange, rowsDigest } from '../contract/batch.ts';
import { MAX_ROWS_PER_ADD } from '../contract/codes.ts';
import { PAYOUTS_TASK_QUEUE, payoutBatchWorkflowId } from '../contract/ids.ts';
import type { BatchFilter, BatchPage, ListedBatch, PageRequest } from '../contract/lists.ts';
import { starterIn, startMemo } from '../contract/memo.ts';
import { type CheckedPayoutRequest, checkPayoutRequest } from '../contract/payout-request.ts';
import type { Statement, StatementRow } from '../contract/statement.ts';
import {
  type AddRows,
  addedRowsQuery,
  addUpdate,
  batchStateQuery,
  type WorkflowSignatures,
} from '../contract/workflows.ts';
import { inParallel } from '../runtime/runtime.ts';
import { unlessGone } from '../temporal/client-errors.ts';
import { APP, STARTED_AT } from '../temporal/namespace.ts';
import { type BatchRef, type CheckedBatch, checkedBatch, type NewBatch, otherWork } from './checked-batch.ts';
import { ConflictError, EndedError } from './errors.ts';
import { allRows, batchPage } from './lists.ts';
import { unlimitedReads } from './shared-reads.ts';
import { batchRows, requestsOf, type WithDeadline } from './statements.ts';
import { type StarterOptions, Steered } from './steering.ts';

/** Temporal accepts 2 MB per payload and warns from 512 KiB on. 500 ordinary rows have about 350 kB. */
const MAX_BYTES_PER_ADD = 500_000;

type PayoutBatch = WorkflowSignatures['payoutBatch'];
type BatchHandle = WorkflowHandle<PayoutBatch>;

export interface BatchesOptions extends StarterOptions {
  /** Wraps each call with a deadline, except the wait for a result. */
  withDeadline?: WithDeadline | undefined;
}

export class Batches extends Steered<PayoutBatch, BatchRef, BatchState> {
  private readonly withDeadline: WithDeadline;

  constructor({ withDeadline = (call) => call(), reads = unlimitedReads(), ...options }: BatchesOptions) {
    // A read after a change of rows must see it, so nothing is cached.
    super({ ...options, reads: { ...reads, freshMs: 0 } });
    this.withDeadline = withDeadline;
  }

  /**
   * Starts a batch, or continues a batch with the same rows. Resolves when all rows have been added. A batch whose
   * workflow was stopped accepts any rows; a row whose payout exists with another body ends as a conflict. Throws
   * `InvalidPayoutRequestError` with the first hundred bad fields, or `ConflictError`.
   */
  async start(batch: NewBatch, onProgress?: (state: BatchState) => void): Promise<BatchState> {
    return this.startChecked(await this.check(batch), batch.startedBy, onProgress);
  }

  /** Reads and validates all rows, and starts nothing. Throws `InvalidPayoutRequestError` as `start` does. */
  async check(batch: NewBatch): Promise<CheckedBatch> {
    return checkedBatch(batch, (row) => checkPayoutRequest(row, this.targetCurrencies));
  }

  /** As `start`, for a batch that `check` has validated. */
  async startChecked(
    checked: CheckedBatch,
    startedBy?: string,
    onProgress: (state: BatchState) => void = () => undefined,
  ): Promise<BatchState> {
    const { request, rows } = checked;
    await this.begin(request, startedBy);
    let state = await this.stateWithSameRows(checked);
    for (const range of state.missing)
      for (const rowsToAdd of splitRows(rows, range)) {
        onProgress(state);
        state = await this.withDeadline(() =>
          this.steer(request, (handle) => handle.executeUpdate(addUpdate, { args: [rowsToAdd] })),
        );
      }
    return state;
  }

  /**
   * The state of a batch to which all of these rows were added; then `startChecked` starts nothing. Undefined otherwise.
   * Throws `ConflictError`.
   */
  async findComplete(checked: CheckedBatch, startedBy?: string): Promise<BatchState | undefined> {
    const { request } = checked;
    const known = await unlessGone(() => this.withDeadline(() => this.handle(request).describe()));
    // A stopped batch is started again.
    if (known?.status.name !== 'RUNNING' && known?.status.name !== 'COMPLETED') return undefined;
    await this.requireSameStarter(request, startedBy);
    const state = await this.stateWithSameRows(checked);
    return state.missing.length === 0 ? state : undefined;
  }

  private async stateWithSameRows({ request, rows }: CheckedBatch): Promise<BatchState> {
    const { batchId, count } = request;
    const handle = this.handle(request);
    const state = told(await this.withDeadline(() => handle.query(batchStateQuery)));
    const taken = await this.withDeadline(() => handle.query(addedRowsQuery));
    if (state.count !== count) throw conflict(batchId, `it has ${state.count} rows, not ${count}`);
    for (const known of taken) {
      if (rowsDigest(rowsIn(rows, known)) !== known.digest) throw conflict(batchId, differing(known));
      await otherWork();
    }
    return state;
  }

  protected async fetch(handle: BatchHandle): Promise<{ state: BatchState }> {
    return { state: told(await this.slots.run(() => handle.query(batchStateQuery))) };
  }

  /**
   * Each row with the result of its payout, in their order, read while you iterate. Payouts that are still open have no
   * outcome. Throws Temporal's `WorkflowNotFoundError`.
   */
  async *results(ref: BatchRef): AsyncGenerator<StatementRow> {
    yield* (await this.statement(ref)).rows;
  }

  /** The same, and whether every row has finished. */
  async statement(ref: BatchRef): Promise<Statement> {
    const { client, environment, withDeadline } = this;
    const state = await withDeadline(() => this.state(ref));
    const handle = this.handle(ref);
    const parts = await withDeadline(() => this.slots.run(() => handle.query(addedRowsQuery)));
    const rows = batchRows({ client, environment, withDeadline }, { ...state, parts, state });
    return { rows, isFinal: state.phase === 'DONE' };
  }

  /** The requests of the rows that were added, by the number of their row, from 0. */
  async requests(ref: BatchRef): Promise<Map<number, CheckedPayoutRequest>> {
    const { client, withDeadline } = this;
    const { app = 'default', batchId } = ref;
    const parts = await withDeadline(() => this.slots.run(() => this.handle(ref).query(addedRowsQuery)));
    const rows = await inParallel(parts, async (part) => {
      const requests = await withDeadline(() => requestsOf(client, { app, batchId }, part));
      return requests.map((request, at) => [part.offset + at, request] as const);
    });
    return new Map(rows.flat());
  }

  /** Lists batches in the order of `payouts.list`. Throws `InvalidPayoutRequestError` for an invalid filter. */
  list(filter: BatchFilter = {}): AsyncGenerator<ListedBatch> {
    return allRows('batches', (page) => this.listPage(filter, page));
  }

  /** One page of `list`. Throws `InvalidPayoutRequestError` for an invalid filter, limit or cursor. */
  listPage(filter: BatchFilter = {}, page: PageRequest = {}): Promise<BatchPage> {
    return this.withDeadline(() => batchPage(this.client, filter, page));
  }

  /**
   * Stops starting rows. Payouts that were already started continue, except those whose quote is refused. Repeatable, and
   * needs no worker. A batch that had already ended stays as it is: `canceled` of its state is false. Throws Temporal's
   * `WorkflowNotFoundError` if there is no such batch.
   */
  async cancel(ref: BatchRef): Promise<void> {
    await this.withDeadline(() => this.steer(ref, (handle) => handle.cancel()));
  }

  /** As `cancel`, and returns the state. Needs a worker. Throws `EndedError` if every row is done. */
  async cancelOpen(ref: BatchRef): Promise<BatchState> {
    await this.cancel(ref);
    const state = await this.withDeadline(() => this.state(ref));
    if (state.phase === 'DONE' && !state.canceled) throw new EndedError('batch', 'every row is done');
    return state;
  }

  /** The name of the caller who started the batch, if recorded. Throws Temporal's `WorkflowNotFoundError`. */
  async startedBy(ref: BatchRef): Promise<string | undefined> {
    const { memo } = await this.withDeadline(() => this.handle(ref).describe());
    return starterIn(memo);
  }

  handle({ app = 'default', batchId }: BatchRef): BatchHandle {
    return this.client.workflow.getHandle<PayoutBatch>(payoutBatchWorkflowId(app, batchId));
  }

  /**
   * Starts the workflow, even after it was stopped or failed; it then finds its payouts. Does not restart a completed
   * batch.
   */
  private async begin(request: BatchRequest, startedBy: string | undefined): Promise<void> {
    const { app, batchId, count } = request;
    const startedAt = new Date(this.clock.wallMs());
    try {
      await this.withDeadline(() =>
        this.client.workflow.start<PayoutBatch>('payoutBatch', {
          taskQueue: PAYOUTS_TASK_QUEUE,
          workflowId: payoutBatchWorkflowId(app, batchId),
          workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
          workflowIdConflictPolicy: 'USE_EXISTING',
          args: [request],
          memo: startMemo({
            environment: this.environment,
            startedBy,
            rejectDuplicate: startedAt.toISOString(),
          }),
          typedSearchAttributes: new TypedSearchAttributes([
            { key: APP, value: app },
            { key: STARTED_AT, value: startedAt },
          ]),
          staticSummary: `batch of ${count} payouts`,
        }),
      );
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    await this.requireSameStarter(request, startedBy);
  }

  /**
   * Added rows are attributed to the batch's starter, who must not approve them. Another caller could add rows and
   * approve them.
   */
  private async requireSameStarter(ref: BatchRef, startedBy: string | undefined): Promise<void> {
    if (startedBy !== undefined && (await this.startedBy(ref)) !== startedBy)
      throw conflict(ref.batchId, 'another caller started it');
  }
}

/** After a cancellation, the workflow's text counts rows that were never started as finished (H375). */
function told(state: BatchState): BatchState {
  const { phase, canceled, count, outcomes } = state;
  const { notStarted, stopped } = outcomes;
  if (phase !== 'DONE' || !canceled || notStarted + stopped === 0) return state;
  const others = [
    ...(notStarted > 0 ? [`${notStarted} never started`] : []),
    ...(stopped > 0 ? [`${stopped} no longer tracked`] : []),
  ];
  return {
    ...state,
    sentence: `Canceled: ${count - notStarted - stopped} of ${count} rows have finished (${others.join(', ')}).`,
    nextStep:
      'To pay the other rows, send them in a new batch. Payouts that were already started are joined.',
  };
}

function conflict(batchId: string, difference: string): ConflictError {
  return new ConflictError(`batch ${batchId} already exists with a difference: ${difference}`);
}

/** People count rows from 1. */
function differing({ offset, count }: RowRange): string {
  return count === 1 ? `row ${offset + 1} differs` : `a row from ${offset + 1} to ${offset + count} differs`;
}

function rowsIn<T>(rows: readonly T[], { offset, count }: RowRange): T[] {
  return rows.slice(offset, offset + count);
}

/** Splits rows into arguments of `add`, each within the limits on rows and bytes. */
function* splitRows(rows: readonly CheckedPayoutRequest[], { offset, count }: RowRange): Generator<AddRows> {
  let add: AddRows = { offset, payouts: [] };
  let bytes = 0;
  for (const [at, row] of rowsIn(rows, { offset, count }).entries()) {
    const size = Buffer.byteLength(JSON.stringify(row)) + 1;
    if (add.payouts.length === MAX_ROWS_PER_ADD || (bytes > 0 && bytes + size > MAX_BYTES_PER_ADD)) {
      yield add;
      add = { offset: offset + at, payouts: [] };
      bytes = 0;
    }
    add.payouts.push(row);
    bytes += size;
  }
  if (add.payouts.length > 0) yield add;
}
