/**
 * A payout from its request to its outcome.
 *
 * It *completes* with one of four outcomes when the provider ended the order, or when no order was created. It
 * *fails* only on bad input. It has no execution timeout: money in flight is never abandoned.
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  log,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { PayoutRequest, PayoutResult, Reason } from '../../domain/payout.ts';
import type { CarriedOver } from '../../domain/payout-record.ts';
import { local } from '../shared/calls.ts';
import { approveIfRequired } from './approval.ts';
import { findEarlierOrder } from './confirm.ts';
import { sendCreate, untilCreated } from './create.ts';
import { installHandlers } from './handlers.ts';
import { lockQuote, waitUntilDue } from './lock-quote.ts';
import { NotCreated, PayoutRun } from './run.ts';
import { showState } from './show-state.ts';
import { trackToFinal } from './track.ts';

export async function payout(request: PayoutRequest, carried?: CarriedOver): Promise<PayoutResult> {
  const run = new PayoutRun(carried);
  installHandlers(run);
  heedCancellation(run);
  return CancellationScope.nonCancellable(async () => {
    await run.prepare(() => prepare(request));
    showState(run);
    return finish(run, await pay(run));
  });
}

async function pay(run: PayoutRun): Promise<PayoutResult> {
  try {
    await findEarlierOrder(run);
    for (;;) {
      const order = await untilCreated(run, async () => {
        await waitUntilDue(run);
        const quote = await lockQuote(run);
        await sendCreate(run, await approveIfRequired(run, quote));
      });
      const result = await trackToFinal(run, order);
      if (result) return result;
      // The provider does not know the order any more: a person decides whether to create another.
    }
  } catch (error) {
    if (error instanceof NotCreated) return notCreated(run, error.reason);
    throw error;
  }
}

/** Decides bad input, without a call to the provider: the only way for this workflow to fail. */
function prepare(request: unknown) {
  const { workflowId, memo } = workflowInfo();
  return local.preparePayout(request, { workflowId, environment: memo?.['environment'] });
}

function notCreated(run: PayoutRun, reason: Reason): PayoutResult {
  const { quote, sends } = run.record;
  const { partnerOrderId } = run.request;
  // A follow-up checks later whether an order has appeared after all.
  if (sends > 0) upsertMemo({ createSent: true });
  return { partnerOrderId, outcome: 'NOT_CREATED', reason, ...(quote && { quote }), debits: [], splits: [] };
}

async function finish(run: PayoutRun, result: PayoutResult): Promise<PayoutResult> {
  run.record.result = result;
  run.enter('DONE');
  showState(run);
  // Let in-flight updates finish.
  await condition(allHandlersFinished);
  return result;
}

/** Temporal's own cancellation means the same as the update `cancel`. */
function heedCancellation(run: PayoutRun): void {
  CancellationScope.current().cancelRequested.catch(() => {
    if (run.cancelProblem() === undefined) run.cancel('Temporal', 'workflow cancellation');
    else {
      log.warn('a cancellation came after the creation had begun; it has no effect');
      run.flagLateCancel();
    }
  });
}
