/** Opens receiving accounts. Connects to Temporal only. Balance and detail are in `reads.ts`. */
import type { WorkflowHandle } from '@temporalio/client';
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
  argumentOf,
  type ReceivingAccountResolution,
  receivingAccountStateQuery,
  resolveReceivingAccountUpdate,
  type WorkflowSignatures,
} from '../contract/workflows.ts';
import { APP } from '../temporal/namespace.ts';
import { ConflictError, EndedError, requireValid } from './errors.ts';
import type { Origin } from './payouts.ts';
import { startDetails, startOrJoin } from './start-once.ts';
import { type Snapshot, Steered, withResult } from './steering.ts';

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

type Opening = WorkflowSignatures['openReceivingAccount'];
type OpeningSnapshot = Snapshot<ReceivingAccountState, ReceivingAccountResult>;

export class ReceivingAccounts extends Steered<Opening, ReceivingAccountRef, ReceivingAccountState> {
  /**
   * Opens an account, or joins the running or ended request with the same body (spec: Apply for a receiving account).
   * Throws `InvalidPayoutRequestError` or `ConflictError`; then nothing was started.
   */
  async open(
    body: ReceivingAccountRequest,
    { startedBy }: Pick<Origin, 'startedBy'> = {},
  ): Promise<StartedReceivingAccount> {
    const request = requireValid(checkReceivingAccount(body));
    const { app, requestId, currency } = request;
    const once = {
      type: 'openReceivingAccount',
      idOf: (named: CheckedReceivingAccountRequest) => receivingAccountWorkflowId(named.app, named.requestId),
      request,
      summary: `receiving account in ${currency}`,
      facts: { environment: this.environment, startedBy },
      attributes: [{ key: APP, value: app }],
      read: checkReceivingAccount,
      readStored: readStoredReceivingAccount,
      conflict: () => conflict(requestId),
    };
    const { runId } = await startOrJoin(this.client, once, this.clock);
    return { workflowId: once.idOf(request), runId, app, requestId };
  }

  /** The request as it was started. Throws Temporal's `WorkflowNotFoundError`, and `ConflictError` if it is not valid. */
  async startedRequest(ref: ReceivingAccountRef): Promise<CheckedReceivingAccountRequest> {
    const { argument } = await startDetails(this.client, this.handle(ref).workflowId);
    const request = checkReceivingAccount(argument);
    if (!request.ok) throw conflict(ref.requestId);
    return request.value;
  }

  /** The state and, after the end, the result. Throws what `state` throws. */
  look(ref: ReceivingAccountRef): Promise<OpeningSnapshot> {
    return this.read(ref);
  }

  protected async fetch(handle: WorkflowHandle<Opening>): Promise<OpeningSnapshot> {
    const { status } = await handle.describe();
    if (status.name === 'FAILED') await handle.result();
    const state = await this.slots.run(() => handle.query(receivingAccountStateQuery));
    return withResult(handle, status, state);
  }

  /**
   * Resolves when the decision has been executed. Throws Temporal's `WorkflowUpdateFailedError` if it is refused, and
   * `EndedError`.
   */
  async resolve(
    ref: ReceivingAccountRef,
    resolution: ReceivingAccountResolution,
  ): Promise<ReceivingAccountState> {
    try {
      const args: [ReceivingAccountResolution] = [argumentOf(resolveReceivingAccountUpdate, resolution)];
      return await this.steer(ref, (handle) => handle.executeUpdate(resolveReceivingAccountUpdate, { args }));
    } catch (error) {
      throw new EndedError('request', (await this.endedResult(ref, error))?.outcome);
    }
  }

  handle({ app = 'default', requestId }: ReceivingAccountRef): WorkflowHandle<Opening> {
    return this.client.workflow.getHandle<Opening>(receivingAccountWorkflowId(app, requestId));
  }
}

function conflict(requestId: string): ConflictError {
  return new ConflictError(`requestId ${requestId} belongs to a request with another body`);
}
