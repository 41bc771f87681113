/** Locks a quote: for a usable account, within the caller's limits, affordable. */
import { lockBeganAtMs, lockExpiresAtMs, type QuoteSent } from '../../domain/deadlines.ts';
import { formatMoney } from '../../domain/money.ts';
import type { AgreedQuote } from '../../domain/payout.ts';
import type { Quote } from '../../domain/provider-records.ts';
import { agreedQuote, quoteProblem } from '../../domain/quote-check.ts';
import { refusalIn } from '../shared/call-failures.ts';
import { untilAnswered } from '../shared/calls.ts';
import { noteQuoted } from './observe.ts';
import { NotCreated, type PayoutRun } from './run.ts';

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
  const { quote } = run.record;
  return quote && lockLeftMs(run) > 0 ? quote : requestUsableQuote(run);
}

/** The remaining lifetime of the lock, by the workflow's clock. */
export function lockLeftMs({ record, settings }: PayoutRun): number {
  return lockExpiresAtMs(record.quotedAtMs, settings.lockLifetimeMs) - Date.now();
}

async function requestUsableQuote(run: PayoutRun): Promise<AgreedQuote> {
  run.enter('QUOTING');
  const { request, record } = run;
  const { quote, ...sent } = await run.cancellable(() => run.call(() => requestQuote(run)));
  const problem = quoteProblem(request, quote);
  if (problem) throw new NotCreated(problem);
  record.quote = agreedQuote(quote);
  record.quotedAtMs = lockBeganAtMs(sent, Date.now());
  noteQuoted(run);
  return record.quote;
}

/** The activity checks the account too, which rarely takes a call. */
async function requestQuote({
  request,
  caller,
  calls,
  record,
}: PayoutRun): Promise<{ quote: Quote } & QuoteSent> {
  const { clientId, instructedAmount, originCurrency, targetCurrency, payerId, type } = request;
  const summary = `checks the account and quotes ${formatMoney(instructedAmount)}, ${originCurrency} to ${targetCurrency}`;
  const wanted = { payerId, type, instructedAmount, originCurrency, targetCurrency };
  try {
    // For a worker whose clock is behind, a lock begins when its quote is scheduled. If a new quote waited its turn again, its
    // lock would seem to be over, too.
    const urgency = record.creationRestarts > 0 ? 'ending' : 'beginning';
    const { quoteForClient } = untilAnswered(calls, urgency, summary);
    const answer = await quoteForClient(caller, clientId, wanted);
    if (answer.kind === 'quote') return answer;
    throw new NotCreated(answer.problem);
  } catch (error) {
    // The provider rejected the request itself, so a retry cannot help.
    const refusal = refusalIn(error);
    throw refusal ? new NotCreated({ code: 'REFUSED_BY_PROVIDER', message: refusal }) : error;
  }
}
