/**
 * How other programs start, steer and read payouts. Talks to Temporal only; never to the payments service.
 */
import { type Client, isGrpcServiceError, ServiceError, type WorkflowHandle } from '@temporalio/client';
import { checkPayoutRequest, type FieldError, type PayoutRequestInput } from '../contract/payout-request.ts';
import { payoutWorkflowId } from '../domain/identity.ts';
import type { CheckedPayoutRequest, PayoutResult, PayoutState } from '../domain/payout.ts';
import { APP, PHASE } from '../temporal/search-keys.ts';
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
} from '../workflows/messages.ts';
import type { payout } from '../workflows/payout.ts';
import { startOf, startOrJoin } from './start-once.ts';

/** Thrown before anything is started; `fields` names every bad field. */
export class InvalidPayoutRequestError extends Error {
  override readonly name = 'InvalidPayoutRequestError';
  readonly fields: FieldError[];
  constructor(fields: FieldError[]) {
    super(fields.map(({ path, message }) => `${path} ${message}`).join('; '));
    this.fields = fields;
  }
}

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

/** gRPC's status of that name. */
const FAILED_PRECONDITION = 9;

export interface PayoutsOptions {
  client: Client;
  /** Recorded with each start; a worker of another environment refuses it. */
  environment?: string | undefined;
}

export class Payouts {
  private readonly client: Client;
  private readonly environment: string | undefined;

  constructor({ client, environment }: PayoutsOptions) {
    this.client = client;
    this.environment = environment;
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
    const { runId, memo } = await startOrJoin(this.client, {
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
    });
    return { payout: { workflowId, runId, app, partnerOrderId }, memo };
  }

  /** Throws Temporal's `WorkflowNotFoundError`, and `PayoutConflictError` where it cannot be read as a payout. */
  async startOf(ref: PayoutRef): Promise<PayoutStart> {
    const { argument, startedBy } = await startOf(
      this.client,
      payoutWorkflowId(ref.app ?? 'default', ref.partnerOrderId),
    );
    const request = checkPayoutRequest(argument);
    if (!request.ok) throw new PayoutConflictError(ref.partnerOrderId);
    return { request: request.value, startedBy };
  }

  async state(ref: PayoutRef): Promise<PayoutState> {
    return this.handle(ref).query(stateQuery);
  }

  /** Waits for the end. Throws Temporal's `WorkflowFailedError` where the start was bad input. */
  async result(ref: PayoutRef): Promise<PayoutResult> {
    return this.handle(ref).result();
  }

  async approve(ref: PayoutRef, decision: Decision): Promise<PayoutState> {
    return untilTaken(() => this.handle(ref).executeUpdate(approveUpdate, { args: [decision] }));
  }

  async refuse(ref: PayoutRef, decision: Decision): Promise<PayoutState> {
    return untilTaken(() => this.handle(ref).executeUpdate(refuseUpdate, { args: [decision] }));
  }

  async cancel(ref: PayoutRef, request: CancelRequest): Promise<PayoutState> {
    return untilTaken(() => this.handle(ref).executeUpdate(cancelUpdate, { args: [request] }));
  }

  async resolve(ref: PayoutRef, resolution: Resolution): Promise<PayoutState> {
    return untilTaken(() => this.handle(ref).executeUpdate(resolveUpdate, { args: [resolution] }));
  }

  async poll(ref: PayoutRef): Promise<PayoutState> {
    return untilTaken(() => this.handle(ref).executeUpdate(pollUpdate));
  }

  async notify(ref: PayoutRef, notification: Notification): Promise<void> {
    await this.handle(ref).signal(notificationSignal, notification);
  }

  handle({ app = 'default', partnerOrderId }: PayoutRef): WorkflowHandle<typeof payout> {
    return this.client.workflow.getHandle<typeof payout>(payoutWorkflowId(app, partnerOrderId));
  }
}

/**
 * An update that reaches a workflow task which the engine then has to repeat is dropped before it was accepted
 * (gRPC FAILED_PRECONDITION): nothing has happened, so it is simply sent again.
 */
export async function untilTaken<T>(send: () => Promise<T>): Promise<T> {
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
