/** The Nexus service `payouts`, which workers serve on their workflow queue to callers in other namespaces. */

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

/** `environment` is recorded with each start, as other starters do. */
export function payoutsServiceHandler(environment: string) {
  return nexus.serviceHandler(payoutsService, {
    pay: {
      start: (context, body) => operationOf(environment, context, body).start(context, undefined),
      // The workflow behind the operation hands the cancellation on to the payout.
      cancel: (context, token) => CANCEL.cancel(context, token),
    },
  });
}

/**
 * A workflow of its own stands behind each call, and not the payout's run: Temporal tells the caller how a run ended,
 * and a run that is terminated is no end of the payout.
 */
function operationOf(environment: string, context: nexus.StartOperationContext, body: unknown) {
  const checked = checkPayoutRequest(body);
  if (!checked.ok) throw badRequest(checked.errors);
  const request = checked.value;
  const { app, partnerOrderId, instructedAmount } = request;
  return new WorkflowRunOperationHandler<void, PayoutResult>(() =>
    startWorkflow<WorkflowSignatures['payoutOperation']>(context, 'payoutOperation', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: payoutOperationWorkflowId(app, partnerOrderId, context.requestId),
      // The caller's engine may ask again for the same operation.
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [{ environment, request }],
      memo: { environment },
      typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
      staticSummary: `asked by Nexus for a payout of ${instructedAmount.amount} ${instructedAmount.currency}`,
    }),
  );
}

const CANCEL = new WorkflowRunOperationHandler<void, PayoutResult>(() =>
  Promise.reject(new Error('nothing is started here')),
);

/** With an ApplicationFailure innermost that callers can decide on. */
function badRequest(fields: FieldError[]): nexus.HandlerError {
  const message = fields.map(({ path, message }) => `${path} ${message}`).join('; ');
  return new nexus.HandlerError('BAD_REQUEST', message, {
    cause: ApplicationFailure.nonRetryable(message, INVALID_PAYOUT_REQUEST, fields),
  });
}
