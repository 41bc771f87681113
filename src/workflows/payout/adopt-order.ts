/**
 * Adopts the order that the payout then tracks: from the create call's response, from a query, or from a person. The order is
 * compared with the request first.
 */
import type { Confirmation } from '../../activities/shared/provider-activities.ts';
import { formatMoney } from '../../contract/money.ts';
import type { AgreedQuote } from '../../contract/payout.ts';
import type { PayoutOrder } from '../../contract/provider-records.ts';
import { identityMismatch, orderMismatch, quoteMismatch } from '../../domain/payout-order.ts';
import { withinApproval } from '../../domain/payout-quote.ts';
import { foundOrderIds, isTradeOf, type KnownOrder } from '../../domain/payout-record.ts';
import { polled } from '../shared/calls.ts';
import type { PayoutRun } from './run.ts';

/** Flags terms that differ from the quote (H13). An order of another payout is no response to the create call (H54). */
export function adoptCreated(run: PayoutRun, order: PayoutOrder, quote: AgreedQuote): void {
  const problem = orderMismatch(order, run.request, run.settings.echo);
  if (problem) {
    run.flag(
      'ORDER_DIFFERS_FROM_REQUEST',
      `the response to the create call names an order that differs from the request: ${problem}`,
    );
    run.markOutcomeUnknown('unanswered');
    return;
  }
  flagTerms(run, order, [quoteMismatch(order, quote)]);
  run.unflag('ORDER_DIFFERS_FROM_REQUEST');
  adopt(run, order, quote);
}

/** Returns whether the order is this payout's. Any difference leads to review (H54). */
export async function adoptFound(
  run: PayoutRun,
  { trade, otherBody }: Confirmation & { exists: true },
): Promise<boolean> {
  const known = run.record.order;
  if (known && isTradeOf(known, trade, run.settings.tradeOrderId) && !otherBody) {
    // The payout tracked this order before, so it was already compared.
    adopt(run, known, known.quote);
    return true;
  }
  noteFound(run, trade.orderId);
  const order = await readOrder(run, trade.orderId);
  if (!order) {
    run.flag('ORDER_NOT_COMPARED', `order ${trade.orderId} exists, but could not be read to compare it`);
    run.noteUnknownSend('unanswered');
    return false;
  }
  // A person named the order meanwhile.
  if (run.record.creation.stage === 'created') return true;
  run.unflag('ORDER_NOT_COMPARED');
  const problem = otherBody
    ? 'an earlier start under this partnerOrderId had another body'
    : (orderMismatch(order, run.request, run.settings.echo) ?? differenceFrom(quoteOf(run, order), order));
  if (problem) {
    run.flag('ORDER_DIFFERS_FROM_REQUEST', `order ${order.orderId} was found and differs: ${problem}`);
    run.noteUnknownSend('unanswered');
    const why = `order ${order.orderId} was found under this partnerOrderId and differs: ${problem}`;
    run.enterReview(why);
    return false;
  }
  adoptRead(run, order);
  return true;
}

/**
 * The quote that the order was created with. The payout may have sent several, each with its own lock. Undefined if it is
 * none of those that are known, and not all are.
 */
function quoteOf({ record }: PayoutRun, order: PayoutOrder): AgreedQuote | undefined {
  const { earlierQuotes, sentQuotes } = record;
  const quotes = [...earlierQuotes, ...sentQuotes].filter((quote) => quote !== null);
  return (
    quotes.findLast(({ lockRateId }) => lockRateId === order.lockRateId) ??
    quotes.findLast((quote) => !differenceFrom(quote, order)) ??
    sentQuotes.at(-1) ??
    (earlierQuotes.includes(null) ? undefined : quotes.at(-1))
  );
}

/** The spec allows the order's lock to be null, which proves nothing. */
function differenceFrom(quote: AgreedQuote | undefined, order: PayoutOrder): string | undefined {
  return quote && quoteMismatch({ ...order, lockRateId: order.lockRateId ?? quote.lockRateId }, quote);
}

/** The terms of an order of an earlier run whose quote can't be read. */
function termsOf({ lockRateId, exchangeRate, pay, target, fee }: PayoutOrder): AgreedQuote | undefined {
  return lockRateId && exchangeRate ? { lockRateId, exchangeRate, pay, target, fee } : undefined;
}

/** The provider has named an order that the payout does not track. A later response does not disprove it. */
export function noteFound({ record }: PayoutRun, orderId: string): void {
  if (!foundOrderIds(record).includes(orderId)) record.foundOrders.push({ orderId, differs: false });
}

/** Undefined if there was no usable response, or one about another order. */
async function readOrder(run: PayoutRun, orderId: string): Promise<PayoutOrder | undefined> {
  const order = await run
    .call((calls) =>
      polled(calls, 'create', 'queries the order to compare it').fetchOrder(run.principal, orderId),
    )
    .catch(() => undefined);
  if (order?.orderId !== orderId) return undefined;
  for (const found of run.record.foundOrders)
    if (found.orderId === orderId)
      found.differs = orderMismatch(order, run.request, run.settings.echo) !== undefined;
  return order;
}

/** The order, if the order query knows it as this payout's (H54). */
export async function readOwnOrder(run: PayoutRun, orderId: string): Promise<PayoutOrder | undefined> {
  const order = await readOrder(run, orderId);
  return order && orderMismatch(order, run.request, run.settings.echo) === undefined ? order : undefined;
}

/**
 * Adopts the order that a person named, and the trade that they say is its. If its ids or amounts differ, returns why it is
 * not accepted.
 */
export async function adoptNamed(
  run: PayoutRun,
  { orderId, tradeOrderId }: Pick<KnownOrder, 'orderId' | 'tradeOrderId'>,
): Promise<string | undefined> {
  const order = await readOrder(run, orderId);
  if (!order) return `order ${orderId} could not be read from the provider`;
  const problem = identityMismatch(order, run.request, run.settings.echo);
  if (problem) return `order ${orderId} is not this payout's: ${problem}`;
  if (run.record.creation.stage !== 'review') return 'the payout is no longer in review';
  adoptRead(run, { ...order, tradeOrderId });
  return undefined;
}

function adoptRead(run: PayoutRun, order: PayoutOrder & Pick<KnownOrder, 'tradeOrderId'>): void {
  if (!orderMismatch(order, run.request, run.settings.echo)) run.unflag('ORDER_DIFFERS_FROM_REQUEST');
  adopt(run, order, comparedQuote(run, order));
}

/**
 * Flags terms that differ from the quote (H13), and terms of an earlier run's order that the approval of this run doesn't
 * cover (H264).
 */
export function comparedQuote(run: PayoutRun, order: PayoutOrder): AgreedQuote | undefined {
  const { approved, sentQuotes } = run.record;
  const quote = quoteOf(run, order);
  const isOwn = quote !== undefined && sentQuotes.includes(quote);
  const isCovered = isOwn || !approved || withinApproval(approved.covers, order);
  flagTerms(run, order, [
    differenceFrom(quote, order),
    isCovered ? undefined : `the approval of ${approved.by} doesn't cover what an earlier run sent`,
  ]);
  return quote ?? termsOf(order);
}

function flagTerms(run: PayoutRun, { orderId, pay, fee }: PayoutOrder, found: (string | undefined)[]): void {
  const problems = found.filter((problem) => problem !== undefined);
  if (problems.length === 0) run.unflag('ORDER_DIFFERS_FROM_QUOTE');
  else
    run.flag(
      'ORDER_DIFFERS_FROM_QUOTE',
      `order ${orderId} (pay ${formatMoney(pay)}, fee ${formatMoney(fee)}) differs: ${problems.join('; ')}`,
    );
}

function adopt(
  run: PayoutRun,
  { orderId, tradeOrderId, status, target }: Omit<KnownOrder, 'quote'>,
  quote: AgreedQuote | undefined,
): void {
  const { record } = run;
  if (record.order && record.order.orderId !== orderId) {
    run.flag(
      'SEVERAL_ORDERS',
      `the payout tracked order ${record.order.orderId} and now tracks ${orderId}: there may be two orders`,
    );
    record.orderReplaced = true;
    noteFound(run, record.order.orderId);
  }
  record.order = { orderId, tradeOrderId, status, target, quote };
  record.quote = quote;
  record.creation = { stage: 'created' };
  run.enter('PROCESSING');
  record.unknownSend = undefined;
  record.foundOrders = record.foundOrders.filter(
    (found) => found.orderId !== orderId && found.orderId !== tradeOrderId,
  );
  record.createdAtMs = Date.now();
  record.lastConfirmedAtMs = record.lastAskedAtMs;
  // Discards what applied to an order that was tracked before.
  record.missingSinceMs = undefined;
  record.trade = undefined;
  record.queriesBeforeOrder = record.queries;
  record.unanswered = 0;
  record.disagreements = 0;
  record.reportedDebits = undefined;
  record.hintedQueries = 0;
  // A decision that came too late for this review must not apply to a later one.
  run.resolution = undefined;
  run.dropCancel();
  run.unflag('NEEDS_REVIEW', 'CREATION_STARTS_OVER', 'PROVIDER_NOT_ANSWERING');
  run.unflag('ORDER_NOT_COMPARED', 'ORDER_NOT_FOUND');
}
