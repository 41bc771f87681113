/** Starts follow-ups, and tells them of late notifications. */

import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { PAYOUTS_TASK_QUEUE, payoutFollowUpWorkflowId } from '../contract/ids.ts';
import { type Notification, notificationSignal } from '../contract/payout-messages.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { FollowUpRequest } from '../domain/follow-up.ts';
import { APP } from '../temporal/search-keys.ts';

/** True when it was started now, false when there is or was one; `again`: was one that was not stopped. */
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

/** Resolves when Temporal has it; starts the follow-up, again if it had ended. */
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
    staticSummary: 'looks again after the end',
  };
}
