/**
 * The create, sent at most once where there is any doubt. Read it as a table: what is known decides the stage.
 *
 *   quoting   nothing has been sent, or it is sure that what was sent created nothing
 *   sending   one create is under way
 *   settling  the order may exist: the service is asked, and nothing is sent
 *   review    asked for long enough; a person decides, and the service is still asked
 *   created   the order exists
 */
import { workflowInfo } from '@temporalio/workflow';
import type { CreateAnswer } from '../../activities/types.ts';
import { activityTimeoutMs, lockExpiresAtMs, sendWithinMs } from '../../domain/deadlines.ts';
import type { AgreedQuote } from '../../domain/payout.ts';
import type { Doubt } from '../../domain/payout-record.ts';
import { once } from '../calls.ts';
import { isDoubtful } from '../doubtful-start.ts';
import { acceptableQuote } from './acceptable-quote.ts';
import { NotCreated, type PayoutLife } from './payout-life.ts';
import { takeOverCreated } from './take-over-order.ts';
import { review, settle } from './unknown-order.ts';

/** Returns when the order exists; throws `NotCreated` when it surely does not and will not. */
export async function createOnce(life: PayoutLife): Promise<void> {
  const { record } = life;
  while (record.creation.stage !== 'created') {
    if (record.creation.stage === 'settling') life.cleared = await settle(life);
    else if (record.creation.stage === 'review') life.cleared = await review(life);
    else await send(life, await acceptableQuote(life));
  }
}

/** Sends the create and leaves the stage that its answer, or the lack of one, leads to. */
async function send(life: PayoutLife, quote: AgreedQuote): Promise<void> {
  life.endIfCancelled();
  life.enter('CREATING');
  life.record.creation = { stage: 'sending' };
  const answer = await attempt(life, quote);
  if (answer === undefined) doubt(life, 'unknown');
  else if (answer.kind === 'created') takeOverCreated(life, answer.order, quote);
  else if (answer.kind === 'not-created') notCreated(life, answer);
  else if (answer.why === 'may-exist') doubt(life, 'earlier-run');
  else surelyNothingHappened(life);
}

async function attempt(life: PayoutLife, quote: AgreedQuote): Promise<CreateAnswer | undefined> {
  const { settings, cleared } = life;
  const { firstExecutionRunId } = workflowInfo();
  const summary = `create: pay ${quote.pay.amount} ${quote.pay.currency} for ${quote.target.amount} ${quote.target.currency}`;
  try {
    return await life.call(() =>
      once(life.calls, summary).createPayout(life.caller, {
        order: orderBody(life, quote),
        firstRunId: firstExecutionRunId,
        askFirst: isDoubtful(settings),
        cleared,
        lockExpiresAtMs: lockExpiresAtMs(life.record.quotedAtMs, settings.lockLifetimeMs),
        sendWithinMs: sendWithinMs(settings.callTimeoutMs),
      }),
    );
  } catch {
    // Whatever went wrong, the create may have been sent: a failed create is never taken for "not created".
    return undefined;
  }
}

/** The number and every field but the lock are the payout's own, so each send of a payout has the same body. */
function orderBody(life: PayoutLife, quote: AgreedQuote) {
  const { partnerOrderId, type, instructedAmount, originCurrency, targetCurrency, receiver } = life.request;
  const { remittancePurposeCode, platform } = life.request;
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

function notCreated(life: PayoutLife, answer: CreateAnswer & { kind: 'not-created' }): void {
  if (answer.meaning === 'refused')
    throw new NotCreated({ code: 'REFUSED_BY_PROVIDER', message: answer.message });
  if (answer.meaning === 'insufficient')
    throw new NotCreated({ code: 'INSUFFICIENT_BALANCE', message: answer.message });
  if (answer.meaning === 'busy') doubt(life, 'busy');
  else surelyNothingHappened(life);
}

/**
 * The lock ran out, or no connection came about. The next thing asked for is a new quote: a read that waits
 * for as long as the service is away, and that costs no history while it does.
 */
function surelyNothingHappened(life: PayoutLife): void {
  life.record.quote = undefined;
  life.record.creation = { stage: 'quoting' };
}

/** The window begins where the create's own deadline ends: until then it may still be on its way. */
export function doubt(life: PayoutLife, because: Doubt): void {
  const { callTimeoutMs, confirmationWindowMs } = life.settings;
  const untilMs = Date.now() + activityTimeoutMs(callTimeoutMs) + confirmationWindowMs;
  life.record.creation = { stage: 'settling', doubt: because, untilMs, asks: 0 };
}
