/**
 * A payout from its request to its outcome.
 *
 * It *completes* with one of four outcomes when the provider has ended the order, or when no order was created. It
 * *fails* only on bad input. It has no execution timeout: money in flight is never abandoned.
 */
import { allHandlersFinished, condition, log, setWorkflowOptions, upsertMemo } from '@temporalio/workflow';
import { WHILE_OPEN } from '../../contract/attention-codes.ts';
import { CREATE_SENT } from '../../contract/memo.ts';
import { sameMoney } from '../../contract/money.ts';
import type { PayoutResult } from '../../contract/payout.ts';
import type { PayoutRequest } from '../../contract/payout-request.ts';
import type { CarriedOver } from '../../domain/payout-record.ts';
import { runShielded } from '../shared/messages.ts';
import { carriedOver, pinnedIfVersioned } from '../shared/run-facts.ts';
import { findEarlierOrder } from './confirm.ts';
import { createOrder, sendCreate } from './create.ts';
import { installHandlers } from './handlers.ts';
import { prepare } from './prepare.ts';
import { approveIfRequired, lockQuote, waitUntilDue } from './quote.ts';
import { NotCreated, PayoutRun } from './run.ts';
import { noteEnded, noteStarted } from './show-state.ts';
import { trackToFinal, verifyResult } from './track-order.ts';

/** `given`: the state of the previous run, if it continued as new. */
export async function payout(request: PayoutRequest, given?: CarriedOver): Promise<PayoutResult> {
  const carried = carriedOver(given);
  const run = new PayoutRun(request, carried);
  installHandlers(run);
  return runShielded(
    () => cancelFromTemporal(run),
    async () => {
      run.prepared ??= await prepare(run, request);
      run.assertKnown();
      if (!carried) noteStarted(run);
      run.show();
      const result = await pay(run, carried).catch((error: unknown) => resultWithoutOrder(run, error));
      return finish(run, result);
    },
  );
}

setWorkflowOptions(pinnedIfVersioned, payout);

/** The steps of a payout. A step throws `NotCreated` if the payout ends without an order. */
async function pay(run: PayoutRun, carried: CarriedOver | undefined): Promise<PayoutResult> {
  if (!carried) await findEarlierOrder(run);
  for (;;) {
    // Repeats these steps until the order exists. After a send of unknown outcome, confirms before it sends again.
    const order = await createOrder(run, async () => {
      await waitUntilDue(run);
      const quote = await lockQuote(run);
      const approved = await approveIfRequired(run, quote);
      await sendCreate(run, approved);
    });
    let final = await trackToFinal(run, order);
    while (final) {
      const result = await verifyResult(run, final);
      if (result) return result;
      // Result and detail may disagree for a while: query both again.
      await run.continueAsNewWhenDue();
      final = await trackToFinal(run, final.order);
    }
    // The provider no longer knows the order. A person decides whether to create another one.
  }
}

/** The result without an order. Throws any error that does not mean this. */
function resultWithoutOrder(run: PayoutRun, error: unknown): PayoutResult {
  if (!(error instanceof NotCreated)) throw error;
  const { quote, sends } = run.record;
  const { partnerOrderId } = run.request;
  const { reason } = error;
  // A follow-up checks later whether an order has appeared after all.
  if (sends > 0) upsertMemo(CREATE_SENT);
  return { partnerOrderId, outcome: 'NOT_CREATED', reason, ...(quote && { quote }), debits: [], splits: [] };
}

async function finish(run: PayoutRun, found: PayoutResult): Promise<PayoutResult> {
  const { decisions } = run.record;
  const { metadata, instructedAmount } = run.request;
  const { received, failed } = found;
  // For lists. If the whole amount arrived, they know it from the start, and this event is saved.
  if (received && failed && !sameMoney(received, instructedAmount)) upsertMemo({ received, failed });
  const result = { ...found, ...(decisions.length > 0 && { decisions }), ...(metadata && { metadata }) };
  run.record.result = result;
  run.enter('DONE');
  run.unflag(...WHILE_OPEN);
  run.show();
  noteEnded(run, result);
  await run.publisher.end();
  // Let in-flight updates finish.
  await condition(allHandlersFinished);
  return result;
}

/** Temporal's own cancellation means the same as the update `cancel`. */
function cancelFromTemporal(run: PayoutRun): void {
  const problem = run.cancelProblem();
  if (problem === undefined) {
    run.cancel('Temporal', 'workflow cancellation');
  } else {
    log.warn(`the cancellation has no effect: ${problem}`);
    run.flagLateCancel();
  }
}
