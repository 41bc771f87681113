/** Reads what a follow-up needs to know about an ended payout, starts it, and passes late notifications on to it. */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { PAYOUTS_TASK_QUEUE, payoutFollowUpWorkflowId } from '../contract/ids.ts';
import { storedResultSchema } from '../contract/payout.ts';
import { readStoredRequest } from '../contract/payout-request.ts';
import type { FollowUpRequest } from '../contract/reconciliation.ts';
import { type Notification, notificationSignal, type WorkflowSignatures } from '../contract/workflows.ts';
import { environmentOf, readStartEvent } from '../temporal/histories.ts';
import { APP } from '../temporal/namespace.ts';

/** Undefined if the payout has not ended with an outcome. Throws Temporal's `WorkflowNotFoundError`, and `ZodError`. */
export async function endedPayout(client: Client, workflowId: string): Promise<FollowUpRequest | undefined> {
  const { runId, status, closeTime } = await client.workflow.getHandle(workflowId).describe();
  if (status.name !== 'COMPLETED' || !closeTime) return undefined;
  const result: unknown = await client.workflow.getHandle(workflowId, runId).result();
  const { outcome, splits, orderId } = storedResultSchema.parse(result);
  const { argument, memo } = await readStartEvent(client, workflowId, runId);
  const request = readStoredRequest(argument);
  if (!request.ok) return undefined;
  const { app, openId, clientId, payerId, partnerOrderId, metadata } = request.value;
  const environment = await environmentOf(client, { workflowId, runId }, memo);
  const endedAtMs = closeTime.getTime();
  return {
    ...{ environment, app, openId, clientId, payerId, partnerOrderId, outcome, splits, endedAtMs },
    ...(orderId !== undefined && { orderId }),
    ...(metadata && { metadata }),
  };
}

/** Returns false if there already is a follow-up. With `again`, a stopped follow-up does not count. */
export async function startFollowUp(client: Client, ended: FollowUpRequest, again = false): Promise<boolean> {
  try {
    await client.workflow.start<WorkflowSignatures['payoutFollowUp']>('payoutFollowUp', {
      ...options(ended),
      workflowIdReusePolicy: again ? 'ALLOW_DUPLICATE_FAILED_ONLY' : 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/**
 * Starts the follow-up if it is not running, also after its end. Resolves when Temporal has accepted the notification.
 */
export async function notifyFollowUp(
  client: Client,
  ended: FollowUpRequest,
  notification: Notification,
): Promise<void> {
  await client.workflow.signalWithStart<WorkflowSignatures['payoutFollowUp'], [Notification]>(
    'payoutFollowUp',
    {
      ...options(ended),
      signal: notificationSignal,
      signalArgs: [notification],
    },
  );
}

function options(ended: FollowUpRequest) {
  const { app, partnerOrderId, environment } = ended;
  return {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: payoutFollowUpWorkflowId(app, partnerOrderId),
    args: [ended] as [FollowUpRequest],
    memo: environment === undefined ? {} : { environment },
    typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
    staticSummary: 'checks again after the end',
  };
}
