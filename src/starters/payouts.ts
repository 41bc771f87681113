/**
 * How other programs start, steer and read payouts. Talks to Temporal only; never to the payments service.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  type Client,
  isGrpcServiceError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import { checkPayoutRequest, type FieldError, type PayoutRequestInput } from '../contract/payout-request.ts';
import { PAYOUTS_TASK_QUEUE, payoutWorkflowId } from '../domain/identity.ts';
import type { CheckedPayoutRequest, PayoutResult, PayoutState } from '../domain/payout.ts';
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
import { failedAsBadInput } from './bad-input.ts';
import { startedWith } from './started-with.ts';

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

export type RunOptions = WorkflowStartOptions<typeof payout> & { args: [CheckedPayoutRequest] };

/** Starts the workflow `payout`, or joins the running one of the same id; answers its first run id. */
export type RunPayout = (options: RunOptions) => Promise<string>;

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

const APP = defineSearchAttributeKey('PayoutApp', SearchAttributeType.KEYWORD);
const PHASE = defineSearchAttributeKey('PayoutPhase', SearchAttributeType.KEYWORD);

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

  /** Like `start`, where another way to start workflows has to be gone. `run` joins a running one, and answers its first run id. */
  async startThrough(run: RunPayout, body: PayoutRequestInput | unknown): Promise<StartedPayout> {
    return (await this.startOrJoin(body, {}, run)).payout;
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

  private async startOrJoin(body: unknown, origin: Origin, run = this.runPayout): Promise<Joined> {
    const checked = checkPayoutRequest(body);
    if (!checked.ok) throw new InvalidPayoutRequestError(checked.errors);
    const request = checked.value;
    try {
      const runId = await run(this.optionsOf(request, 'REJECT_DUPLICATE', origin));
      return await this.joined(request, runId);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    return this.afterItsEnd(request, origin, run);
  }

  /** Throws Temporal's `WorkflowNotFoundError`, and `PayoutConflictError` where it cannot be read as a payout. */
  async startOf(ref: PayoutRef): Promise<PayoutStart> {
    const { runId, workflowId } = await this.handle(ref).describe();
    const { argument, memo, firstRunId } = await startedWith(this.client, workflowId, runId);
    const request = checkPayoutRequest(argument);
    if (!request.ok) throw new PayoutConflictError(ref.partnerOrderId);
    const first = firstRunId === runId ? memo : (await startedWith(this.client, workflowId, firstRunId)).memo;
    const startedBy = memo['startedBy'] ?? first['startedBy'];
    return { request: request.value, startedBy: typeof startedBy === 'string' ? startedBy : undefined };
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

  private readonly runPayout: RunPayout = async (options) =>
    (await this.client.workflow.start<typeof payout>('payout', options)).firstExecutionRunId;

  private optionsOf(
    request: CheckedPayoutRequest,
    reuse: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY',
    { batch, startedBy }: Origin,
  ): RunOptions {
    const { app, partnerOrderId, instructedAmount } = request;
    return {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: payoutWorkflowId(app, partnerOrderId),
      workflowIdReusePolicy: reuse,
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [request],
      // What the worker takes as the promise that no earlier run had this number.
      memo: {
        rejectDuplicate: reuse === 'REJECT_DUPLICATE',
        ...(this.environment && { environment: this.environment }),
        ...(batch !== undefined && { batch }),
        ...(startedBy !== undefined && { startedBy }),
      },
      typedSearchAttributes: new TypedSearchAttributes([
        { key: APP, value: app },
        { key: PHASE, value: 'CHECKING' },
      ]),
      staticSummary: `payout of ${instructedAmount.amount} ${instructedAmount.currency}`,
    };
  }

  /** A running payout was joined unseen if there was one, so its body is compared. */
  private async joined(request: CheckedPayoutRequest, runId: string): Promise<Joined> {
    const { app, partnerOrderId } = request;
    const workflowId = payoutWorkflowId(app, partnerOrderId);
    const { argument, memo, firstRunId } = await startedWith(this.client, workflowId, runId);
    const theirs = checkPayoutRequest(argument);
    if (!theirs.ok || !sameBody(theirs.value, request)) throw new PayoutConflictError(partnerOrderId);
    // A payout that was continued as new is still the run that was started.
    return { payout: { workflowId, runId: firstRunId, app, partnerOrderId }, memo };
  }

  /** The number is spent, unless all that happened under it was a start that failed as bad input. */
  private async afterItsEnd(request: CheckedPayoutRequest, origin: Origin, run: RunPayout): Promise<Joined> {
    if (await this.failedAsBadInput(request))
      return this.joined(request, await run(this.optionsOf(request, 'ALLOW_DUPLICATE_FAILED_ONLY', origin)));
    const { runId } = await this.handle(request).describe();
    return this.joined(request, runId);
  }

  private async failedAsBadInput(request: CheckedPayoutRequest): Promise<boolean> {
    const { workflowId, runId, status } = await this.handle(request).describe();
    return status.name === 'FAILED' && failedAsBadInput(this.client, workflowId, runId);
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

/** Absent and undefined are the same; key order does not count. */
function sameBody(left: CheckedPayoutRequest, right: CheckedPayoutRequest): boolean {
  return isDeepStrictEqual(JSON.parse(JSON.stringify(left)), JSON.parse(JSON.stringify(right)));
}
