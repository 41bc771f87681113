/** Starts, steers and reads payouts. Connects to Temporal only, never to the provider. */
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { UpdateDefinition } from '@temporalio/common';
import { checkBody } from '../contract/fields.ts';
import { payoutOf, payoutWorkflowId } from '../contract/ids.ts';
import type { ListedPayout, PageRequest, PayoutFilter, PayoutPage } from '../contract/lists.ts';
import { formatMoney } from '../contract/money.ts';
import type { MadeDecision, PayoutResult, PayoutState } from '../contract/payout.ts';
import {
  type CheckedPayoutRequest,
  checkPayoutRequest,
  type PayoutRequest,
  payoutRequestSchema,
  readStoredRequest,
} from '../contract/payout-request.ts';
import {
  type ApprovalDecision,
  approveUpdate,
  type CancelRequest,
  cancelUpdate,
  type Decision,
  type Notification,
  notificationSignal,
  pollUpdate,
  type Resolution,
  refuseUpdate,
  resolveUpdate,
  stateQuery,
  type WorkflowSignatures,
} from '../contract/workflows.ts';
import { repeatsLast } from '../domain/payout-record.ts';
import { endedState } from '../domain/payout-state.ts';
import { PROCESS_RUNTIME } from '../runtime/process.ts';
import type { Clock } from '../runtime/runtime.ts';
import { isOfEndedRun } from '../temporal/client-errors.ts';
import { APP, NEEDS_ATTENTION, PHASE } from '../temporal/namespace.ts';
import { acknowledge, withoutAcknowledged } from './acknowledgements.ts';
import { retryDroppedUpdate } from './dropped-updates.ts';
import { requireValid } from './invalid-request.ts';
import { listPayouts, payoutPage } from './lists.ts';
import { EndedError, PayoutsError } from './payouts-error.ts';
import { SharedReads, unlimitedReads, withResult } from './shared-reads.ts';
import {
  findJoinable,
  findStarted,
  memoOf,
  type StartedRun,
  type StarterOptions,
  startDetails,
  startOrJoin,
  type UniqueStart,
} from './start-once.ts';
import { untilEnd, type WaitOptions } from './until-end.ts';

/** Thrown if the `partnerOrderId` belongs to a payout with another body. Nothing was started or changed. */
export class PayoutConflictError extends PayoutsError {
  override readonly name = 'PayoutConflictError';
  constructor(partnerOrderId: string) {
    super('CONFLICT', `partnerOrderId ${partnerOrderId} belongs to a payout with another body`);
  }
}

/** Identifies a payout: the caller's own id, and the application (default `default`). */
export interface PayoutRef {
  app?: string | undefined;
  partnerOrderId: string;
}

export interface StartedPayout {
  workflowId: string;
  runId: string;
  app: string;
  partnerOrderId: string;
}

/** The origin of a start, recorded in its memo. */
export interface Origin {
  batch?: string | undefined;
  /** The name of the caller's key, not of a person. This caller can neither approve the payout nor resolve its review. */
  startedBy?: string | undefined;
}

/** The request of a payout, and the caller who started it, if recorded. */
export interface PayoutStart {
  request: CheckedPayoutRequest;
  startedBy: string | undefined;
}

type Payout = WorkflowSignatures['payout'];
type PayoutHandle = WorkflowHandle<Payout>;

/** The state of a payout and, after its end, its result. */
export interface PayoutSnapshot {
  state: PayoutState;
  result?: PayoutResult;
}

export interface PayoutsOptions extends StarterOptions {
  /** The clock for waits on Temporal's visibility. Default: that of this process. */
  clock?: Clock | undefined;
}

export class Payouts {
  private readonly client: Client;
  private readonly environment: string | undefined;
  private readonly targetCurrencies: readonly string[] | undefined;
  private readonly clock: Clock;
  private readonly seen: SharedReads<PayoutSnapshot>;

  constructor(options: PayoutsOptions) {
    const { client, environment, targetCurrencies, reads, clock = PROCESS_RUNTIME.clock } = options;
    this.client = client;
    this.environment = environment;
    this.targetCurrencies = targetCurrencies;
    this.clock = clock;
    this.seen = new SharedReads(reads ?? unlimitedReads());
  }

  /**
   * Starts a payout, or joins the running or ended payout with the same body (spec: Payout creation request). Throws
   * `InvalidPayoutRequestError` or `PayoutConflictError`; then nothing was started.
   */
  async start(body: PayoutRequest, origin: Origin = {}): Promise<StartedPayout> {
    return (await this.startOrJoin(body, origin)).payout;
  }

  /** Like `start`, for a row of a batch. `joined`: the payout already existed, and this batch had not started it. */
  async startForBatch(
    body: unknown,
    batchId: string,
    startedBy?: string,
  ): Promise<{ payout: StartedPayout; joined: boolean }> {
    const { payout, memo } = await this.startOrJoin(body, { batch: batchId, startedBy });
    return { payout, joined: memo['batch'] !== batchId };
  }

  /** The payout that `startForBatch` would join. Undefined if there is none. Throws what `startForBatch` throws. */
  async findForBatch(body: unknown, batchId: string): Promise<{ joined: boolean } | undefined> {
    const found = await findStarted(this.client, this.uniqueStart(body, { batch: batchId }));
    return found && { joined: found.memo['batch'] !== batchId };
  }

  /** The payout that `start` would join. Undefined if it would start one. Throws what `start` throws. */
  async find(body: PayoutRequest): Promise<StartedPayout | undefined> {
    const once = this.uniqueStart(body, {});
    const found = await findJoinable(this.client, once, this.clock);
    return found && startedPayout(once, found);
  }

  /** Also returns the memo of the start. */
  private async startOrJoin(body: unknown, origin: Origin) {
    const once = this.uniqueStart(body, origin);
    const run = await startOrJoin(this.client, once, this.clock);
    return { payout: startedPayout(once, run), memo: run.memo };
  }

  private uniqueStart(body: unknown, { batch, startedBy }: Origin): UniqueStart<CheckedPayoutRequest> {
    const request = requireValid(checkPayoutRequest(body, this.targetCurrencies));
    const { app, partnerOrderId, instructedAmount } = request;
    const idOf = (named: CheckedPayoutRequest) => payoutWorkflowId(named.app, named.partnerOrderId);
    return {
      ...{ type: 'payout', workflowId: idOf(request), idOf },
      request,
      summary: `payout of ${formatMoney(instructedAmount)}`,
      memo: memoOf({ environment: this.environment, batch, startedBy }),
      attributes: [
        { key: APP, value: app },
        { key: PHASE, value: 'CHECKING' },
      ],
      read: (argument) => checkBody(payoutRequestSchema, argument),
      readStored: readStoredRequest,
      conflict: () => new PayoutConflictError(partnerOrderId),
    };
  }

  /**
   * Throws Temporal's `WorkflowNotFoundError`, and `PayoutConflictError` if the argument is not a valid payout request.
   */
  async startDetails(ref: PayoutRef): Promise<PayoutStart> {
    const { argument, startedBy } = await startDetails(this.client, this.handle(ref).workflowId);
    const request = readStoredRequest(argument);
    if (!request.ok) throw new PayoutConflictError(ref.partnerOrderId);
    return { request: request.value, startedBy };
  }

  /** The state of a payout. Throws the same errors as `look`. */
  async state(ref: PayoutRef): Promise<PayoutState> {
    return (await this.look(ref)).state;
  }

  /**
   * The state of a payout and, after its end, its result. Ended payouts without the attention flag are read from Temporal
   * alone; all others need a query to a worker. Concurrent reads of a payout share one query. Throws Temporal's
   * `WorkflowNotFoundError`, and `WorkflowFailedError` if the start was bad input.
   */
  look(ref: PayoutRef): Promise<PayoutSnapshot> {
    const handle = this.handle(ref);
    return this.seen.read(handle.workflowId, () => this.fetch(handle));
  }

  private async fetch(handle: PayoutHandle): Promise<PayoutSnapshot> {
    const { status, runId, typedSearchAttributes } = await handle.describe();
    const run = this.client.workflow.getHandle<Payout>(handle.workflowId, runId);
    if (status.name === 'FAILED') await run.result();
    if (status.name === 'COMPLETED' && !typedSearchAttributes.get(NEEDS_ATTENTION)) {
      const result = await run.result();
      return { state: endedState(result), result };
    }
    const state = await this.seen.withSlot(() => handle.query(stateQuery));
    const ref = payoutOf(handle.workflowId);
    const isFlagged = status.name === 'COMPLETED' && state.needsAttention;
    const shown = isFlagged && ref ? await withoutAcknowledged(this.client, ref, runId, state) : state;
    return withResult(handle, status, shown);
  }

  /**
   * Waits for the end of the payout, however long it takes. Throws Temporal's `WorkflowNotFoundError`, and
   * `WorkflowFailedError` if the start was bad input.
   */
  async result(ref: PayoutRef): Promise<PayoutResult> {
    return this.handle(ref).result();
  }

  /**
   * Lists payouts from Temporal's visibility store: open payouts first, the newest first; then ended payouts, the last to
   * end first. Throws `InvalidPayoutRequestError` for an invalid filter.
   */
  list(filter: PayoutFilter = {}): AsyncGenerator<ListedPayout> {
    return listPayouts(this.client, filter);
  }

  /** One page of `list`. Throws `InvalidPayoutRequestError` for an invalid filter, limit or cursor. */
  listPage(filter: PayoutFilter = {}, page: PageRequest = {}): Promise<PayoutPage> {
    return payoutPage(this.client, filter, page);
  }

  /**
   * Resolves at the end of the payout, or after `timeoutMs`; `look` then returns its state. Throws Temporal's
   * `WorkflowNotFoundError`, and the reason of `signal`.
   */
  async untilEnd(ref: PayoutRef, options: WaitOptions): Promise<void> {
    const handle = this.handle(ref);
    await untilEnd(this.client, handle, options);
    // A shared read may be of the time before the end.
    this.seen.forget(handle.workflowId);
  }

  /**
   * Decisions may be repeated: the same decision by the same person returns the state, also after the end. Any other
   * decision about an ended payout throws `EndedError`.
   */
  approve(ref: PayoutRef, decision: ApprovalDecision): Promise<PayoutState> {
    return this.decide(ref, 'approve', approveUpdate, decision);
  }

  refuse(ref: PayoutRef, decision: Decision): Promise<PayoutState> {
    return this.decide(ref, 'refuse', refuseUpdate, decision);
  }

  cancel(ref: PayoutRef, request: CancelRequest): Promise<PayoutState> {
    return this.decide(ref, 'cancel', cancelUpdate, request);
  }

  resolve(ref: PayoutRef, resolution: Resolution): Promise<PayoutState> {
    return this.decide(ref, 'resolve', resolveUpdate, resolution);
  }

  async poll(ref: PayoutRef): Promise<PayoutState> {
    try {
      return await this.steer(ref, (handle) => handle.executeUpdate(pollUpdate));
    } catch (error) {
      const ended = await this.endedResult(ref, error);
      throw new EndedError('payout', ended?.outcome);
    }
  }

  /**
   * Records that an operator has seen the flags of an ended payout and of its follow-up, which then leave the lists. The
   * same acknowledgement may be repeated. Throws a `PayoutsError` with `NOT_ACCEPTED_NOW` if the payout has not ended, or
   * has no flag.
   */
  async acknowledge(ref: PayoutRef, { by, note }: Pick<Decision, 'by' | 'note'>): Promise<PayoutState> {
    const { app = 'default', partnerOrderId } = ref;
    const id = { app, partnerOrderId };
    if (by.trim() === '') throw new PayoutsError('NOT_ACCEPTED_NOW', 'by: must name who acknowledges');
    const handle = this.handle(ref);
    this.seen.forget(handle.workflowId);
    const { state } = await this.look(ref);
    const { status, runId } = await handle.describe();
    if (status.name !== 'COMPLETED')
      throw new PayoutsError('NOT_ACCEPTED_NOW', 'the payout has not ended: its flags end with their causes');
    const { environment } = this;
    const { reasons } = state;
    await acknowledge(this.client, { ...id, environment, by, note, reasons, payoutRunId: runId });
    this.seen.forget(handle.workflowId);
    const now = await withoutAcknowledged(this.client, id, runId, state);
    if (!now.acknowledged) throw new PayoutsError('NOT_ACCEPTED_NOW', 'the payout has no flag');
    return now;
  }

  notify(ref: PayoutRef, notification: Notification): Promise<void> {
    return this.steer(ref, (handle) => handle.signal(notificationSignal, notification));
  }

  private async decide<D extends { by: string }>(
    ref: PayoutRef,
    action: MadeDecision['action'],
    update: UpdateDefinition<PayoutState, [D]>,
    decision: D,
  ): Promise<PayoutState> {
    try {
      return await this.steer(ref, (handle) => handle.executeUpdate(update, { args: [decision] }));
    } catch (error) {
      const ended = await this.endedResult(ref, error);
      if (ended && repeatsLast(ended.decisions ?? [], action, decision)) return endedState(ended);
      throw new EndedError('payout', ended?.outcome);
    }
  }

  /**
   * The result of the payout that Temporal refused an update with `error`, because it has ended; undefined if it cannot be
   * read. Throws `error` if there is another reason, and Temporal's `WorkflowNotFoundError` if there is no such payout.
   */
  private async endedResult(ref: PayoutRef, error: unknown): Promise<PayoutResult | undefined> {
    if (!isOfEndedRun(error)) throw error;
    await this.handle(ref).describe();
    const seen = await this.look(ref).catch(() => undefined);
    return seen?.result;
  }

  /** Discards shared reads afterwards, so that later reads see the effect. */
  private async steer<T>(ref: PayoutRef, send: (handle: PayoutHandle) => Promise<T>): Promise<T> {
    const handle = this.handle(ref);
    try {
      return await retryDroppedUpdate(() => send(handle));
    } finally {
      this.seen.forget(handle.workflowId);
    }
  }

  handle({ app = 'default', partnerOrderId }: PayoutRef): PayoutHandle {
    return this.client.workflow.getHandle<Payout>(payoutWorkflowId(app, partnerOrderId));
  }
}

function startedPayout(
  { workflowId, request }: UniqueStart<CheckedPayoutRequest>,
  { runId }: StartedRun,
): StartedPayout {
  const { app, partnerOrderId } = request;
  return { workflowId, runId, app, partnerOrderId };
}
