/**
 * The create, sent at most once while there is any doubt. What is known decides the stage:
 *
 *   quoting     no create is under way: the next step is a quote
 *   sending     one create is under way
 *   confirming  the order may exist: the provider is asked, and nothing is sent
 *   review      a person decides, and the provider is still asked
 *   created     the order exists
 *
 * `record.unknownSend` outlives the stages: while a create of unknown outcome stands, nothing ends the payout but a
 * found order or a person's decision (H58).
 */
import { workflowInfo } from '@temporalio/workflow';
import type { CreateAnswer } from '../../activities/shared/types.ts';
import { type LockBudget, lockBudget } from '../../domain/deadlines.ts';
import type { AgreedQuote } from '../../domain/payout.ts';
import type { KnownOrder } from '../../domain/payout-record.ts';
import { provesNothingSent } from '../shared/call-failures.ts';
import { local, once } from '../shared/calls.ts';
import { isDoubtfulStart } from '../shared/doubtful-start.ts';
import { adoptCreated } from './adopt-order.ts';
import { confirm, review } from './confirm.ts';
import { lockLeftMs } from './lock-quote.ts';
import { NotCreated, type PayoutRun } from './run.ts';
import { confirmFirst, enterReview, markOutcomeUnknown, requote } from './stages.ts';

/** Starting over this often without an order is a matter for a person (H56). */
const MOST_RESTARTS = 10;
const RESTARTS_BEFORE_FLAG = 3;
const LONGEST_PAUSE_MS = 60_000;

/** Repeats `attempt` until the order exists, and returns it. Throws `NotCreated` when it is sure that none does. */
export async function untilCreated(run: PayoutRun, attempt: () => Promise<void>): Promise<KnownOrder> {
  while (run.record.creation.stage !== 'created') {
    try {
      if (run.record.creation.stage === 'confirming') await confirm(run);
      else if (run.record.creation.stage === 'review') await review(run);
      else if (await paceRestarts(run)) await attempt();
    } catch (error) {
      if (!(error instanceof NotCreated)) throw error;
      await endOnlyIfNothingExists(run, error);
    }
  }
  return run.order;
}

/** Sends the create and leaves the stage that its answer, or the lack of one, leads to. */
export async function sendCreate(run: PayoutRun, quote: AgreedQuote): Promise<void> {
  run.endIfCancelled();
  const budget = lockBudget(lockLeftMs(run), run.settings.callTimeoutMs);
  if (!budget) {
    requote(run);
    return;
  }
  run.enter('CREATING');
  run.record.creation = { stage: 'sending' };
  const answer = await attempt(run, quote, budget);
  if (answer.kind !== 'not-sent' && answer.kind !== 'invalid') {
    run.record.sends += 1;
    run.record.sentQuotes.push(quote);
  }
  if (answer.kind === 'not-sent') notSent(run, answer.why);
  else if (answer.kind === 'invalid') refused(run, answer.message);
  else if (answer.kind === 'created') adoptCreated(run, answer.order, quote);
  else if (answer.kind === 'not-created') notCreated(run, answer);
  else markOutcomeUnknown(run, 'unanswered');
}

async function attempt(
  run: PayoutRun,
  quote: AgreedQuote,
  budget: LockBudget,
): Promise<CreateAnswer | { kind: 'unanswered' }> {
  const summary = `create: pay ${quote.pay.amount} ${quote.pay.currency} for ${quote.target.amount} ${quote.target.currency}`;
  try {
    return await run.call(() =>
      once(run.calls, budget.scheduleToStartMs, summary).createPayout(run.caller, {
        order: orderBody(run, quote),
        clientId: run.request.clientId,
        ...runFacts(run),
        sendWithinMs: budget.sendWithinMs,
      }),
    );
  } catch (error) {
    if (provesNothingSent(error)) return { kind: 'not-sent', why: 'unreachable' };
    // Whatever went wrong, the create may have been sent: a failed create never means "not created".
    return { kind: 'unanswered' };
  }
}

/** The caller's id and every field but the lock are the payout's own, so each send of a payout has the same body. */
function orderBody(run: PayoutRun, quote: AgreedQuote) {
  const { partnerOrderId, type, instructedAmount, originCurrency, targetCurrency, receiver } = run.request;
  const { remittancePurposeCode, platform } = run.request;
  return {
    partnerOrderId,
    lockRateId: quote.lockRateId,
    type,
    instructedAmount,
    originCurrency,
    targetCurrency,
    remittancePurposeCode,
    platform,
    receiver,
  };
}

function runFacts({ record, cleared }: PayoutRun) {
  return {
    firstRunId: workflowInfo().firstExecutionRunId,
    isDoubtful: isDoubtfulStart(),
    cleared,
    startedAtMs: record.startedAtMs,
  };
}

function notSent(run: PayoutRun, why: (CreateAnswer & { kind: 'not-sent' })['why']): void {
  if (why === 'earlier-run' || why === 'forgotten') confirmFirst(run, why);
  else if (why === 'restored') markOutcomeUnknown(run, why);
  else if (why === 'may-have-been-sent' || why === 'exists') markOutcomeUnknown(run, 'unanswered');
  else requote(run);
}

function notCreated(run: PayoutRun, { meaning, message }: CreateAnswer & { kind: 'not-created' }): void {
  if (meaning === 'refused') refused(run, message);
  else if (meaning === 'insufficient') throw new NotCreated({ code: 'INSUFFICIENT_BALANCE', message });
  else if (meaning === 'busy') markOutcomeUnknown(run, meaning);
  else requote(run);
}

function refused(run: PayoutRun, message: string): never {
  run.record.creation = { stage: 'quoting' };
  throw new NotCreated({ code: 'REFUSED_BY_PROVIDER', message });
}

/** Waits longer before each restart, and asks a person in the end. False when there is no further attempt now. */
async function paceRestarts(run: PayoutRun): Promise<boolean> {
  const { restarts } = run.record;
  if (restarts === 0) return true;
  if (restarts >= RESTARTS_BEFORE_FLAG)
    run.flag('CREATION_STARTS_OVER', `the creation has started over ${restarts} times without an order`);
  if (restarts >= MOST_RESTARTS) {
    enterReview(run, `the creation has started over ${restarts} times without an order`);
    return false;
  }
  // The review, or the confirmation, is over: the state must not ask for a decision that was made.
  run.enter('QUOTING');
  // The next run of the chain would have to confirm again what this one has just confirmed.
  if (!run.cleared) await run.continueAsNewWhenLong();
  const pause = Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** (restarts - 1));
  const wait = () => run.rest(pause, 'waits before the creation starts over', () => false);
  await (run.record.unknownSend ? wait() : run.cancellable(wait));
  return true;
}

/**
 * Throws `end` when the payout may end `NOT_CREATED`. Otherwise it leaves the stage that finds out: a person decides
 * about a send of unknown outcome, and what another run may have sent is confirmed first.
 */
async function endOnlyIfNothingExists(run: PayoutRun, end: NotCreated): Promise<void> {
  if (end.isDecided) throw end;
  if (run.record.unknownSend) {
    enterReview(run, `it would end ${end.reason.code} (${end.reason.message}), but a create was sent before`);
    return;
  }
  // An activity compares the run ids: here, a reset run would replay differently from its own history.
  const doubt = await local.doubtAboutEnd(runFacts(run));
  if (doubt === null) throw end;
  if (doubt === 'restored') markOutcomeUnknown(run, doubt);
  else confirmFirst(run, doubt);
}
