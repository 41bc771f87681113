/** To a quote that may be used: of a usable account, within limits, affordable, approved where asked. */
import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { accountProblem } from '../../domain/account-check.ts';
import { lockExpiresAtMs } from '../../domain/deadlines.ts';
import type { AgreedQuote } from '../../domain/payout.ts';
import type { PayoutRecord } from '../../domain/payout-record.ts';
import { agreedQuote, quoteProblem, withinApproval } from '../../domain/quote-check.ts';
import type { Quote } from '../../payments/types.ts';
import { untilAnswered } from '../calls.ts';
import { NotCreated, type PayoutLife } from './payout-life.ts';

/** Waits for `notBefore`, cancellably. */
export async function waitUntilDue(life: PayoutLife): Promise<void> {
  const due = life.request.notBefore ? Date.parse(life.request.notBefore) : 0;
  if (due <= Date.now() || life.record.creation.stage !== 'quoting') return;
  life.enter('SCHEDULED');
  await life.cancellable(() => life.rest(due - Date.now(), 'waits for notBefore', () => false));
}

/** The client's account can pay, by the service's word; else `NotCreated`. Newer runs ask with each quote. */
export async function checkAccount(life: PayoutLife): Promise<void> {
  life.enter('CHECKING');
  const { clientId, originCurrency } = life.request;
  const calls = untilAnswered(life.calls, 'beginning', `is the ${originCurrency} account usable?`);
  const accounts = await life.cancellable(() =>
    refusalEnds(() => life.call(() => calls.checkAccount(life.caller, clientId, originCurrency))),
  );
  const problem = accountProblem(accounts, originCurrency);
  if (problem) throw new NotCreated(problem);
}

/** A quote whose lock is alive and whose terms the caller, and the approver where there is one, accept. */
export async function acceptableQuote(life: PayoutLife): Promise<AgreedQuote> {
  if (life.record.quote && lockIsAlive(life)) return life.record.quote;
  const quote = await freshQuote(life);
  if (life.request.approval !== 'required' || approvalCovers(life, quote)) return quote;
  await approval(life);
  return acceptableQuote(life);
}

function lockIsAlive(life: PayoutLife): boolean {
  return Date.now() < lockExpiresAtMs(life.record.quotedAtMs, life.settings.lockLifetimeMs);
}

async function freshQuote(life: PayoutLife): Promise<AgreedQuote> {
  life.enter('QUOTING');
  const { request, record } = life;
  const quote = await life.cancellable(() => refusalEnds(() => life.call(() => askQuote(life))));
  const problem = quoteProblem(request, quote);
  if (problem) throw new NotCreated(problem);
  record.quote = agreedQuote(quote);
  // The lock began to live when the service answered, at the latest now.
  record.quotedAtMs = Date.now();
  return record.quote;
}

/** The account is checked on the way: that mostly takes no call, so it takes no activity of its own either. */
async function askQuote({ request, settings, caller, calls }: PayoutLife): Promise<Quote> {
  const { clientId, instructedAmount, originCurrency, targetCurrency, payerId, type } = request;
  const summary = `${originCurrency} account usable? then quote ${instructedAmount.amount} ${instructedAmount.currency}, ${originCurrency} to ${targetCurrency}`;
  const { quotePayout, quoteForClient } = untilAnswered(calls, 'beginning', summary);
  const wanted = { payerId, type, instructedAmount, originCurrency, targetCurrency };
  if (!settings.quotesForClient) return quotePayout(caller, wanted);
  const answer = await quoteForClient(caller, clientId, wanted);
  if (answer.kind === 'quote') return answer.quote;
  throw new NotCreated(answer.problem);
}

function approvalCovers(life: PayoutLife, quote: AgreedQuote): boolean {
  const { approved } = life.record;
  return approved !== undefined && withinApproval(life.request.limits, approved.quote, quote);
}

async function approval(life: PayoutLife): Promise<void> {
  const { record, settings } = life;
  life.enter('AWAITING_APPROVAL');
  record.approved = undefined;
  record.approvalExpiresAtMs ??= Date.now() + settings.approvalExpiresMs;
  const left = record.approvalExpiresAtMs - Date.now();
  await life.cancellable(() => life.rest(left, 'approval expires', () => isDecided(record)));
  if (record.refused) {
    const note = record.refused.note ? `: ${record.refused.note}` : '';
    throw new NotCreated({ code: 'APPROVAL_REFUSED', message: `refused by ${record.refused.by}${note}` });
  }
  if (!isDecided(record))
    throw new NotCreated({ code: 'APPROVAL_EXPIRED', message: 'nobody approved it in time' });
}

/** The `approve` and `refuse` updates write to the record; an approval is of the quote that stood there then. */
function isDecided(record: PayoutRecord): boolean {
  return record.approved !== undefined || record.refused !== undefined;
}

/** Before anything is created, a request that the service calls wrong ends the payout; it can only be wrong again. */
async function refusalEnds<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const cause = error instanceof ActivityFailure ? error.cause : undefined;
    if (cause instanceof ApplicationFailure && cause.nonRetryable)
      throw new NotCreated({ code: 'REFUSED_BY_PROVIDER', message: cause.message });
    throw error;
  }
}
