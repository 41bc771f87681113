/**
 * How other programs start, steer and read payouts. Talks to Temporal only; never to the payments service.
 */

import { type Client, isGrpcServiceError, ServiceError, type WorkflowHandle } from '@temporalio/client';
import { payoutWorkflowId } from '../contract/ids.ts';
import {
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
} from '../contract/payout-messages.ts';
import { checkPayoutRequest, type PayoutRequestInput } from '../contract/payout-request.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { CheckedPayoutRequest, PayoutResult, PayoutState } from '../domain/payout.ts';
import { endedState } from '../domain/payout-state.ts';
import { PROCESS_SURROUNDINGS } from '../surroundings/process.ts';
import type { Clock } from '../surroundings/surroundings.ts';
import { APP, NEEDS_ATTENTION, PHASE } from '../temporal/search-keys.ts';
import { InvalidPayoutRequestError } from './invalid-request.ts';
import { type ReadSharing, SharedReads, unlimitedReads } from './shared-reads.ts';
import { startDetails, startOrJoin, type UniqueStart } from './start-once.ts';

/** Thrown when the number is taken by a payout with another body. Nothing was started or changed. */
export class PayoutConflictError extends Error {
  override readonly name = 'PayoutConflictError';
  constructor(partnerOrderId: string) {
    super(`partnerOrderId ${partnerOrderId} belongs to a payout with another body`);
  }
}

/** Which payout: the caller's own number, and the application that pays (`default`). */
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

/** Where a start comes from, recorded beside it. */
export interface Origin {
  batch?: string | undefined;
  /** Who started it: the name of a key, never a person's. Whoever it is cannot approve it over HTTP. */
  startedBy?: string | undefined;
}

/** A payout, and what its starter wrote beside it. */
interface Joined {
  payout: StartedPayout;
  memo: Record<string, unknown>;
}

/** What a payout was started with, and by whom if its starter said so. */
export interface PayoutStart {
  request: CheckedPayoutRequest;
  startedBy: string | undefined;
}

type PayoutHandle = WorkflowHandle<WorkflowSignatures['payout']>;

/** Where a payout stands and, once it has ended, its result. */
export interface PayoutSnapshot {
  state: PayoutState;
  result?: PayoutResult;
}

/** gRPC's status of that name. */
const FAILED_PRECONDITION = 9;

export interface PayoutsOptions {
  client: Client;
  /** Recorded with each start; a worker of another environment refuses it. */
  environment?: string | undefined;
  /** How status reads share workers with others; by default only among the callers of this object. */
  reads?: ReadSharing | undefined;
  /** By which a lag of Temporal's visibility is waited for; by default this process's own. */
  clock?: Clock | undefined;
}

export class Payouts {
  private readonly client: Client;
  private readonly environment: string | undefined;
  private readonly clock: Clock;
  private readonly seen: SharedReads<PayoutSnapshot>;

  constructor({
    client,
    environment,
    reads = unlimitedReads(),
    clock = PROCESS_SURROUNDINGS.clock,
  }: PayoutsOptions) {
    this.client = client;
    this.environment = environment;
    this.clock = clock;
    this.seen = new SharedReads(reads);
  }

  /**
   * Starts a payout, or joins the one that was started with the same body, running or ended.
   * Throws `InvalidPayoutRequestError` or `PayoutConflictError`; nothing is started then.
   */
  async start(body: PayoutRequestInput | unknown, origin: Origin = {}): Promise<StartedPayout> {
    return (await this.startOrJoin(body, origin)).payout;
  }

  /** `joined`: it was there already, and the same batch had not started it. */
  async startForBatch(
    body: PayoutRequestInput | unknown,
    batchId: string,
    startedBy?: string,
  ): Promise<{ payout: StartedPayout; joined: boolean }> {
    const { payout, memo } = await this.startOrJoin(body, { batch: batchId, startedBy });
    return { payout, joined: memo['batch'] !== batchId };
  }

  private async startOrJoin(body: unknown, { batch, startedBy }: Origin): Promise<Joined> {
    const checked = checkPayoutRequest(body);
    if (!checked.ok) throw new InvalidPayoutRequestError(checked.errors);
    const { app, partnerOrderId, instructedAmount } = checked.value;
    const workflowId = payoutWorkflowId(app, partnerOrderId);
    const once: UniqueStart<CheckedPayoutRequest> = {
      type: 'payout',
      workflowId,
      request: checked.value,
      summary: `payout of ${instructedAmount.amount} ${instructedAmount.currency}`,
      memo: {
        ...(this.environment && { environment: this.environment }),
        ...(batch !== undefined && { batch }),
        ...(startedBy !== undefined && { startedBy }),
      },
      attributes: [
        { key: APP, value: app },
        { key: PHASE, value: 'CHECKING' },
      ],
      read: checkPayoutRequest,
      conflict: () => new PayoutConflictError(partnerOrderId),
    };
    const { runId, memo } = await startOrJoin(this.client, once, this.clock);
    return { payout: { workflowId, runId, app, partnerOrderId }, memo };
  }

  /** Throws Temporal's `WorkflowNotFoundError`, and `PayoutConflictError` where it cannot be read as a payout. */
  async startDetails(ref: PayoutRef): Promise<PayoutStart> {
    const { argument, startedBy } = await startDetails(
      this.client,
      payoutWorkflowId(ref.app ?? 'default', ref.partnerOrderId),
    );
    const request = checkPayoutRequest(argument);
    if (!request.ok) throw new PayoutConflictError(ref.partnerOrderId);
    return { request: request.value, startedBy };
  }

  /** Like `look`, the state alone. */
  async state(ref: PayoutRef): Promise<PayoutState> {
    return (await this.look(ref)).state;
  }

  /**
   * A payout that has ended is read from Temporal alone; a worker is asked about all others, and about those that ended
   * needing attention. Callers who look at the same payout at the same time share one answer. Throws Temporal's
   * `WorkflowNotFoundError`, and `WorkflowFailedError` where the start was bad input.
   */
  look(ref: PayoutRef): Promise<PayoutSnapshot> {
    const handle = this.handle(ref);
    return this.seen.read(handle.workflowId, () => this.lookAt(handle));
  }

  private async lookAt(handle: PayoutHandle): Promise<PayoutSnapshot> {
    const { status, runId, typedSearchAttributes } = await handle.describe();
    const run = this.client.workflow.getHandle<WorkflowSignatures['payout']>(handle.workflowId, runId);
    if (status.name === 'FAILED') await run.result();
    if (status.name === 'COMPLETED' && !typedSearchAttributes.get(NEEDS_ATTENTION)) {
      const result = await run.result();
      return { state: endedState(result), result };
    }
    const state = await this.seen.withSlot(() => handle.query(stateQuery));
    // One that says it is done ends in this very moment.
    const ended = status.name === 'COMPLETED' || (status.name === 'RUNNING' && state.phase === 'DONE');
    return ended ? { state, result: await handle.result() } : { state };
  }

  /** Waits for the end. Throws Temporal's `WorkflowFailedError` where the start was bad input. */
  async result(ref: PayoutRef): Promise<PayoutResult> {
    return this.handle(ref).result();
  }

  async approve(ref: PayoutRef, decision: Decision): Promise<PayoutState> {
    return this.steer(ref, (handle) =>
      retryDroppedUpdate(() => handle.executeUpdate(approveUpdate, { args: [decision] })),
    );
  }

  async refuse(ref: PayoutRef, decision: Decision): Promise<PayoutState> {
    return this.steer(ref, (handle) =>
      retryDroppedUpdate(() => handle.executeUpdate(refuseUpdate, { args: [decision] })),
    );
  }

  async cancel(ref: PayoutRef, request: CancelRequest): Promise<PayoutState> {
    return this.steer(ref, (handle) =>
      retryDroppedUpdate(() => handle.executeUpdate(cancelUpdate, { args: [request] })),
    );
  }

  async resolve(ref: PayoutRef, resolution: Resolution): Promise<PayoutState> {
    return this.steer(ref, (handle) =>
      retryDroppedUpdate(() => handle.executeUpdate(resolveUpdate, { args: [resolution] })),
    );
  }

  async poll(ref: PayoutRef): Promise<PayoutState> {
    return this.steer(ref, (handle) => retryDroppedUpdate(() => handle.executeUpdate(pollUpdate)));
  }

  async notify(ref: PayoutRef, notification: Notification): Promise<void> {
    await this.steer(ref, (handle) => handle.signal(notificationSignal, notification));
  }

  /** Who looks after this sees what was done. */
  private async steer<T>(ref: PayoutRef, send: (handle: PayoutHandle) => Promise<T>): Promise<T> {
    const handle = this.handle(ref);
    try {
      return await send(handle);
    } finally {
      this.seen.forget(handle.workflowId);
    }
  }

  handle({ app = 'default', partnerOrderId }: PayoutRef): PayoutHandle {
    return this.client.workflow.getHandle<WorkflowSignatures['payout']>(
      payoutWorkflowId(app, partnerOrderId),
    );
  }
}

/**
 * An update that reaches a workflow task which the engine then has to repeat is dropped before it was accepted
 * (gRPC FAILED_PRECONDITION): nothing has happened, so it is simply sent again.
 */
export async function retryDroppedUpdate<T>(send: () => Promise<T>): Promise<T> {
  for (let left = 5; ; left -= 1) {
    try {
      return await send();
    } catch (error) {
      if (left === 0 || !droppedWithItsTask(error)) throw error;
    }
  }
}

function droppedWithItsTask(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : undefined;
  return (
    isGrpcServiceError(cause) &&
    cause.code === FAILED_PRECONDITION &&
    /workflow task failure/.test(cause.details)
  );
}
