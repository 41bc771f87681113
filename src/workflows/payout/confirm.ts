/** The order may or may not exist. The workflow asks the provider, then a person; nothing is sent meanwhile. */
import { workflowInfo } from '@temporalio/workflow';
import type { Confirmation } from '../../activities/types.ts';
import type { Clearance } from '../../domain/payout-record.ts';
import { causeOf } from '../call-failures.ts';
import { asked, untilAnswered } from '../calls.ts';
import { isDoubtfulStart } from '../doubtful-start.ts';
import { adoptFound } from './adopt-order.ts';
import { NotCreated, type PayoutRun } from './run.ts';
import { confirmFirst, enterReview, noteUnknownSend, startOver } from './stages.ts';
import { query, waitForNotificationOrPoll } from './wait-to-ask.ts';

const LONGEST_CONFIRM_WAIT_MS = 30_000;
/** Stops of one payout's workflow that pass as a mistake. */
const STOPS_BEFORE_FLAG = 3;
const WHAT = 'asks again whether the order exists';
const NOT_FOUND = 'the create was sent, or may have been, and the provider knows no such order';
const FOUND_BUT_NOT_COMPARED = 'the order was found, but could not be read to compare it';
const NOT_SENT_AGAIN = 'it was to be sent again, but the provider did not say that there is no order';

/**
 * A doubtful start confirms before anything can end it: an earlier run may have created the order, and an account that
 * is empty by now, or an approval that nobody gives twice, says nothing about that (H6, H7, H10).
 */
export async function findEarlierOrder(run: PayoutRun): Promise<void> {
  if (run.isContinued || !isDoubtfulStart()) return;
  const { memo } = workflowInfo();
  flagRepeatedStops(run, memo?.['stops']);
  confirmFirst(run, 'earlier-run');
  // The run that sent may be past retention by now: its successor says so.
  if (memo?.['createSent'] === true) noteUnknownSend(run, 'earlier-run');
  while (run.record.creation.stage === 'confirming' || run.record.creation.stage === 'review')
    await (run.record.creation.stage === 'review' ? review(run) : confirm(run));
}

/** One question in the confirmation window, and what follows from its answer. */
export async function confirm(run: PayoutRun): Promise<void> {
  const { record } = run;
  const { creation } = record;
  if (creation.stage !== 'confirming') return;
  run.enter('RECONCILING');
  await run.continueAsNewWhenLong();
  const answer = await confirmOrder(run);
  if (answer?.earlierSend && creation.cause === 'earlier-run') noteUnknownSend(run, creation.cause);
  if (answer?.exists) {
    if (await adoptFound(run, answer)) return;
  } else if (answer && mayGoOn(run, answer)) {
    sendAgain(run, { runId: answer.runId });
    return;
  }
  if (record.creation.stage !== 'confirming') return;
  // The end of the window means something only together with an answer: without one, nothing is known.
  if (answer && Date.now() >= creation.untilMs) {
    enterReview(run, answer.exists ? FOUND_BUT_NOT_COMPARED : NOT_FOUND);
    return;
  }
  const wait = Math.min(LONGEST_CONFIRM_WAIT_MS, 1_000 * 2 ** Math.min(creation.asks, 10));
  creation.asks += 1;
  const left = creation.untilMs - Date.now();
  await waitForNotificationOrPoll(run, left > 0 ? Math.min(wait, left) : wait, WHAT);
}

/** Whether the payout may go on to another send without a person, given that the provider knows no order now. */
function mayGoOn({ record }: PayoutRun, answer: Confirmation & { exists: false }): boolean {
  const { creation } = record;
  if (creation.stage !== 'confirming') return false;
  // No other run has ever set out to create this order, so there is nothing that could still turn up.
  if (creation.cause === 'earlier-run' && !record.unknownSend) return true;
  if (creation.cause === 'restored' || Date.now() < creation.untilMs) return false;
  return creation.cause === 'busy' || answer.mayRepeat;
}

/** A person decides. Until then the provider is still asked, for the order may turn up. */
export async function review(run: PayoutRun): Promise<void> {
  const { record, settings } = run;
  if (record.creation.stage !== 'review') return;
  run.enter('NEEDS_REVIEW');
  run.flag('NEEDS_REVIEW', `find out whether the order exists, then resolve: ${record.creation.why}`);
  await run.continueAsNewWhenLong();
  const isOver = () => run.resolution !== undefined || record.creation.stage !== 'review';
  if (!isOver()) await waitForNotificationOrPoll(run, settings.pollMaxMs, WHAT, isOver);
  // The update itself has compared and adopted the order that a person named.
  if (record.creation.stage !== 'review') return;
  const { resolution } = run;
  run.resolution = undefined;
  const { differingOrderId } = record;
  const answer = await confirmOrder(run, resolution !== undefined);
  if (answer?.exists && (await adoptFound(run, answer))) return;
  if (!resolution || record.creation.stage !== 'review') return;
  // An order that the person did not know of makes the decision void: it may be this payout's.
  if (answer?.exists && answer.trade.orderId !== differingOrderId) {
    enterReview(run, `order ${answer.trade.orderId} has turned up since it was resolved`);
    return;
  }
  if (resolution.then === 'end') {
    const message = `${resolution.by} found that it was not created`;
    throw new NotCreated({ code: 'RESOLVED_NOT_CREATED', message }, true);
  }
  // Sent again only after the provider has just said that there is no order.
  if (!answer || answer.exists) {
    enterReview(run, NOT_SENT_AGAIN);
    return;
  }
  record.restarts = 0;
  // A decision to send again asks for a new approval where the new quote needs one.
  record.refused = undefined;
  record.approvalExpiresAtMs = undefined;
  run.unflag('CREATION_STARTS_OVER');
  sendAgain(run, { runId: answer.runId, recoveredAtMs: answer.recoveredAtMs });
}

function sendAgain(run: PayoutRun, clearance: Clearance): void {
  run.cleared = clearance;
  run.unflag('NEEDS_REVIEW');
  if (run.record.unknownSend) startOver(run);
  else run.record.creation = { stage: 'quoting' };
}

/** Undefined: no usable answer. That is no answer at all: the payout is flagged, and the provider asked again. */
async function confirmOrder(run: PayoutRun, forPerson = false): Promise<Confirmation | undefined> {
  const what = 'does the order exist?';
  const calls = forPerson ? asked(run.calls, what) : untilAnswered(run.calls, 'create', what);
  const question = { key: run.tradeKey, workflowId: workflowInfo().workflowId, request: run.request };
  try {
    const answer = await query(run, () => calls.confirmOrder(run.caller, question));
    run.record.lastConfirmedAtMs = Date.now();
    run.unflag('PROVIDER_NOT_ANSWERING');
    return answer;
  } catch (error) {
    const message = `no usable answer to whether the order exists (${causeOf(error)})`;
    run.flag('PROVIDER_NOT_ANSWERING', message);
    return undefined;
  }
}

/** `stops`: how often reconciliation has found this payout's workflow stopped. */
function flagRepeatedStops(run: PayoutRun, stops: unknown): void {
  if (typeof stops !== 'number' || stops < STOPS_BEFORE_FLAG) return;
  const message = `its workflow has been stopped ${stops} times without an end, and was started again each time`;
  run.flag('STOPPED_REPEATEDLY', message);
}
