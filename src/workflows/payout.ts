/**
 * A payout's life, from top to bottom.
 *
 * It ends *completed* with one of four outcomes whenever the payments service ended it or no order was
 * created; it *fails* only on bad input. There is no execution time-out: money in flight is never abandoned.
 */
import { allHandlersFinished, CancellationScope, condition, log, workflowInfo } from '@temporalio/workflow';
import type { PayoutRequest, PayoutResult, Reason } from '../domain/payout.ts';
import type { CarriedOver } from '../domain/payout-record.ts';
import { local } from './calls.ts';
import { checkAccount, waitUntilDue } from './payout-steps/acceptable-quote.ts';
import { askFirstWhereDoubtful, existsAfterAll } from './payout-steps/ask-first.ts';
import { createOnce } from './payout-steps/create-once.ts';
import { followToTheEnd } from './payout-steps/follow-to-the-end.ts';
import { installHandlers } from './payout-steps/handlers.ts';
import { NotCreated, PayoutLife } from './payout-steps/payout-life.ts';
import { showState } from './payout-steps/show-state.ts';

export async function payout(request: PayoutRequest, carried?: CarriedOver): Promise<PayoutResult> {
  const life = new PayoutLife(carried);
  installHandlers(life);
  heedCancellation(life);
  return CancellationScope.nonCancellable(async () => {
    await life.prepare(() => prepare(request));
    showState(life);
    const result = await pay(life);
    return finish(life, result);
  });
}

async function pay(life: PayoutLife): Promise<PayoutResult> {
  try {
    await create(life);
  } catch (error) {
    if (error instanceof NotCreated) return notCreated(life, error.reason);
    throw error;
  }
  return followToTheEnd(life);
}

/** Returns when the order exists; throws `NotCreated` when neither this run nor any other has created it. */
async function create(life: PayoutLife): Promise<void> {
  await askFirstWhereDoubtful(life);
  try {
    if (life.record.creation.stage === 'quoting') {
      await waitUntilDue(life);
      if (!life.settings.quotesForClient) await checkAccount(life);
    }
    await createOnce(life);
  } catch (error) {
    if (!(error instanceof NotCreated) || !(await existsAfterAll(life))) throw error;
  }
}

/** Decides bad input, without a call to the service: the only way for this workflow to fail. */
function prepare(request: unknown) {
  const { workflowId, memo } = workflowInfo();
  return local.preparePayout(request, { workflowId, environment: memo?.['environment'] });
}

function notCreated(life: PayoutLife, reason: Reason): PayoutResult {
  const { quote } = life.record;
  const { partnerOrderId } = life.request;
  return { partnerOrderId, outcome: 'NOT_CREATED', reason, ...(quote && { quote }), debits: [], splits: [] };
}

async function finish(life: PayoutLife, result: PayoutResult): Promise<PayoutResult> {
  life.record.result = result;
  life.enter('DONE');
  showState(life);
  // Whoever asked for something just now still gets an answer.
  await condition(allHandlersFinished);
  return result;
}

/** Temporal's own cancellation means the update `cancel`: before the creation it ends, afterwards it is noted. */
function heedCancellation(life: PayoutLife): void {
  CancellationScope.current().cancelRequested.catch(() => {
    if (life.record.creation.stage === 'quoting') life.cancel('Temporal', 'workflow cancellation');
    else {
      log.warn('a cancellation came after the creation had begun; it has no effect');
      life.flag('CANCEL_TOO_LATE', 'a cancellation came after the creation had begun; it had no effect');
    }
  });
}
