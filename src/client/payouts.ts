/** Starts, steers and reads payouts. Connects to Temporal only, never to the provider. */
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { UpdateDefinition } from '@temporalio/common';
import { checkBody } from '../contract/fields.ts';
import { payoutOf, payoutWorkflowId } from '../contract/ids.ts';
import type { ListedPayout, PageRequest, PayoutFilter, PayoutPage } from '../contract/lists.ts';
import { startFactsIn } from '../contract/memo.ts';
import { formatMoney } from '../contract/money.ts';
import type { MadeDecision, PayoutResult, PayoutState, Timeline } from '../contract/payout.ts';
import {
  type CheckedPayoutRequest,
  checkPayoutRequest,
  type PayoutRequest,
  payoutRequestSchema,
  readStoredRequest,
} from '../contract/payout-request.ts';
import type { StatementFilter, StatementRow } from '../contract/statement.ts';
import {
  type ApprovalDecision,
  approveUpdate,
  argumentOf,
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
import { memoOfRequest } from '../domain/listed-payout.ts';
import { repeatsLast } from '../domain/payout-record.ts';
import { endedState } from '../domain/payout-state.ts';
import type { SearchKeys } from '../encryption/search-keys.ts';
import { APP, NEEDS_ATTENTION, PHASE } from '../temporal/namespace.ts';
import { withPacedLists } from '../temporal/visibility.ts';
import { NoWorkerError } from '../temporal/worker-watch.ts';
import { ConflictError, EndedError, PayoutsError, requireValid } from './errors.ts';
import { acknowledge, withoutAcknowledged } from './follow-ups.ts';
import { lastKnownState } from './last-known.ts';
import { allRows, payoutPage } from './lists.ts';
import { hashesAttribute, hashesOf } from './search.ts';
import { findJoinable, findStarted, startDetails, startOrJoin, type UniqueStart } from './start-once.ts';
import { periodRows, type WithDeadline } from './statements.ts';
import { type Snapshot, type StarterOptions, Steered, withResult } from './steering.ts';
import { timelineOf } from './timeline.ts';

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
  /** The name of the caller's key. This caller can neither approve the payout nor resolve its review. */
  startedBy?: string | undefined;
}

export interface PayoutStart {
  request: CheckedPayoutRequest;
  startedBy: string | undefined;
  /** The latest run. `length`: the events of its history. */
  run: { workflowId: string; runId: string; startedAt: string; length: number };
}

type Payout = WorkflowSignatures['payout'];

export type PayoutSnapshot = Snapshot<PayoutState, PayoutResult>;

export interface PayoutsOptions extends StarterOptions {
  /** Payouts are found by their hashes. Without it, starts write none, and a search throws. */
  searchKeys?: SearchKeys | undefined;
}

export class Payouts extends Steered<Payout, PayoutRef, PayoutState> {
  private readonly searchKeys: SearchKeys | undefined;
  private paced: Client | undefined;

  constructor({ searchKeys, ...options }: PayoutsOptions) {
    super(options);
    this.searchKeys = searchKeys;
  }

  /**
   * Starts a payout, or joins the running or ended payout with the same body (spec: Payout creation request). Throws
   * `InvalidPayoutRequestError` or `ConflictError`; then nothing was started.
   */
  async start(body: PayoutRequest, origin: Origin = {}): Promise<StartedPayout> {
    const once = this.uniqueStart(body, origin);
    return startedPayout(once, await startOrJoin(this.client, once, this.clock));
  }

  /**
   * Like `start`, for a workflow. `isNew`: false if the workflow may be an old one, started again by somebody else.
   * `joined`: the payout already existed, and its batch had not started it.
   */
  async startFor(
    body: unknown,
    { batch, startedBy, isNew }: Origin & { isNew: boolean },
  ): Promise<{ joined: boolean }> {
    const once = { ...this.uniqueStart(body, { batch, startedBy }), isDoubtful: !isNew };
    const { memo } = await startOrJoin(this.client, once, this.clock);
    return { joined: startFactsIn(memo)['batch'] !== batch };
  }

  /** The payout that `startFor` would join. Undefined if there is none. Throws what `startFor` throws. */
  async findForBatch(body: unknown, batchId: string): Promise<{ joined: boolean } | undefined> {
    const found = await findStarted(this.client, this.uniqueStart(body, { batch: batchId }));
    return found && { joined: startFactsIn(found.memo)['batch'] !== batchId };
  }

  /** The payout that `start` would join. Undefined if it would start one. Throws what `start` throws. */
  async find(body: PayoutRequest): Promise<StartedPayout | undefined> {
    const once = this.uniqueStart(body, {});
    const found = await findJoinable(this.client, once, this.clock);
    return found && startedPayout(once, found);
  }

  private uniqueStart(body: unknown, { batch, startedBy }: Origin): UniqueStart<CheckedPayoutRequest> {
    const request = requireValid(checkPayoutRequest(body, this.targetCurrencies));
    const { app, partnerOrderId, instructedAmount } = request;
    return {
      type: 'payout',
      idOf: (named) => payoutWorkflowId(named.app, named.partnerOrderId),
      request,
      summary: `payout of ${formatMoney(instructedAmount)}`,
      facts: { environment: this.environment, batch, startedBy, ...memoOfRequest(request) },
      attributes: [
        { key: APP, value: app },
        { key: PHASE, value: 'CHECKING' },
        ...hashesAttribute(hashesOf(this.searchKeys, request, batch)),
      ],
      read: (argument) => checkBody(payoutRequestSchema, argument),
      readStored: readStoredRequest,
      conflict: () => conflict(partnerOrderId),
    };
  }

  /**
   * Throws Temporal's `WorkflowNotFoundError`, and `ConflictError` if the argument is not a valid payout request.
   */
  async startDetails(ref: PayoutRef): Promise<PayoutStart> {
    const { argument, ...start } = await startDetails(this.client, this.handle(ref).workflowId);
    const request = readStoredRequest(argument);
    if (!request.ok) throw conflict(ref.partnerOrderId);
    return { request: request.value, ...start };
  }

  /** What happened in the latest run. `start`: if known, saves two calls. Throws what `startDetails` throws. */
  async timeline(ref: PayoutRef, start?: PayoutStart): Promise<Timeline> {
    return timelineOf(this.client, start ?? (await this.startDetails(ref)));
  }

  /**
   * The state of a payout and, after its end, its result. Ended payouts without the attention flag are read from Temporal
   * alone; all others need a query to a worker. Without a worker, the state is the last known one, with `stale`. Throws what
   * `state` throws.
   */
  look(ref: PayoutRef): Promise<PayoutSnapshot> {
    return this.read(ref);
  }

  protected async fetch(handle: WorkflowHandle<Payout>): Promise<PayoutSnapshot> {
    const description = await handle.describe();
    const { status, runId, typedSearchAttributes } = description;
    const run = this.client.workflow.getHandle<Payout>(handle.workflowId, runId);
    if (status.name === 'FAILED') await run.result();
    if (status.name === 'COMPLETED' && !typedSearchAttributes.get(NEEDS_ATTENTION)) {
      const result = await run.result();
      return { state: endedState(result), result };
    }
    let state: PayoutState;
    try {
      state = await this.slots.run(() => handle.query(stateQuery));
    } catch (error) {
      if (!(error instanceof NoWorkerError)) throw error;
      return withResult(run, status, await lastKnownState(this.client, description, error.message));
    }
    const ref = payoutOf(handle.workflowId);
    const isFlagged = status.name === 'COMPLETED' && state.needsAttention;
    const shown = isFlagged && ref ? await withoutAcknowledged(this.client, ref, runId, state) : state;
    return withResult(handle, status, shown);
  }

  /**
   * Lists payouts from Temporal's visibility store: open payouts first, the newest first; then ended payouts, the last to
   * end first. Throws `InvalidPayoutRequestError` for an invalid filter.
   */
  list(filter: PayoutFilter = {}): AsyncGenerator<ListedPayout> {
    return allRows('payouts', (page) => this.listPage(filter, page));
  }

  /** One page of `list`. Throws `InvalidPayoutRequestError` for an invalid filter, limit or cursor. */
  listPage(filter: PayoutFilter = {}, page: PageRequest = {}): Promise<PayoutPage> {
    return payoutPage(this.client, this.searchKeys, filter, page);
  }

  /**
   * Each payout that ended in the period, the last to end first, read while you iterate. Throws `InvalidPayoutRequestError`
   * for an invalid filter.
   */
  statement(filter: StatementFilter, withDeadline?: WithDeadline): AsyncGenerator<StatementRow> {
    const { environment } = this;
    this.paced ??= withPacedLists(this.client, this.clock);
    return periodRows({ client: this.paced, environment, withDeadline }, filter);
  }

  /**
   * Decisions may be repeated: the same decision by the same caller returns the state, even after the end. Any other
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
      throw new EndedError('payout', (await this.endedResult(ref, error))?.outcome);
    }
  }

  /**
   * Records that an operator has seen the flags of an ended payout and of its follow-up, which then leave the lists. The
   * same acknowledgement may be repeated. `readAt`: a time before the operator read the flags, in ISO 8601. Throws a
   * `PayoutsError` with `NOT_ACCEPTED_NOW` if the payout has not ended, has no flag, or if its follow-up has found more
   * since `readAt`.
   */
  async acknowledge(
    ref: PayoutRef,
    { by, note, readAt }: Pick<Decision, 'by' | 'note'> & { readAt?: string | undefined },
  ): Promise<PayoutState> {
    const { app = 'default', partnerOrderId } = ref;
    if (by.trim() === '') throw new PayoutsError('NOT_ACCEPTED_NOW', 'by: must name who acknowledges');
    const handle = this.handle(ref);
    this.seen.forget(handle.workflowId);
    await this.requireWorker(ref);
    const { state } = await this.look(ref);
    const { status, runId } = await handle.describe();
    if (status.name !== 'COMPLETED')
      throw new PayoutsError('NOT_ACCEPTED_NOW', 'the payout has not ended: its flags end with their causes');
    const acknowledged = { app, partnerOrderId, payoutRunId: runId };
    const { environment } = this;
    await acknowledge(this.client, {
      ...acknowledged,
      environment,
      by,
      note,
      readAt,
      reasons: state.reasons,
    });
    this.seen.forget(handle.workflowId);
    const now = await withoutAcknowledged(this.client, acknowledged, runId, state);
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
      return await this.steer(ref, (handle) =>
        handle.executeUpdate(update, { args: [argumentOf(update, decision)] }),
      );
    } catch (error) {
      const ended = await this.endedResult(ref, error);
      if (ended && repeatsLast(ended.decisions ?? [], action, decision)) return endedState(ended);
      throw new EndedError('payout', ended?.outcome);
    }
  }

  handle({ app = 'default', partnerOrderId }: PayoutRef): WorkflowHandle<Payout> {
    return this.client.workflow.getHandle<Payout>(payoutWorkflowId(app, partnerOrderId));
  }
}

function conflict(partnerOrderId: string): ConflictError {
  return new ConflictError(
    `partnerOrderId ${partnerOrderId} belongs to a payout with another body: send that body again, or use a new partnerOrderId for another payment`,
  );
}

function startedPayout(
  { request: { app, partnerOrderId } }: UniqueStart<CheckedPayoutRequest>,
  { runId }: { runId: string },
): StartedPayout {
  return { workflowId: payoutWorkflowId(app, partnerOrderId), runId, app, partnerOrderId };
}
