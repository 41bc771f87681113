/** Opens receiving accounts. Connects to Temporal only. Balance and detail are in `reads.ts`. */
import type { Client, WorkflowHandle } from '@temporalio/client';
import { receivingAccountWorkflowId } from '../contract/ids.ts';
import {
  type CheckedReceivingAccountRequest,
  checkReceivingAccount,
  type ReceivingAccountRequest,
  type ReceivingAccountResult,
  type ReceivingAccountState,
  readStoredReceivingAccount,
} from '../contract/receiving-account.ts';
import {
  type ReceivingAccountResolution,
  receivingAccountStateQuery,
  resolveReceivingAccountUpdate,
  type WorkflowSignatures,
} from '../contract/workflows.ts';
import { PROCESS_RUNTIME } from '../runtime/process.ts';
import { isOfEndedRun } from '../temporal/client-errors.ts';
import { APP } from '../temporal/namespace.ts';
import { retryDroppedUpdate } from './dropped-updates.ts';
import { requireValid } from './invalid-request.ts';
import type { Origin } from './payouts.ts';
import { EndedError, PayoutsError } from './payouts-error.ts';
import { SharedReads, unlimitedReads, withResult } from './shared-reads.ts';
import { memoOf, type StarterOptions, startDetails, startOrJoin } from './start-once.ts';
import { untilEnd, type WaitOptions } from './until-end.ts';

/** Thrown if the `requestId` belongs to a request with another body. Nothing was started or changed. */
export class ReceivingAccountConflictError extends PayoutsError {
  override readonly name = 'ReceivingAccountConflictError';
  constructor(requestId: string) {
    super('CONFLICT', `requestId ${requestId} belongs to a request with another body`);
  }
}

/** Identifies a request: the caller's own id, and the application (default `default`). */
export interface ReceivingAccountRef {
  app?: string | undefined;
  requestId: string;
}

export interface StartedReceivingAccount {
  workflowId: string;
  runId: string;
  app: string;
  requestId: string;
}

type OpenReceivingAccount = WorkflowSignatures['openReceivingAccount'];

export class ReceivingAccounts {
  private readonly client: Client;
  private readonly environment: string | undefined;
  private readonly states: SharedReads<ReceivingAccountState>;

  constructor({ client, environment, reads = unlimitedReads() }: StarterOptions) {
    this.client = client;
    this.environment = environment;
    // No caching: `look` reads the result separately, and the two must agree.
    this.states = new SharedReads({ ...reads, freshMs: 0 });
  }

  /**
   * Opens an account, or joins the running or ended request with the same body (spec: Apply for a receiving account).
   * Throws `InvalidPayoutRequestError` or `ReceivingAccountConflictError`; then nothing was started.
   */
  async open(
    body: ReceivingAccountRequest,
    { startedBy }: Pick<Origin, 'startedBy'> = {},
  ): Promise<StartedReceivingAccount> {
    const request = requireValid(checkReceivingAccount(body));
    const { app, requestId, currency } = request;
    const workflowId = receivingAccountWorkflowId(app, requestId);
    const once = {
      type: 'openReceivingAccount',
      workflowId,
      request,
      summary: `receiving account in ${currency}`,
      memo: memoOf({ environment: this.environment, startedBy }),
      attributes: [{ key: APP, value: app }],
      read: checkReceivingAccount,
      readStored: readStoredReceivingAccount,
      idOf: (named: CheckedReceivingAccountRequest) => receivingAccountWorkflowId(named.app, named.requestId),
      conflict: () => new ReceivingAccountConflictError(requestId),
    };
    const { runId } = await startOrJoin(this.client, once, PROCESS_RUNTIME.clock);
    return { workflowId, runId, app, requestId };
  }

  /** The request as it was started. Throws Temporal's `WorkflowNotFoundError`, and `ReceivingAccountConflictError` if it is not valid. */
  async startedRequest(ref: ReceivingAccountRef): Promise<CheckedReceivingAccountRequest> {
    const { argument } = await startDetails(this.client, this.handle(ref).workflowId);
    const request = checkReceivingAccount(argument);
    if (!request.ok) throw new ReceivingAccountConflictError(ref.requestId);
    return request.value;
  }

  /** The state and, after the end, the result. Throws the same errors as `state` and `result`. */
  async look(
    ref: ReceivingAccountRef,
  ): Promise<{ state: ReceivingAccountState; result?: ReceivingAccountResult }> {
    const handle = this.handle(ref);
    const { status } = await handle.describe();
    if (status.name === 'FAILED') await handle.result();
    return withResult(handle, status, await this.state(ref));
  }

  /** Throws Temporal's `WorkflowNotFoundError` if there is no such request. */
  async state(ref: ReceivingAccountRef): Promise<ReceivingAccountState> {
    const handle = this.handle(ref);
    return this.states.read(handle.workflowId, () =>
      this.states.withSlot(() => handle.query(receivingAccountStateQuery)),
    );
  }

  /** Waits for the end. Throws Temporal's `WorkflowFailedError` if the start was bad input. */
  async result(ref: ReceivingAccountRef): Promise<ReceivingAccountResult> {
    return this.handle(ref).result();
  }

  /** Like `Payouts.untilEnd`; `look` then returns the state. */
  async untilEnd(ref: ReceivingAccountRef, options: WaitOptions): Promise<void> {
    const handle = this.handle(ref);
    await untilEnd(this.client, handle, options);
    this.states.forget(handle.workflowId);
  }

  /**
   * Resolves when the decision has been executed. Throws Temporal's `WorkflowUpdateFailedError` if it is refused, and
   * `EndedError`.
   */
  async resolve(
    ref: ReceivingAccountRef,
    resolution: ReceivingAccountResolution,
  ): Promise<ReceivingAccountState> {
    const handle = this.handle(ref);
    try {
      const update = { args: [resolution] as [ReceivingAccountResolution] };
      return await retryDroppedUpdate(() => handle.executeUpdate(resolveReceivingAccountUpdate, update));
    } catch (error) {
      if (!isOfEndedRun(error)) throw error;
      await handle.describe();
      const seen = await this.look(ref).catch(() => undefined);
      throw new EndedError('request', seen?.result?.outcome);
    } finally {
      this.states.forget(handle.workflowId);
    }
  }

  handle({ app = 'default', requestId }: ReceivingAccountRef): WorkflowHandle<OpenReceivingAccount> {
    return this.client.workflow.getHandle<OpenReceivingAccount>(receivingAccountWorkflowId(app, requestId));
  }
}
