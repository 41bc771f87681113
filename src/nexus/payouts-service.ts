/** The Nexus service `payouts`, which workers serve on their workflow queue to callers in other namespaces. */
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { getClient, startWorkflow, WorkflowRunOperationHandler } from '@temporalio/nexus';
import * as nexus from 'nexus-rpc';
import { payoutsService } from '../client/nexus.ts';
import { INVALID_PAYOUT_REQUEST, PAYOUT_CONFLICT } from '../domain/failure-types.ts';
import type { PayoutResult } from '../domain/payout.ts';
import { InvalidPayoutRequestError, PayoutConflictError, Payouts } from '../starters/payouts.ts';
import type { payout } from '../workflows/payout.ts';

type Operation = nexus.HandlerStartOperationResult<PayoutResult>;

/** `environment` is recorded with each start, as other starters do. */
export function payoutsServiceHandler(environment: string) {
  return nexus.serviceHandler(payoutsService, {
    pay: {
      start: (context, body) => told(() => pay(environment, context, body)),
      // The payout's own cancellation: before its creation it ends it, afterwards it is recorded and has no effect.
      cancel: (context, token) => joinedRun(undefined).cancel(context, token),
    },
  });
}

/** Any starter's rules, but the start carries the caller's call-back, by which Temporal delivers the end. */
async function pay(
  environment: string,
  context: nexus.StartOperationContext,
  body: unknown,
): Promise<Operation> {
  const payouts = new Payouts({ client: getClient(), environment });
  let running: Operation | undefined;
  const started = await payouts.startThrough(async (options) => {
    const handle = await startWorkflow<typeof payout>(context, 'payout', options);
    running = await joinedRun(handle).start(context, undefined);
    return handle.runId ?? '';
  }, body);
  return running ?? nexus.HandlerStartOperationResult.sync(await payouts.result(started));
}

type Handle = Awaited<ReturnType<typeof startWorkflow<typeof payout>>>;

/** The SDK's own handler of an operation that a workflow run stands behind: it knows how tokens are written and read. */
function joinedRun(handle: Handle | undefined) {
  return new WorkflowRunOperationHandler<void, PayoutResult>(async () => {
    if (handle === undefined) throw new Error('nothing was started');
    return handle;
  });
}

/**
 * Our errors as Nexus says them, with an ApplicationFailure innermost that callers can decide on; anything else is tried again by the
 * caller's engine. Not the handler error CONFLICT: a server that does not know it would try again too (seen with 1.29).
 */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InvalidPayoutRequestError)
      throw new nexus.HandlerError('BAD_REQUEST', error.message, {
        cause: ApplicationFailure.nonRetryable(error.message, INVALID_PAYOUT_REQUEST, error.fields),
      });
    if (error instanceof PayoutConflictError)
      throw new nexus.OperationError('failed', error.message, {
        cause: ApplicationFailure.nonRetryable(error.message, PAYOUT_CONFLICT),
      });
    if (error instanceof WorkflowFailedError)
      throw new nexus.OperationError('failed', error.message, { cause: error });
    throw error;
  }
}
