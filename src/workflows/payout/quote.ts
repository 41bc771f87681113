/**
 * Quotes and approves: waits until the payout is due, locks a quote for a usable account that is affordable and within the
 * caller's limits, and waits for a person's approval of it if the request requires one.
 */
import type { QuoteResult } from '../../activities/payout/quote-payout.ts';
import { formatMoney } from '../../contract/money.ts';
import type { AgreedQuote } from '../../contract/payout.ts';
import type { Quote } from '../../contract/provider-records.ts';
import { agreedQuote, quoteProblem, quoteRequestOf, withinApproval } from '../../domain/payout-quote.ts';
import type { PayoutRecord } from '../../domain/payout-record.ts';
import { lockBeganAtMs, lockExpiresAtMs, type QuoteSent } from '../../domain/time.ts';
import { type CallSettings, untilAnswered } from '../shared/calls.ts';
import { NotCreated, type PayoutRun, spread } from './run.ts';
import { noteQuoted } from './show-state.ts';

const REFUSALS_BEFORE_FLAG = 3;
const MAX_REFUSAL_PAUSE_MS = 30 * 60_000;

/** Waits until `notBefore`. The payout can be canceled meanwhile. */
export async function waitUntilDue(run: PayoutRun): Promise<void> {
  const due = run.request.notBefore ? Date.parse(run.request.notBefore) : 0;
  while (due > Date.now()) {
    run.enter('SCHEDULED');
    await run.restForDays(due - Date.now(), 'waits for notBefore');
  }
}

/** The current quote while its lock is valid, else a new one. Throws `NotCreated` if the quote cannot be used. */
export async function lockQuote(run: PayoutRun): Promise<AgreedQuote> {
  const { request, record } = run;
  if (record.quote && lockLeftMs(run) > 0) return record.quote;
  run.enter('QUOTING');
  const { quote, ...sent } = await untilQuoted(run);
  const problem = quoteProblem(request, quote);
  if (problem) throw new NotCreated(problem);
  record.quote = agreedQuote(quote);
  record.quotedAtMs = lockBeganAtMs(sent, Date.now());
  noteQuoted(run);
  return record.quote;
}

/** The remaining lifetime of the lock, by the workflow's clock. */
export function lockLeftMs({ record, settings }: PayoutRun): number {
  return lockExpiresAtMs(record.quotedAtMs, settings.lockLifetimeMs) - Date.now();
}

/** After a refusal that has no known meaning, asks again: a person may correct what it is about at the provider. */
async function untilQuoted(run: PayoutRun): Promise<{ quote: Quote } & QuoteSent> {
  const { record } = run;
  for (;;) {
    run.pollRequested = false;
    const answer =
      run.firstQuote ?? (await run.cancellable(() => run.call((calls) => requestQuote(run, calls))));
    run.firstQuote = undefined;
    // Answers a `poll`.
    record.queries += 1;
    if (answer.kind === 'refused' && answer.meaning === undefined) {
      await pauseAfterRefusal(run, answer.message);
      continue;
    }
    record.quoteRefusals = 0;
    run.unflag('QUOTE_REFUSED');
    if (answer.kind === 'quote') return answer;
    if (answer.kind === 'account-problem') throw new NotCreated(answer.problem);
    const code = answer.meaning === 'insufficient' ? 'INSUFFICIENT_BALANCE' : 'REFUSED_BY_PROVIDER';
    throw new NotCreated({ code, message: answer.message });
  }
}

/** The pause is about as long as the refusals have lasted, so that many refused payouts leave the rate limit to others. */
async function pauseAfterRefusal(run: PayoutRun, message: string): Promise<void> {
  const { record } = run;
  record.quoteRefusals += 1;
  const { quoteRefusals: times } = record;
  // The payout was flagged for its wait already, and the next call may wait as long.
  if (times >= REFUSALS_BEFORE_FLAG || run.wasLate)
    run.flag('QUOTE_REFUSED', `refused ${times === 1 ? 'once' : `${times} times in a row`}: ${message}`);
  const pause = spread(Math.min(MAX_REFUSAL_PAUSE_MS, 1_000 * 2 ** Math.min(times - 1, 30)));
  await run.restForDays(pause, 'pauses after a refused quote', () => run.pollRequested);
}

/** The activity checks the account too, which rarely takes a call. */
function requestQuote({ request, principal, record }: PayoutRun, calls: CallSettings): Promise<QuoteResult> {
  const { clientId, instructedAmount, originCurrency, targetCurrency } = request;
  const summary = `checks the account and quotes ${formatMoney(instructedAmount)}, ${originCurrency} to ${targetCurrency}`;
  // For a worker whose clock is behind, a lock begins when its quote is scheduled. If a new quote waited its turn again, its
  // lock would seem to be over, too.
  const urgency = record.creationRestarts > 0 ? 'ending' : 'beginning';
  return untilAnswered(calls, urgency, summary).quoteForClient(principal, clientId, quoteRequestOf(request));
}

/**
 * Returns the approved quote: `quote`, or a later one that the approval covers if the lock expired meanwhile. Throws
 * `NotCreated` if the payout is refused or not approved in time.
 */
export async function approveIfRequired(run: PayoutRun, quote: AgreedQuote): Promise<AgreedQuote> {
  // Every other value requires it, also one that only a newer version knows.
  if (run.request.approval === 'none') return quote;
  let current = quote;
  while (!isApproved(run, current)) {
    await awaitApproval(run);
    current = await lockQuote(run);
  }
  return current;
}

function isApproved(run: PayoutRun, quote: AgreedQuote): boolean {
  const { approved } = run.record;
  return approved !== undefined && withinApproval(approved.covers, quote);
}

async function awaitApproval(run: PayoutRun): Promise<void> {
  const { record, settings } = run;
  run.enter('AWAITING_APPROVAL');
  record.approved = undefined;
  record.approvalExpiresAtMs ??= Date.now() + settings.approvalExpiresMs;
  const expiresAtMs = record.approvalExpiresAtMs;
  while (expiresAtMs > Date.now() && !isDecided(record))
    await run.restForDays(expiresAtMs - Date.now(), 'approval expires', () => isDecided(record));
  if (record.refused) {
    const note = record.refused.note ? `: ${record.refused.note}` : '';
    throw new NotCreated({ code: 'APPROVAL_REFUSED', message: `refused by ${record.refused.by}${note}` });
  }
  if (!isDecided(record))
    throw new NotCreated({ code: 'APPROVAL_EXPIRED', message: 'it was not approved in time' });
  // If a later quote needs another approval, that one gets the full time again.
  record.approvalExpiresAtMs = undefined;
}

/** The payout was approved or refused, and the next step has not begun. */
export function awaitsNextStep(record: PayoutRecord): boolean {
  return record.phase === 'AWAITING_APPROVAL' && isDecided(record);
}

/** The updates `approve` and `refuse` write to the record. */
function isDecided(record: PayoutRecord): boolean {
  return record.approved !== undefined || record.refused !== undefined;
}
