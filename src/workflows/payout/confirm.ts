/** Confirms whether the order exists: queries the provider, then leaves it to a person. Nothing is sent meanwhile. */
import { workflowInfo } from '@temporalio/workflow';
import type { Confirmation } from '../../activities/shared/provider-activities.ts';
import { saysCreateSent } from '../../contract/memo.ts';
import {
  type Clearance,
  type Creation,
  type FoundOrder,
  type PayoutRecord,
  undisprovedOrders,
} from '../../domain/payout-record.ts';
import { asked, type CallSettings, causeOf, polled, untilAnswered } from '../shared/calls.ts';
import { isDoubtfulStart, windowAfterOthers } from '../shared/uncertain-send.ts';
import { adoptFound, readOwnOrder } from './adopt-order.ts';
import { NotCreated, type PayoutRun, spread } from './run.ts';

type NotFound = Confirmation & { exists: false };
type Confirming = Creation & { stage: 'confirming' };

const MAX_CONFIRM_WAIT_MS = 30_000;
/** Reconciliation has found the workflow stopped this often. Fewer stops are not flagged. */
const STOPS_BEFORE_FLAG = 3;
const WAIT_SUMMARY = 'confirms again whether the order exists';
const SUMMARY = 'confirms whether the order exists';

/**
 * After a doubtful start, confirms before anything can end the payout: an earlier run may have created the order. An
 * account that is empty now, or an approval that does not come again, says nothing about that (H6, H7, H10).
 */
export async function findEarlierOrder(run: PayoutRun): Promise<void> {
  if (!isDoubtfulStart()) return;
  const { memo } = workflowInfo();
  const stops = memo?.['stops'];
  if (typeof stops === 'number' && stops >= STOPS_BEFORE_FLAG)
    run.flag(
      'STOPPED_REPEATEDLY',
      `the workflow was stopped ${stops} times before its end and restarted each time`,
    );
  run.confirmFirst('earlier-run');
  // The run that sent may be past retention by now, so a restart carries this fact in its memo.
  if (saysCreateSent(memo)) run.noteUnknownSend('earlier-run');
  while (run.record.creation.stage === 'confirming' || run.record.creation.stage === 'review')
    await (run.record.creation.stage === 'review' ? review(run) : confirm(run));
}

/** Queries the provider once in the confirmation window, and acts on the response. */
export async function confirm(run: PayoutRun): Promise<void> {
  const { record } = run;
  const { creation } = record;
  if (creation.stage !== 'confirming') return;
  run.enter('RECONCILING');
  if (await hasWaitedForReads(run, creation)) return;
  if (mayContinueAsNew(run, creation)) await run.continueAsNewWhenDue();
  const queriedAtMs = Date.now();
  // As urgent as a create call, because a send of unknown outcome waits for the response.
  const answer = await confirmOrder(run, (calls) => untilAnswered(calls, 'create', SUMMARY));
  if (answer?.earlierSend && creation.cause === 'earlier-run') run.noteUnknownSend(creation.cause);
  // After a Workflow Reset, the window may be one that an earlier run began before it sent again.
  if (answer) creation.untilMs = Math.max(creation.untilMs, windowAfterOthers(answer, run.settings));
  if (answer?.exists) {
    if (await adoptFound(run, answer)) return;
  } else if (answer && provesNoOrder(run, creation, answer, queriedAtMs)) {
    goOn(run, creation, answer, queriedAtMs);
    return;
  }
  if (record.creation.stage !== 'confirming') return;
  // Only the response to a query at its end closes the window. Without a response, nothing is known.
  if (answer && queriedAtMs >= creation.untilMs) {
    run.enterReview(whyReview(record, creation, answer));
    return;
  }
  const pause = nextPauseMs(run, creation);
  creation.queries += 1;
  await run.waitForNotificationOrPoll(pause, WAIT_SUMMARY);
}

function whyReview(record: PayoutRecord, { cause }: Confirming, answer: Confirmation): string {
  const [unread] = undisprovedOrders(record);
  if (unread !== undefined)
    return `order ${unread} was found under this partnerOrderId, but could not be read to compare it`;
  const what =
    cause === 'duplicate'
      ? 'the provider says that this partnerOrderId was used before, and the trade query knows no order under it'
      : 'a create call was sent, or may have been, and the provider knows no order';
  if (answer.exists || answer.isPairKnown) return what;
  return `${what}; that proves little, because no payout of this clientId and payerId has ended with an order yet: check that they belong together`;
}

/** No order exists. After a refusal, the payout ends, or starts over. */
function goOn(run: PayoutRun, creation: Confirming, answer: NotFound, queriedAtMs: number): void {
  const { cause, end, untilMs } = creation;
  if (cause !== 'refused') {
    const { runId, recoveredAtMs, hasOutcome } = answer;
    run.outcomeStands = hasOutcome;
    // A whole window clears a payout that started after a restore. Only a person clears one that started before it.
    const isAfter = recoveredAtMs !== undefined && run.record.startedAtMs >= recoveredAtMs;
    sendAgain(run, queriedAtMs >= untilMs && isAfter ? { runId, recoveredAtMs } : { runId });
    return;
  }
  // This run need not confirm again before it ends. After a Workflow Reset, another run may have sent since.
  if (!answer.earlierSend) run.cleared ??= { runId: answer.runId };
  if (!end) {
    run.requote();
    return;
  }
  run.record.creation = { stage: 'quoting' };
  throw new NotCreated(end);
}

/** This run refused to send a create call, because an earlier run may have sent. */
function isDoubtOnly({ record }: PayoutRun, { cause }: Confirming): boolean {
  return cause === 'earlier-run' && !record.unknownSend;
}

/** The next run would take the create call of this one for an earlier send, although one answer ends the doubt. */
function mayContinueAsNew(run: PayoutRun, creation: Confirming): boolean {
  const isBrief = isDoubtOnly(run, creation) || creation.cause === 'refused';
  return !isBrief || workflowInfo().continueAsNewSuggested;
}

function nextPauseMs(run: PayoutRun, creation: Confirming): number {
  const pause = Math.min(MAX_CONFIRM_WAIT_MS, 1_000 * 2 ** Math.min(creation.queries, 10));
  const lagMs = creation.readsFromMs - Date.now();
  if (creation.cause === 'refused' && lagMs > 0) return Math.min(pause, lagMs);
  const left = creation.untilMs - Date.now();
  if (left <= 0) return pause;
  // After a restore, thousands may be in doubt at once, and only the end of the window clears them.
  return isOnlyForgotten(run, creation) ? left : Math.min(pause, left);
}

/** After a refusal, an earlier query would prove nothing. A notification may announce an order meanwhile. */
async function hasWaitedForReads(run: PayoutRun, creation: Confirming): Promise<boolean> {
  const leftMs = creation.readsFromMs - Date.now();
  if (creation.cause !== 'refused' || creation.queries > 0 || leftMs <= 0) return false;
  creation.queries = 1;
  await run.waitForNotificationOrPoll(leftMs, WAIT_SUMMARY);
  return true;
}

/** Started soon after a restore of Temporal, which may have forgotten a send. No run is known to have sent. */
function isOnlyForgotten({ record }: PayoutRun, { cause }: Confirming): boolean {
  return cause === 'lost-run' && !record.unknownSend;
}

/**
 * Whether the payout may go on without a person, given that the provider knew no order at that time. The response may have
 * waited for this workflow, even until the window was over, so the time of the query counts.
 */
function provesNoOrder(run: PayoutRun, creation: Confirming, answer: NotFound, queriedAtMs: number): boolean {
  if (undisprovedOrders(run.record).length > 0) return false;
  // No other run has begun to send, so no order can still appear. A restore may have lost one that had (H321).
  if (isDoubtOnly(run, creation)) return answer.recoveredAtMs === undefined || answer.isPairKnown;
  if (creation.cause === 'earlier-run' && answer.hasOutcome) return false;
  if (!answer.isPairKnown) return false;
  // The provider has refused this send. Its code may lie, and its order appear late (H230).
  if (creation.cause === 'refused') return queriedAtMs >= creation.readsFromMs;
  if (creation.cause === 'restored' || queriedAtMs < creation.untilMs) return false;
  if (creation.cause === 'lost-run') return isOnlyForgotten(run, creation);
  if (creation.cause === 'busy') return true;
  return (creation.cause === 'unanswered' || creation.cause === 'earlier-run') && answer.mayRepeat;
}

/** A person decides. Meanwhile the payout keeps querying the provider, because the order may appear. */
export async function review(run: PayoutRun): Promise<void> {
  const { record, settings } = run;
  if (record.creation.stage !== 'review') return;
  run.enter('NEEDS_REVIEW');
  run.flag('NEEDS_REVIEW', `find out whether the order exists, then resolve: ${record.creation.reason}`);
  await run.continueAsNewWhenDue();
  const isOver = () => run.resolution !== undefined || record.creation.stage !== 'review';
  if (!isOver()) await run.waitForNotificationOrPoll(spread(settings.pollMaxMs), WAIT_SUMMARY, isOver);
  // The update itself has compared and adopted the order that a person named.
  if (record.creation.stage !== 'review') return;
  const { resolution } = run;
  try {
    await queryInReview(run, resolution);
  } finally {
    // Until then, every other decision is refused: it would apply to what this one has led to.
    if (resolution) run.resolution = undefined;
  }
}

async function queryInReview(run: PayoutRun, resolution: PayoutRun['resolution']): Promise<void> {
  const { record, settings } = run;
  const queriedAtMs = Date.now();
  // Without a decision, one call at a time, so that a decision does not wait for a provider that never responds.
  const answer = await (resolution
    ? confirmOrder(run, (calls) => asked(calls, 'beginning', SUMMARY))
    : confirmOrder(
        run,
        (calls) => polled(calls, 'poll', SUMMARY),
        (calls) => polled(calls, 'latePoll', SUMMARY),
      ));
  if (answer?.exists && (await adoptFound(run, answer))) return;
  if (!resolution || record.creation.stage !== 'review') return;
  // An order that the person did not know of may be this payout's, so it voids the decision.
  const unknown = orderUnknownTo(resolution, record);
  const readable = unknown === undefined ? await readableOrder(run, answer) : undefined;
  if (unknown !== undefined) {
    run.enterReview(`order ${unknown} has appeared since the decision`);
  } else if (readable !== undefined) {
    run.enterReview(`the order query still knows order ${readable}`);
  } else if (answer && !answer.exists && queriedAtMs < windowAfterOthers(answer, settings)) {
    // A Workflow Reset applies updates again, also a decision that an earlier run has carried out.
    run.enterReview(
      'another run of this payout may have sent a create call so recently that its order can still appear: resolve again later',
    );
  } else {
    carryOut(run, resolution, answer);
  }
}

/** An order that has been named since the decision, or that a new read no longer disproves. */
function orderUnknownTo(
  { decision: { reviewedOrderIds = [] }, knownOrderIds }: NonNullable<PayoutRun['resolution']>,
  record: PayoutRecord,
): string | undefined {
  const isKnown = ({ orderId, differs }: FoundOrder) =>
    reviewedOrderIds.includes(orderId) || (differs && knownOrderIds.includes(orderId));
  return record.foundOrders.find((found) => !isKnown(found))?.orderId;
}

/**
 * An order that the order query knows as this payout's: the tracked one, or one that the provider has named. If an earlier
 * start had another body, the order may be of that body however it reads, so the person who named it decides.
 */
async function readableOrder(run: PayoutRun, answer: Confirmation | undefined): Promise<string | undefined> {
  const tracked = run.record.order?.orderId;
  const otherId = answer?.exists && answer.otherBody ? answer.trade.orderId : undefined;
  const named = undisprovedOrders(run.record).filter((orderId) => orderId !== otherId);
  const orderIds = [...(tracked === undefined ? [] : [tracked]), ...named];
  for (const orderId of orderIds) if (await readOwnOrder(run, orderId)) return orderId;
  return undefined;
}

function carryOut(
  run: PayoutRun,
  { decision: { by, then }, made }: NonNullable<PayoutRun['resolution']>,
  answer: Confirmation | undefined,
): void {
  const { record } = run;
  if (then === 'end') {
    run.keep(made);
    const message = `${by} decided that no order was created`;
    throw new NotCreated({ code: 'RESOLVED_NOT_CREATED', message }, true);
  }
  // Sent again only if the provider has just answered that no order exists.
  if (!answer || answer.exists) {
    run.enterReview(
      'the create call was not sent again, because the provider did not confirm that no order exists',
    );
    return;
  }
  run.keep(made);
  run.outcomeStands = false;
  record.creationRestarts = 0;
  // The new quote may need a new approval.
  record.refused = undefined;
  record.approvalExpiresAtMs = undefined;
  run.unflag('CREATION_STARTS_OVER');
  sendAgain(run, { runId: answer.runId, recoveredAtMs: answer.recoveredAtMs });
}

function sendAgain(run: PayoutRun, clearance: Clearance): void {
  run.cleared = clearance;
  // The update that decided returns this phase, before the next quote begins.
  run.enter('QUOTING');
  run.record.trade = undefined;
  run.unflag('NEEDS_REVIEW', 'ORDER_NOT_FOUND');
  if (run.record.unknownSend) run.startOver();
  else run.record.creation = { stage: 'quoting' };
}

type Asking = (calls: CallSettings) => Pick<ReturnType<typeof polled>, 'confirmOrder'>;

/** Undefined if there was no usable response: the payout is flagged and queries again. `late` replaces a call that waits too long. */
async function confirmOrder(
  run: PayoutRun,
  asking: Asking,
  late = asking,
): Promise<Confirmation | undefined> {
  const question = { key: run.tradeKey, request: run.request };
  const confirmBy = (by: Asking) => (calls: CallSettings) => by(calls).confirmOrder(run.principal, question);
  const queriedAtMs = Date.now();
  try {
    const answer = await run.query(confirmBy(asking), confirmBy(late));
    run.record.lastConfirmedAtMs = queriedAtMs;
    // A history that could be read before may be gone.
    const known = new Map(run.record.earlierQuotes.map((quote) => [quote?.lockRateId, quote]));
    for (const quote of answer.quotes ?? []) known.set(quote?.lockRateId, quote);
    run.record.earlierQuotes = [...known.values()];
    run.unflag('PROVIDER_NOT_ANSWERING');
    return answer;
  } catch (error) {
    const message = `no usable response to whether the order exists (${causeOf(error)})`;
    run.flag('PROVIDER_NOT_ANSWERING', message);
    return undefined;
  }
}
