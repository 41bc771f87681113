/**
 * Creates the order. A create call of unknown outcome is never sent again blindly. What is known decides the stage:
 *
 *   quoting     no create is under way: the next step is a quote
 *   sending     a create call is under way
 *   confirming  the order may exist: the payout queries the provider and sends nothing
 *   review      a person decides; the payout still queries the provider
 *   created     the order exists
 *
 * `record.unknownSend` outlives the stages: while it is set, only a found order or a person's decision ends the payout
 * (H58).
 */
import type { CreateResult } from '../../activities/payout/create-payout.ts';
import type { NothingSent } from '../../activities/payout/send-once.ts';
import { formatMoney } from '../../contract/money.ts';
import type { AgreedQuote } from '../../contract/payout.ts';
import type { CreatePayoutRequest } from '../../contract/provider-records.ts';
import type { Creation, KnownOrder } from '../../domain/payout-record.ts';
import { type LockBudget, lockBudget } from '../../domain/time.ts';
import { checks, once, provesNothingSent } from '../shared/calls.ts';
import { newerVersion } from '../shared/request-run.ts';
import { startFacts } from '../shared/run-facts.ts';
import { findEarlierSend, runFacts } from '../shared/uncertain-send.ts';
import { adoptCreated } from './adopt-order.ts';
import { confirm, review } from './confirm.ts';
import { lockLeftMs } from './quote.ts';
import { NotCreated, type PayoutRun } from './run.ts';
import { noteCreate, noteOrder } from './show-state.ts';

const RESTARTS_BEFORE_FLAG = 3;
/** After this many restarts without an order, a person decides (H56). */
const MAX_RESTARTS = 10;
const MAX_PAUSE_MS = 60_000;

/** Repeats `attempt` until the order exists, and returns it. Throws `NotCreated` if the payout may end without one. */
export async function createOrder(run: PayoutRun, attempt: () => Promise<void>): Promise<KnownOrder> {
  const { record } = run;
  const wasCreated = record.creation.stage === 'created';
  while (record.creation.stage !== 'created') {
    try {
      await proceed(run, record.creation.stage, attempt);
    } catch (error) {
      if (!(error instanceof NotCreated)) throw error;
      await endUnlessSent(run, error);
    }
  }
  if (!record.order) throw new Error('the order is missing');
  if (!wasCreated) noteOrder(run);
  return record.order;
}

/** A stage that a newer version has carried over is never taken for one in which a create call may be sent. */
async function proceed(
  run: PayoutRun,
  stage: Creation['stage'],
  attempt: () => Promise<void>,
): Promise<void> {
  if (stage === 'confirming') return confirm(run);
  if (stage === 'review') return review(run);
  if (stage !== 'quoting' && stage !== 'sending') throw newerVersion(`the stage ${stage}`);
  if (await paceRestarts(run)) await attempt();
}

/** Sends the create call once. The response, or its absence, decides the next stage. */
export async function sendCreate(run: PayoutRun, quote: AgreedQuote): Promise<void> {
  run.endIfCanceled();
  if (run.outcomeStands) {
    run.enterReview(
      'an earlier run of the payout has ended with an outcome, and it was then started again or reset: read that outcome, and decide whether it may be sent',
    );
    return;
  }
  const budget = lockBudget(lockLeftMs(run), run.settings.callTimeoutMs);
  if (!budget) {
    run.requote();
    return;
  }
  run.enter('CREATING');
  run.record.creation = { stage: 'sending' };
  const answer = await sendOnce(run, quote, budget);
  noteCreate(run, answer);
  const nothingSent = answer.kind === 'not-sent' ? AFTER_NOTHING_SENT[answer.cause] : undefined;
  if (answer.kind === 'invalid') {
    // Our own check refused the body. Nothing was sent.
    run.record.creation = { stage: 'quoting' };
    throw new NotCreated({ code: 'REFUSED_BY_PROVIDER', message: answer.message });
  }
  if (!nothingSent) {
    run.record.sends += 1;
    run.record.sentQuotes.push(quote);
  }
  if (nothingSent) await nothingSent(run);
  else if (answer.kind === 'created') adoptCreated(run, answer.order, quote);
  else if (answer.kind === 'not-created') notCreated(run, answer);
  else run.markOutcomeUnknown('unanswered');
}

async function sendOnce(
  run: PayoutRun,
  quote: AgreedQuote,
  budget: LockBudget,
): Promise<CreateResult | { kind: 'unanswered' }> {
  const summary = `create: pay ${formatMoney(quote.pay)} for ${formatMoney(quote.target)}`;
  run.record.lastAskedAtMs = Date.now();
  // A send is never replaced. One that waits as long as a call that is flagged gets a new quote, which is flagged if it waits.
  const withinMs = Math.min(budget.scheduleToStartMs, run.settings.callWaitsMs);
  try {
    return await once({ ...run.calls, withinMs }, 'create', summary).createPayout(run.principal, {
      order: orderBody(run, quote),
      quote,
      clientId: run.request.clientId,
      payerId: run.request.payerId,
      isApproved: run.request.approval !== 'none',
      startedBy: startFacts().startedBy,
      ...runFacts(run.record.startedAtMs, run.cleared),
      sendWithinMs: budget.sendWithinMs,
      scheduleByMs: Date.now() + budget.scheduleWithinMs,
    });
  } catch (error) {
    if (provesNothingSent(error)) return { kind: 'not-sent', cause: 'unreachable' };
    // The create may have been sent: a failed activity never means "not created".
    return { kind: 'unanswered' };
  }
}

/** Only the lock differs between the sends of a payout. Its type demands each field, so none is left out. */
function orderBody(
  run: PayoutRun,
  quote: AgreedQuote,
): CreatePayoutRequest & Record<keyof CreatePayoutRequest, unknown> {
  const { request } = run;
  return {
    partnerOrderId: request.partnerOrderId,
    lockRateId: quote.lockRateId,
    type: request.type,
    instructedAmount: request.instructedAmount,
    originCurrency: request.originCurrency,
    targetCurrency: request.targetCurrency,
    remittancePurposeCode: request.remittancePurposeCode,
    platform: request.platform,
    receiver: request.receiver,
  };
}

/** What follows if this attempt has certainly sent nothing. A newer worker may answer another cause. */
const AFTER_NOTHING_SENT: Partial<Record<NothingSent['cause'], (run: PayoutRun) => void | Promise<void>>> = {
  paused: untilResumed,
  unapproved: (run) => run.requireApproval(),
  'earlier-run': (run) => run.confirmFirst('earlier-run'),
  'lost-run': (run) => run.confirmFirst('lost-run'),
  restored: (run) => run.markOutcomeUnknown('restored'),
  exists: (run) => run.markOutcomeUnknown('unanswered'),
  unreachable: (run) => run.requote(),
  'too-late': (run) => run.requote(),
  unconfirmed: (run) => run.requote(),
};

/** Waits while the application is paused. Then the quote applies if its lock is still valid. */
async function untilResumed(run: PayoutRun): Promise<void> {
  run.record.creation = { stage: 'quoting' };
  run.enter('PAUSED');
  run.show();
  const wait = () => checks.awaitResume(run.principal);
  for (let isResumed = false; !isResumed; ) {
    isResumed = await (run.record.unknownSend ? wait() : run.cancellable(wait));
    // The clearance applies only to this run: the next one would have to confirm again.
    if (!run.cleared) await run.continueAsNewWhenDue();
  }
}

/** A code alone proves nothing: the provider must also know no order after it (H230). */
function notCreated(run: PayoutRun, { meaning, message }: CreateResult & { kind: 'not-created' }): void {
  if (meaning === 'refused') run.confirmFirst('refused', { code: 'REFUSED_BY_PROVIDER', message });
  else if (meaning === 'insufficient') run.confirmFirst('refused', { code: 'INSUFFICIENT_BALANCE', message });
  else if (meaning === 'lock-expired') run.confirmFirst('refused');
  else run.markOutcomeUnknown(meaning === 'busy' || meaning === 'duplicate' ? meaning : 'unanswered');
}

/** Waits longer before each restart; after the last one, a person decides. False if there is no attempt now. */
async function paceRestarts(run: PayoutRun): Promise<boolean> {
  const { creationRestarts: restarts } = run.record;
  if (restarts === 0) return true;
  const message = `the creation has started over ${restarts} times without an order`;
  if (restarts >= RESTARTS_BEFORE_FLAG) run.flag('CREATION_STARTS_OVER', message);
  if (restarts >= MAX_RESTARTS) {
    run.enterReview(message);
    return false;
  }
  // The review or the confirmation is over: the state must not ask for a decision that was made.
  run.enter('QUOTING');
  // The clearance applies only to this run: the next one would have to confirm again.
  if (!run.cleared) await run.continueAsNewWhenDue();
  const pause = Math.min(MAX_PAUSE_MS, 1_000 * 2 ** (restarts - 1));
  const wait = () => run.rest(pause, 'pauses before the creation starts over');
  await (run.record.unknownSend ? wait() : run.cancellable(wait));
  return true;
}

/**
 * Throws `end` if the payout may end `NOT_CREATED`. Otherwise enters the next stage: review after a send of unknown
 * outcome, confirmation if another run may have sent.
 */
async function endUnlessSent(run: PayoutRun, end: NotCreated): Promise<void> {
  if (end.isDecided) throw end;
  if (run.record.unknownSend) {
    const { code, message } = end.reason;
    run.enterReview(`it would end ${code} (${message}), but a create call of unknown outcome was sent`);
    return;
  }
  const cause = await findEarlierSend(run.principal, runFacts(run.record.startedAtMs, run.cleared));
  if (cause === null) throw end;
  if (cause === 'restored') run.markOutcomeUnknown(cause);
  else run.confirmFirst(cause);
}
