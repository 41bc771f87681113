/** The handler of the Nexus service `payouts`, on the workflow task queue, for callers in other namespaces. */

import { ApplicationFailure, TypedSearchAttributes } from '@temporalio/common';
import { startWorkflow, WorkflowRunOperationHandler } from '@temporalio/nexus';
import * as nexus from 'nexus-rpc';
import { payoutsService } from '../client/nexus.ts';
import { INVALID_PAYOUT_REQUEST } from '../contract/failure-types.ts';
import { PAYOUTS_TASK_QUEUE, payoutOperationWorkflowId } from '../contract/ids.ts';
import { checkPayoutRequest, type FieldError } from '../contract/payout-request.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { PayoutResult } from '../domain/payout.ts';
import { APP } from '../temporal/search-keys.ts';

/** Like all starters, the handler records `environment` with each start. */
export function payoutsServiceHandler(environment: string) {
  return nexus.serviceHandler(payoutsService, {
    pay: {
      start: (context, body) => payOperation(environment, context, body).start(context, undefined),
      // The workflow of the operation passes the cancellation on to the payout.
      cancel: (context, token) => CANCEL.cancel(context, token),
    },
  });
}

/**
 * Each call has its own workflow instead of the payout's run: Temporal reports to the caller how the run ended, and the
 * termination of a run does not end the payout.
 */
function payOperation(environment: string, context: nexus.StartOperationContext, body: unknown) {
  const checked = checkPayoutRequest(body);
  if (!checked.ok) throw badRequest(checked.errors);
  const request = checked.value;
  const { app, partnerOrderId, instructedAmount } = request;
  return new WorkflowRunOperationHandler<void, PayoutResult>(() =>
    startWorkflow<WorkflowSignatures['payoutOperation']>(context, 'payoutOperation', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: payoutOperationWorkflowId(app, partnerOrderId, context.requestId),
      // The caller's Temporal server may retry the same operation.
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [{ environment, request }],
      memo: { environment },
      typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
      staticSummary: `Nexus operation for a payout of ${instructedAmount.amount} ${instructedAmount.currency}`,
    }),
  );
}

const CANCEL = new WorkflowRunOperationHandler<void, PayoutResult>(() =>
  Promise.reject(new Error('this handler only cancels operations')),
);

/** The innermost cause is an ApplicationFailure, by which callers can recognize the error. */
function badRequest(fields: FieldError[]): nexus.HandlerError {
  const message = fields.map(({ path, message }) => `${path} ${message}`).join('; ');
  return new nexus.HandlerError('BAD_REQUEST', message, {
    cause: ApplicationFailure.nonRetryable(message, INVALID_PAYOUT_REQUEST, fields),
  });
}
