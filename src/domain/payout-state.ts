/** The state of a payout as callers and operators see it: a sentence, the next step and the attention reasons. */

import type { PayoutPhase } from '../contract/codes.ts';
import { compact } from '../contract/compact.ts';
import type { StateText } from '../contract/fields.ts';
import { formatMoney } from '../contract/money.ts';
import type { MadeDecision, PayoutResult, PayoutState, Terms } from '../contract/payout.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { foundOrderIds, type PayoutRecord } from './payout-record.ts';
import { auditStatusOf } from './payout-trade.ts';
import { isoTime, lockExpiresAtMs } from './time.ts';

export function payoutState(
  record: PayoutRecord,
  { partnerOrderId, metadata }: Pick<CheckedPayoutRequest, 'partnerOrderId' | 'metadata'>,
  lockLifetimeMs = 0,
): PayoutState {
  const { phase, result, attention, quote, decisions, sends } = record;
  const lockEndMs =
    phase === 'AWAITING_APPROVAL' && quote && lockExpiresAtMs(record.quotedAtMs, lockLifetimeMs);
  // If an operator decided that no order exists, the state shows none of the order's data.
  const { order, trade } = result?.outcome === 'NOT_CREATED' ? {} : record;
  const reviewedOrderIds = foundOrderIds(record);
  return {
    partnerOrderId,
    phase,
    ...stateText(record),
    needsAttention: attention.length > 0,
    reasons: attention,
    ...(phase === 'NEEDS_REVIEW' && { sends, ...(reviewedOrderIds.length > 0 && { reviewedOrderIds }) }),
    ...(decisions.length > 0 && { decisions }),
    ...compact({
      lastAskedAt: timeOf(record.lastAskedAtMs),
      lastConfirmedAt: timeOf(record.lastConfirmedAtMs),
      approvalExpiresAt: timeOf(record.approvalExpiresAtMs),
      lockExpiresAt: timeOf(lockEndMs),
      quote,
      orderId: order?.orderId,
      received: trade?.received,
      failed: trade?.failed,
      auditStatus: auditStatusOf(trade?.auditStatus),
      metadata,
    }),
    ...result,
  };
}

/** Undefined for a time that hasn't come. */
function timeOf(ms: number | false | undefined): string | undefined {
  return ms ? isoTime(ms) : undefined;
}

/** After a decision, the sentence begins with it until the provider's responses say more. */
function stateText(record: PayoutRecord): StateText {
  const text = STATE_TEXTS[record.phase]?.(record) ?? OF_NEWER_VERSION;
  const last = record.decisions.at(-1);
  const isFresh = DECIDED_IN.includes(record.phase) || (record.phase === 'PROCESSING' && !record.trade);
  if (!last || !isFresh) return text;
  return { ...text, sentence: `${DECIDED[last.action]} by ${last.by}. ${text.sentence}` };
}

const DECIDED_IN: readonly PayoutPhase[] = ['QUOTING', 'CREATING', 'RECONCILING'];

const DECIDED = {
  approve: 'Approved',
  refuse: 'Refused',
  cancel: 'Cancellation requested',
  resolve: 'Resolved',
} as const satisfies Record<MadeDecision['action'], string>;

/** While the review asks the provider once more, before it carries out the decision that no order was created. */
export function beingResolved({ by, then }: { by: string; then: 'end' | 'retry' }): StateText {
  const next = then === 'end' ? 'Ends without an order' : 'Creates the order again';
  return {
    sentence: `${by} has decided that no order was created. The payout is confirming this with the provider.`,
    nextStep: `${next}, unless the provider knows one.`,
  };
}

const STATE_TEXTS: Record<PayoutPhase, (record: PayoutRecord) => StateText> = {
  SCHEDULED: () => ({
    sentence: 'Waiting for notBefore. Nothing has been sent to the provider.',
    nextStep: 'Starts at notBefore. You can cancel.',
  }),
  CHECKING: () => ({
    sentence: 'Checking the request, and requesting a first quote.',
    nextStep: 'The order is created once the quote is accepted. You can cancel.',
  }),
  QUOTING: ({ unknownSend }) => ({
    sentence: 'Getting a quote, or pausing before the next attempt to get one.',
    nextStep: `The order is created once the quote is accepted. ${canCancel(unknownSend)}`,
  }),
  AWAITING_APPROVAL: awaitedText,
  PAUSED: ({ unknownSend }) => ({
    sentence: 'The application is paused or has no shared settings: no create call is sent.',
    nextStep: `The payout continues within a minute after the pause ends, with a new quote if its lock has expired. ${canCancel(unknownSend)}`,
  }),
  CREATING: () => ({
    sentence: 'Creating the order.',
    nextStep:
      "The order is tracked once the provider responds. If it doesn't, the payout confirms whether the order exists. It can't be canceled now.",
  }),
  RECONCILING: ({ creation }) => ({
    sentence: 'Confirming with the provider whether the order exists.',
    nextStep: `The payout keeps confirming${creation.stage === 'confirming' ? ` until ${isoTime(creation.untilMs)}` : ''}. Nothing is sent before that.`,
  }),
  NEEDS_REVIEW: ({ creation }) => ({
    sentence: `An operator must decide${creation.stage === 'review' ? `: ${creation.reason}` : ''}.`,
    nextStep: 'Find out whether the order exists, then resolve. The payout keeps querying the provider.',
  }),
  PROCESSING: ({ trade }) => ({
    sentence: trade ? `The order exists with status ${trade.status}.` : 'The order exists.',
    nextStep: 'The provider is queried again after a notification or when the poll timer fires.',
  }),
  FETCHING_DETAIL: ({ trade, disagreements }) => ({
    sentence: `The order is final${trade ? `: ${trade.status}` : ''}. Its splits are being fetched${disagreements > 0 ? ' again, because result and detail disagree' : ''}.`,
    nextStep: 'The outcome is reported once all sums and flags agree.',
  }),
  DONE: ({ result }) => endedText(result),
};

const CANNOT_CANCEL = "A create call was already sent, so you can't cancel.";

function canCancel(unknownSend: PayoutRecord['unknownSend']): string {
  return unknownSend ? CANNOT_CANCEL : 'You can cancel.';
}

/** Whether the payout is in a phase that may be canceled, but a payment was sent: an operator has had it sent again, too. */
export function refusesCancel({
  nextStep,
  decisions = [],
}: Pick<PayoutState, 'nextStep' | 'decisions'>): boolean {
  return nextStep.endsWith(CANNOT_CANCEL) || decisions.some(({ then }) => then === 'retry');
}

/** Says what an approval would cover: the lock of the quote has nearly always expired by then. */
function awaitedText({ quote, decisions }: PayoutRecord): StateText {
  if (!quote) return { sentence: 'Waiting for approval.', nextStep: 'Approve, refuse or cancel.' };
  const notCovered = notCoveredText(decisions);
  return {
    sentence: `Waiting for approval to pay ${formatMoney(quote.pay)} for ${formatMoney(quote.target)}.${notCovered && ` ${notCovered}`}`,
    nextStep: `Approve, refuse or cancel. After the lock has expired, an approval covers a new quote of ${coveredText(quote)}, and of more within the tolerance that the approver gives. A worse one is approved again.`,
  };
}

/** Empty, unless the payout waits again because its latest approval does not cover the new quote. */
export function notCoveredText(decisions: readonly MadeDecision[] = []): string {
  const earlier = decisions.findLast(({ action }) => action === 'approve');
  return earlier?.covers
    ? `The approval of ${earlier.by} covers ${coveredText(earlier.covers)}, and not this quote.`
    : '';
}

/**
 * The state of an finished payout that needs no attention, from its result alone, without a query to a worker. It lacks
 * `lastAskedAt` and `lastConfirmedAt`, which the result doesn't contain.
 */
export function endedState(result: PayoutResult): PayoutState {
  return { phase: 'DONE', ...endedText(result), needsAttention: false, reasons: [], ...result };
}

function endedText(result: PayoutRecord['result']): StateText {
  return { sentence: doneSentence(result), nextStep: 'Nothing.' };
}

function doneSentence(result: PayoutRecord['result']): string {
  if (!result) return 'Ended.';
  const { outcome, reason, received, failed } = result;
  if (outcome === 'NOT_CREATED') return `No order was created: ${reason?.message ?? 'no reason given'}.`;
  if (outcome === 'FAILED') return `The order failed: ${reason?.message ?? 'the provider gave no reason'}.`;
  const paid = received ? formatMoney(received) : 'everything';
  return outcome === 'SUCCESS'
    ? `Paid ${paid}.`
    : `Paid ${paid}; ${failed ? formatMoney(failed) : 'the rest'} failed.`;
}

/** The cover of an approval, in words. */
export function coveredText({ pay, fee }: Terms): string {
  return `at most ${formatMoney(pay)} with a fee of at most ${formatMoney(fee)}`;
}

/** For a phase that a newer version has written into the record. */
export const OF_NEWER_VERSION: StateText = {
  sentence: "In a phase that this version of the workers doesn't know.",
  nextStep: 'Continues on workers of the version that wrote it.',
};
