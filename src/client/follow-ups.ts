/** Starts follow-ups, and passes late notifications on to them. */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { PAYOUTS_TASK_QUEUE, payoutFollowUpWorkflowId } from '../contract/ids.ts';
import { type Notification, notificationSignal } from '../contract/payout-messages.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { FollowUpRequest } from '../domain/follow-up.ts';
import { APP } from '../temporal/search-keys.ts';

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
