/**
 * The handler of the Nexus service `payouts`, for callers in other namespaces. Each application has its own task queue,
 * and so its own endpoint: the endpoint identifies the callers, and determines what they may pay.
 */
import type { Client } from '@temporalio/client';
import { ApplicationFailure, TypedSearchAttributes } from '@temporalio/common';
import { startWorkflow, WorkflowRunOperationHandler } from '@temporalio/nexus';
import * as nexus from 'nexus-rpc';
import { z } from 'zod';
import { Allowances, DailyLimitError } from '../client/allowances.ts';
import { ConflictError } from '../client/errors.ts';
import { payoutsService } from '../client/nexus.ts';
import { Payouts } from '../client/payouts.ts';
import { hashesOf } from '../client/search.ts';
import { type FieldError, INVALID_PAYOUT_REQUEST, PAYOUT_NOT_ALLOWED } from '../contract/failures.ts';
import type { CheckResult } from '../contract/fields.ts';
import {
  nexusCaller,
  PAYOUTS_TASK_QUEUE,
  payoutOperationsPrefix,
  payoutOperationWorkflowId,
} from '../contract/ids.ts';
import { startMemo } from '../contract/memo.ts';
import type { PayoutResult } from '../contract/payout.ts';
import { type CheckedPayoutRequest, checkPayoutRequest } from '../contract/payout-request.ts';
import type { PayoutOperation, WorkflowSignatures } from '../contract/workflows.ts';
import { hasDailyLimits } from '../domain/daily-limits.ts';
import { amountRefusal, type Permissions, scopeRefusal } from '../domain/permissions.ts';
import type { SearchKeys } from '../encryption/search-keys.ts';
import { isJsonObject } from '../payments/exact-json.ts';
import type { Clock } from '../runtime/runtime.ts';
import { APP } from '../temporal/namespace.ts';

interface Runtime {
  environment: string;
  targetCurrencies: readonly string[];
  client: Client;
  clock: Clock;
  searchKeys: SearchKeys | undefined;
}

/** Like all starters, the handler records `environment` and the caller with each start. */
export function payoutsServiceHandler(
  { environment, targetCurrencies, client, clock, searchKeys }: Runtime,
  app: string,
  permissions: Permissions,
) {
  const payouts = new Payouts({ client, environment, targetCurrencies, clock });
  const allowances = new Allowances(client, environment, clock);
  return nexus.serviceHandler(payoutsService, {
    pay: {
      start: async (context, body) => {
        const request = allowedRequest(
          app,
          permissions,
          checkPayoutRequest(named(app, body), targetCurrencies),
        );
        if (hasDailyLimits(permissions) && !(await exists(payouts, request)))
          await reserve(allowances, permissions, request);
        const hashes = hashesOf(searchKeys, request);
        const operation = { environment, request, startedBy: nexusCaller(app), hashes };
        return payOperation(context, operation, clock).start(context, undefined);
      },
      // The workflow of the operation passes the cancellation on to the payout.
      cancel: async (context, token) => {
        requireOwnOperation(app, token);
        await CANCEL.cancel(context, token);
      },
    },
  });
}

/**
 * Each call has its own workflow instead of the payout's run: Temporal reports to the caller how the run ended, and the
 * termination of a run does not end the payout.
 */
function payOperation(context: nexus.StartOperationContext, operation: PayoutOperation, clock: Clock) {
  const { environment, request } = operation;
  const { app, partnerOrderId, instructedAmount } = request;
  return new WorkflowRunOperationHandler<void, PayoutResult>(() =>
    startWorkflow<WorkflowSignatures['payoutOperation']>(context, 'payoutOperation', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: payoutOperationWorkflowId(app, partnerOrderId, context.requestId),
      // The caller's Temporal server may retry the same operation.
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [operation],
      memo: startMemo({ environment, rejectDuplicate: new Date(clock.wallMs()).toISOString() }),
      typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
      staticSummary: `Nexus operation for a payout of ${instructedAmount.amount} ${instructedAmount.currency}`,
    }),
  );
}

const CANCEL = new WorkflowRunOperationHandler<void, PayoutResult>(() =>
  Promise.reject(new Error('this handler only cancels operations')),
);

/** What Temporal's SDK makes of a workflow id, and believes. */
const operationToken = z.object({ wid: z.string() });

/**
 * A caller can send any token, and the SDK cancels the workflow that it names: without this check, any workflow of this
 * namespace.
 */
function requireOwnOperation(app: string, token: string): void {
  const named = operationToken.safeParse(decodedToken(token));
  if (!named.success || !named.data.wid.startsWith(payoutOperationsPrefix(app)))
    throw new nexus.HandlerError('NOT_FOUND', 'this endpoint has no such operation');
}

function decodedToken(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** Without an application, a request is for that of the endpoint. */
function named(app: string, body: unknown): unknown {
  return isJsonObject(body) && !('app' in body) ? { ...body, app } : body;
}

function allowedRequest(
  app: string,
  permissions: Permissions,
  checked: CheckResult<CheckedPayoutRequest>,
): CheckedPayoutRequest {
  if (!checked.ok) throw badRequest(checked.errors);
  const request = checked.value;
  const { clientId, payerId, openId, partnerOrderId, instructedAmount } = request;
  if (request.app !== app) throw notAllowed(`does not include the application ${request.app}`);
  const refusal =
    scopeRefusal(permissions, { clientId, payerId, openId, partnerOrderId }) ??
    amountRefusal(permissions, instructedAmount);
  if (refusal) throw notAllowed(refusal.message);
  return request;
}

/** Returns true for another body, too: the operation then fails as a conflict, and starts nothing. */
async function exists(payouts: Payouts, request: CheckedPayoutRequest): Promise<boolean> {
  try {
    return (await payouts.find(request)) !== undefined;
  } catch (error) {
    if (error instanceof ConflictError) return true;
    throw error;
  }
}

/** Temporal calls the handler again after any other error. */
async function reserve(
  allowances: Allowances,
  permissions: Permissions,
  request: CheckedPayoutRequest,
): Promise<void> {
  try {
    await allowances.reserve(nexusCaller(request.app), permissions, [request]);
  } catch (error) {
    throw error instanceof DailyLimitError ? notAllowed(error.message) : error;
  }
}

function notAllowed(why: string): nexus.HandlerError {
  const message = `this endpoint ${why}`;
  return new nexus.HandlerError('UNAUTHORIZED', message, {
    cause: ApplicationFailure.nonRetryable(message, PAYOUT_NOT_ALLOWED),
  });
}

/** The innermost cause is an ApplicationFailure, by which callers can recognize the error. */
function badRequest(fields: FieldError[]): nexus.HandlerError {
  const message = fields.map(({ path, message }) => `${path} ${message}`).join('; ');
  return new nexus.HandlerError('BAD_REQUEST', message, {
    cause: ApplicationFailure.nonRetryable(message, INVALID_PAYOUT_REQUEST, fields),
  });
}
