/** What operators and callers read of a payout: one plain sentence, the next step, the reasons for concern. */

import { lockExpiresAtMs } from './deadlines.ts';
import type { PayoutPhase, PayoutResult, PayoutState } from './payout.ts';
import type { PayoutRecord } from './payout-record.ts';
import { auditStatusOf } from './trade-verdict.ts';

export function payoutState(record: PayoutRecord, partnerOrderId: string, lockLifetimeMs = 0): PayoutState {
  const waitsWith = record.phase === 'AWAITING_APPROVAL' ? record.quote : undefined;
  const lockEndsAtMs = lockExpiresAtMs(record.quotedAtMs, lockLifetimeMs);
  const { result, attention, quote } = record;
  // What was known of an order that a person found not to exist is not part of the end.
  const { order, trade } = result?.outcome === 'NOT_CREATED' ? {} : record;
  const audit = auditStatusOf(trade?.auditStatus);
  return {
    partnerOrderId,
    phase: record.phase,
    ...SENTENCES[record.phase](record),
    ...(record.lastAskedAtMs > 0 && { lastAskedAt: iso(record.lastAskedAtMs) }),
    ...(record.lastConfirmedAtMs > 0 && { lastConfirmedAt: iso(record.lastConfirmedAtMs) }),
    needsAttention: attention.length > 0,
    reasons: attention,
    ...(record.approvalExpiresAtMs !== undefined && { approvalExpiresAt: iso(record.approvalExpiresAtMs) }),
    ...(waitsWith && { lockExpiresAt: iso(lockEndsAtMs) }),
    ...(quote && { quote }),
    ...(order && { orderId: order.orderId }),
    ...(trade && { received: trade.received, failed: trade.failed }),
    ...(audit && { auditStatus: audit }),
    ...result,
  };
}

interface Said {
  sentence: string;
  nextStep: string;
}

const SENTENCES: Record<PayoutPhase, (record: PayoutRecord) => Said> = {
  SCHEDULED: () => ({
    sentence: 'Waiting for notBefore; the provider has not been asked for anything.',
    nextStep: 'Starts by itself at notBefore; can be cancelled.',
  }),
  CHECKING: () => ({
    sentence: 'Checking the request.',
    nextStep: 'A quote is requested next; can be cancelled.',
  }),
  QUOTING: ({ unknownSend }) => ({
    sentence: 'Asking whether the account can pay, and for fee and exchange rate.',
    nextStep: unknownSend
      ? 'The order is created once the quote is accepted; a create was sent before, so it cannot be cancelled.'
      : 'The order is created once the quote is accepted; can be cancelled.',
  }),
  AWAITING_APPROVAL: ({ quote }) => ({
    sentence: `Waiting for approval${quote ? ` of paying ${show(quote.pay)} for ${show(quote.target)}` : ''}.`,
    nextStep: 'Approve, refuse or cancel. If its lock expires before the approval, it is quoted again first.',
  }),
  CREATING: () => ({
    sentence: 'The order is being created; from here on it cannot be cancelled.',
    nextStep: 'The answer of the provider, or a confirmation if none comes.',
  }),
  RECONCILING: ({ creation }) => ({
    sentence: 'It is not known whether the order exists; the provider is being asked.',
    nextStep:
      creation.stage === 'confirming'
        ? `Asked again until ${iso(creation.untilMs)}; nothing is sent before.`
        : 'Asked again; nothing is sent before.',
  }),
  NEEDS_REVIEW: ({ creation }) => ({
    sentence: `A person has to decide${creation.stage === 'review' ? `: ${creation.why}` : ''}.`,
    nextStep:
      'Find out whether the order exists, then use the update resolve; the provider is asked meanwhile.',
  }),
  PROCESSING: ({ trade }) => ({
    sentence: `The order exists; the provider says ${trade?.status ?? 'nothing yet'}.`,
    nextStep: 'Asked again at a notification, or when the poll timer fires.',
  }),
  FETCHING_DETAIL: ({ trade, disagreements }) => ({
    sentence: `The order ended as ${trade?.status ?? 'final'}; its payments are being read${disagreements > 0 ? ' again, because result and detail did not agree' : ''}.`,
    nextStep: 'The outcome is reported once every sum and flag agrees.',
  }),
  DONE: ({ result }) => saidAtTheEnd(result),
};

/**
 * What an ended payout that needs no attention answers to `state`, from its result alone: no worker is asked. When the
 * provider was asked last is not in the result.
 */
export function endedState(result: PayoutResult): PayoutState {
  return { phase: 'DONE', ...saidAtTheEnd(result), needsAttention: false, reasons: [], ...result };
}

function saidAtTheEnd(result: PayoutRecord['result']): Said {
  return { sentence: doneSentence(result), nextStep: 'Nothing.' };
}

function doneSentence(result: PayoutRecord['result']): string {
  if (!result) return 'Ended.';
  const { outcome, reason, received, failed } = result;
  if (outcome === 'NOT_CREATED') return `No order was created: ${reason?.message ?? 'no reason given'}.`;
  if (outcome === 'FAILED') return `The order failed: ${reason?.message ?? 'the provider gave no reason'}.`;
  const paid = received ? show(received) : 'everything';
  return outcome === 'SUCCESS'
    ? `Paid ${paid}.`
    : `Paid ${paid}; ${failed ? show(failed) : 'the rest'} failed.`;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function show(money: { amount: string; currency: string }): string {
  return `${money.amount} ${money.currency}`;
}
