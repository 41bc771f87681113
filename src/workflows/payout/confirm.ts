/** The order may or may not exist. The workflow asks the provider, then a person; nothing is sent meanwhile. */
import { workflowInfo } from '@temporalio/workflow';
import type { Confirmation } from '../../activities/shared/types.ts';
import type { Clearance } from '../../domain/payout-record.ts';
import { causeOf } from '../shared/call-failures.ts';
import { asked, polled, untilAnswered } from '../shared/calls.ts';
import { isDoubtfulStart } from '../shared/doubtful-start.ts';
import { adoptFound, isOrderReadable } from './adopt-order.ts';
import { NotCreated, type PayoutRun } from './run.ts';
import { confirmFirst, enterReview, noteUnknownSend, startOver } from './stages.ts';
import { query, spread, waitForNotificationOrPoll } from './wait-to-ask.ts';

type NotFound = Confirmation & { exists: false };

const LONGEST_CONFIRM_WAIT_MS = 30_000;
/** Stops of one payout's workflow that pass as a mistake. */
const STOPS_BEFORE_FLAG = 3;
const WHAT = 'asks again whether the order exists';
const QUESTION = 'does the order exist?';
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
  const askedAtMs = Date.now();
  const answer = await confirmUntilAnswered(run);
  if (answer?.earlierSend && creation.cause === 'earlier-run') noteUnknownSend(run, creation.cause);
  if (answer?.exists) {
    if (await adoptFound(run, answer)) return;
    creation.wasSeen = true;
  } else if (answer && mayGoOn(run, answer, askedAtMs)) {
    sendAgain(run, clearanceBy(run, answer, askedAtMs));
    return;
  }
  if (record.creation.stage !== 'confirming') return;
  // The end of the window means something only together with an answer: without one, nothing is known.
  if (answer && isOver(run, askedAtMs)) {
    if (answer.exists) enterReview(run, FOUND_BUT_NOT_COMPARED, answer.trade.orderId);
    else enterReview(run, NOT_FOUND);
    return;
  }
  const wait = Math.min(LONGEST_CONFIRM_WAIT_MS, 1_000 * 2 ** Math.min(creation.asks, 10));
  creation.asks += 1;
  const left = creation.untilMs - Date.now();
  await waitForNotificationOrPoll(run, left > 0 ? Math.min(wait, left) : wait, WHAT);
}

/** A whole window clears a payout that started after a restore; nothing but a person clears one from before it. */
function clearanceBy(
  { record }: PayoutRun,
  { runId, recoveredAtMs }: NotFound,
  askedAtMs: number,
): Clearance {
  const { creation, startedAtMs } = record;
  const isWhole = creation.stage === 'confirming' && askedAtMs >= creation.untilMs;
  const isAfter = recoveredAtMs !== undefined && startedAtMs >= recoveredAtMs;
  return isWhole && isAfter ? { runId, recoveredAtMs } : { runId };
}

/** Whether the confirmation window is over. */
function isOver({ record: { creation, unknownSend } }: PayoutRun, askedAtMs: number): boolean {
  if (creation.stage !== 'confirming') return false;
  const isAskedAgain = creation.cause === 'forgotten' && !unknownSend;
  return (isAskedAgain ? askedAtMs : Date.now()) >= creation.untilMs;
}

/** Whether the payout may go on to another send without a person, given that the provider knows no order now. */
function mayGoOn({ record }: PayoutRun, answer: NotFound, askedAtMs: number): boolean {
  const { creation } = record;
  // An order that was there once is there, whatever a later answer says.
  if (creation.stage !== 'confirming' || creation.wasSeen) return false;
  // No other run has ever set out to create this order, so there is nothing that could still turn up.
  if (creation.cause === 'earlier-run' && !record.unknownSend) return true;
  if (creation.cause === 'restored' || Date.now() < creation.untilMs) return false;
  // An answer may have waited for this workflow: what counts is when it was asked for.
  if (creation.cause === 'forgotten') return !record.unknownSend && askedAtMs >= creation.untilMs;
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
  if (!isOver()) await waitForNotificationOrPoll(run, spread(settings.pollMaxMs), WHAT, isOver);
  // The update itself has compared and adopted the order that a person named.
  if (record.creation.stage !== 'review') return;
  const { resolution } = run;
  run.resolution = undefined;
  const { reviewedOrderId } = record;
  const answer = await (resolution ? confirmForPerson(run) : confirmInReview(run));
  if (answer?.exists && (await adoptFound(run, answer))) return;
  if (!resolution || record.creation.stage !== 'review') return;
  // An order that the person did not know of makes the decision void: it may be this payout's.
  if (answer?.exists && answer.trade.orderId !== reviewedOrderId) {
    const { orderId } = answer.trade;
    enterReview(run, `order ${orderId} has turned up since it was resolved`, orderId);
    return;
  }
  if (await isOrderReadable(run)) {
    enterReview(run, `the order query still knows order ${record.order?.orderId}`);
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
  run.record.trade = undefined;
  run.unflag('NEEDS_REVIEW', 'ORDER_NOT_FOUND');
  if (run.record.unknownSend) startOver(run);
  else run.record.creation = { stage: 'quoting' };
}

type Calls = Pick<ReturnType<typeof polled>, 'confirmOrder'>;

/** A send of unknown outcome waits for it, so it goes as soon as a create. */
function confirmUntilAnswered(run: PayoutRun) {
  return confirmOrder(run, untilAnswered(run.calls, 'create', QUESTION));
}

function confirmForPerson(run: PayoutRun) {
  return confirmOrder(run, asked(run.calls, QUESTION));
}

/** The review repeats it, so that a decision does not wait for a provider that never answers. */
function confirmInReview(run: PayoutRun) {
  return confirmOrder(run, polled(run.calls, 'poll', QUESTION), polled(run.calls, 'latePoll', QUESTION));
}

/** Undefined: no usable answer. That is no answer at all: the payout is flagged, and the provider asked again. */
async function confirmOrder(run: PayoutRun, calls: Calls, late?: Calls): Promise<Confirmation | undefined> {
  const question = { key: run.tradeKey, workflowId: workflowInfo().workflowId, request: run.request };
  const ask = (by: Calls) => () => by.confirmOrder(run.caller, question);
  try {
    const answer = await query(run, ask(calls), late && ask(late));
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
