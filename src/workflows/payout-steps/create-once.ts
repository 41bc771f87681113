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
import type { CreateAnswer, WhetherCreated } from '../../activities/types.ts';
import { activityTimeoutMs, sendWithinMs } from '../../domain/deadlines.ts';
import { differsFromQuote, notThisPayout } from '../../domain/order-check.ts';
import type { AgreedQuote } from '../../domain/payout.ts';
import type { Clearance, Doubt } from '../../domain/payout-record.ts';
import type { PayoutOrder, TradeResult } from '../../payments/types.ts';
import { once, polled, untilAnswered } from '../calls.ts';
import { acceptableQuote, lockExpiresAtMs } from './acceptable-quote.ts';
import { NotCreated, type PayoutLife } from './payout-life.ts';
import { asking, waitToAsk } from './wait-to-ask.ts';

const LONGEST_SETTLE_WAIT_MS = 30_000;

/** Returns when the order exists; throws `NotCreated` when it surely does not and will not. */
export async function createOnce(life: PayoutLife): Promise<void> {
  const { record } = life;
  let cleared: Clearance | undefined;
  while (record.creation.stage !== 'created') {
    if (record.creation.stage === 'settling') cleared = await settle(life);
    else if (record.creation.stage === 'review') cleared = await review(life);
    else await send(life, await acceptableQuote(life), cleared);
  }
}

/** Sends the create and leaves the stage that its answer, or the lack of one, leads to. */
async function send(life: PayoutLife, quote: AgreedQuote, cleared: Clearance | undefined): Promise<void> {
  life.endIfCancelled();
  life.enter('CREATING');
  life.record.creation = { stage: 'sending' };
  const answer = await attempt(life, quote, cleared);
  if (answer === undefined) doubt(life, 'unknown');
  else if (answer.kind === 'created') accept(life, answer.order, quote);
  else if (answer.kind === 'not-created') notCreated(life, answer);
  else if (answer.why === 'may-exist') doubt(life, 'earlier-run');
  else surelyNothingHappened(life);
}

async function attempt(
  life: PayoutLife,
  quote: AgreedQuote,
  cleared: Clearance | undefined,
): Promise<CreateAnswer | undefined> {
  const { settings } = life;
  const { memo, firstExecutionRunId } = workflowInfo();
  const summary = `create: pay ${quote.pay.amount} ${quote.pay.currency} for ${quote.target.amount} ${quote.target.currency}`;
  try {
    return await life.call(() =>
      once(settings, summary).createPayout(life.caller, {
        order: orderBody(life, quote),
        firstRunId: firstExecutionRunId,
        askFirst: memo?.['rejectDuplicate'] !== true || settings.createCheck === 'always',
        cleared,
        lockExpiresAtMs: lockExpiresAtMs(life),
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

function accept(life: PayoutLife, order: PayoutOrder, quote: AgreedQuote): void {
  for (const { code, message } of differsFromQuote(order, quote)) life.flag(code, message);
  orderExists(life, order.orderId, order);
}

function orderExists(life: PayoutLife, orderId: string, order: PayoutOrder | undefined): void {
  const { record } = life;
  record.order = { orderId, status: order?.status ?? '', target: order?.target };
  record.creation = { stage: 'created' };
  record.createdAtMs = Date.now();
  record.lastConfirmedAtMs = Date.now();
  life.unflag('NEEDS_REVIEW');
}

function notCreated(life: PayoutLife, answer: CreateAnswer & { kind: 'not-created' }): void {
  if (answer.meaning === 'refused')
    throw new NotCreated({ code: 'REFUSED_BY_SERVICE', message: answer.message });
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
function doubt(life: PayoutLife, because: Doubt): void {
  const { callTimeoutMs, settleWindowMs } = life.settings;
  const untilMs = Date.now() + activityTimeoutMs(callTimeoutMs) + settleWindowMs;
  life.record.creation = { stage: 'settling', doubt: because, untilMs, asks: 0 };
}

/** Asks over the settle window. Returns the clearance to send again, or nothing when a stage says more. */
async function settle(life: PayoutLife): Promise<Clearance | undefined> {
  const { record, settings } = life;
  const creation = record.creation;
  if (creation.stage !== 'settling') return undefined;
  life.enter('RECONCILING');
  await life.continueAsNewWhenLong();
  const answer = await ask(life);
  if (answer.exists) return adopt(life, answer.trade, creation.doubt);
  const clearance = { runId: answer.runId };
  // No other run has ever set out to create this order, so there is nothing that could still turn up.
  if (creation.doubt === 'earlier-run' && !answer.earlierSend) return sendAgain(life, clearance);
  if (Date.now() < creation.untilMs) {
    const wait = Math.min(LONGEST_SETTLE_WAIT_MS, 1_000 * 2 ** creation.asks, creation.untilMs - Date.now());
    creation.asks += 1;
    await waitToAsk(life, wait, 'asks again whether the order exists');
    return undefined;
  }
  if (creation.doubt === 'busy' || settings.repeatedCreate === 'safe') return sendAgain(life, clearance);
  record.creation = { stage: 'review', doubt: creation.doubt };
  return undefined;
}

/** A person decides; until then the service is asked on, for the order may still turn up. */
async function review(life: PayoutLife): Promise<Clearance | undefined> {
  const { record, settings } = life;
  if (record.creation.stage !== 'review') return undefined;
  life.enter('NEEDS_REVIEW');
  life.flag(
    'NEEDS_REVIEW',
    'the service knows no such order, but the create was sent and never answered: find out, then resolve',
  );
  await life.continueAsNewWhenLong();
  if (!life.resolution)
    await waitToAsk(
      life,
      settings.pollMaxMs,
      'asks again whether the order exists',
      () => life.resolution !== undefined,
    );
  const { resolution } = life;
  if (resolution?.created) return undefined; // The update itself has checked and taken over the order.
  const answer = await ask(life);
  life.resolution = undefined;
  if (answer.exists) return adopt(life, answer.trade, record.creation.doubt);
  if (!resolution) return undefined;
  life.unflag('NEEDS_REVIEW');
  if (resolution.then === 'end')
    throw new NotCreated({
      code: 'RESOLVED_NOT_CREATED',
      message: `${resolution.by} found that it was not created`,
    });
  return sendAgain(life, { runId: answer.runId });
}

function sendAgain(life: PayoutLife, clearance: Clearance): Clearance {
  life.record.creation = { stage: 'quoting' };
  return clearance;
}

async function ask(life: PayoutLife): Promise<WhetherCreated> {
  const calls = untilAnswered(life.settings, 'create', 'does the order exist?');
  const { workflowId } = workflowInfo();
  return asking(life, () => calls.askWhetherCreated(life.caller, { key: life.tradeKey, workflowId }));
}

/** The order exists after all: compare it with what was agreed, then go on as if the create had answered. */
async function adopt(life: PayoutLife, trade: TradeResult, because: Doubt): Promise<undefined> {
  const { record } = life;
  const order = await readOrder(life, trade.orderId);
  record.trade = trade;
  if (order && because === 'earlier-run') {
    // It was created under an earlier run's lock, so this run's quote was never used.
    record.quote = quoteOf(order);
    const problem = notThisPayout(order, life.request, undefined);
    if (problem)
      life.flag('ORDER_DIFFERS_FROM_REQUEST', `the order found differs from the request: ${problem}`);
  } else if (order && record.quote) {
    for (const { code, message } of differsFromQuote(order, record.quote)) life.flag(code, message);
  }
  orderExists(life, trade.orderId, order);
}

function quoteOf(order: PayoutOrder): AgreedQuote | undefined {
  const { lockRateId, exchangeRate, pay, target, fee } = order;
  return lockRateId && exchangeRate ? { lockRateId, exchangeRate, pay, target, fee } : undefined;
}

async function readOrder(life: PayoutLife, orderId: string): Promise<PayoutOrder | undefined> {
  const calls = polled(life.settings, 'create', 'reads the order that was found');
  try {
    return await life.call(() => calls.fetchOrder(life.caller, orderId));
  } catch {
    life.flag(
      'ORDER_NOT_COMPARED',
      'the order was found, but could not be read to compare it with its quote',
    );
    return undefined;
  }
}

/** A person says that the order exists. Believed only when number and amounts match; else why not. */
export async function takeOverOrder(life: PayoutLife, orderId: string): Promise<string | undefined> {
  const order = await readOrder(life, orderId);
  life.unflag('ORDER_NOT_COMPARED');
  if (!order) return `order ${orderId} could not be read from the payments service`;
  const problem = notThisPayout(order, life.request, life.record.quote);
  if (problem) return `order ${orderId} is not this payout: ${problem}`;
  if (life.record.creation.stage !== 'review') return 'the payout is no longer in review';
  orderExists(life, orderId, order);
  return undefined;
}
