/** Spec: Query payment fee and exchange rate, Create a payout (CNY), and Query a payout order. */

import type { CreatePayoutRequest, PayoutOrder, Quote, QuoteRequest } from '../domain/provider-records.ts';
import { checked } from './checked.ts';
import type { CallOptions } from './options.ts';
import type { RequestSender } from './request.ts';
import { pathSegment } from './target.ts';
import { createPayoutBody, payoutOrderAnswer } from './wire/payout-order.ts';
import { quoteAnswer, quoteBody } from './wire/quote.ts';
import { createPayoutRequest, payoutOrderRequest, quoteRequest } from './wire/requests.ts';

/** Gets a quote and locks its rate. May be repeated: an unused lock has no effect. */
export async function quote(
  sender: RequestSender,
  request: QuoteRequest,
  options?: CallOptions,
): Promise<Quote> {
  const body = quoteBody(checked('quote', quoteRequest, request));
  const target = { path: '/v1/payments/fee' };
  return sender.send({ operation: 'quote', target, body, schema: quoteAnswer }, options);
}

/**
 * Creates the order, with at most one send. Resolves only if the order provably exists. `CreateRefusedError`,
 * `UnavailableError`, `NotSentError` and `InvalidRequestError` mean that it provably does not. Any other failure is an
 * `AmbiguousError`: confirm by `partnerOrderId`, and never repeat the create blindly.
 */
export async function createPayout(
  sender: RequestSender,
  request: CreatePayoutRequest,
  options?: CallOptions,
): Promise<PayoutOrder> {
  const sent = checked('createPayout', createPayoutRequest, request);
  const mismatch = ({ partnerOrderId }: PayoutOrder) =>
    partnerOrderId !== undefined && partnerOrderId !== sent.partnerOrderId
      ? 'receiver.outOrderId'
      : undefined;
  const target = { path: '/v2/b2b/currents/createCnyOrder' };
  const body = createPayoutBody(sent);
  return sender.send(
    { operation: 'createPayout', target, body, schema: payoutOrderAnswer, mismatch },
    options,
  );
}

export async function payoutOrder(
  sender: RequestSender,
  orderId: string,
  options?: CallOptions,
): Promise<PayoutOrder> {
  const request = checked('payoutOrder', payoutOrderRequest, { orderId });
  const target = { path: `/v2/b2b/currents/queryDetail/${pathSegment(request.orderId)}` };
  const mismatch = (order: PayoutOrder) => (order.orderId === request.orderId ? undefined : 'orderId');
  return sender.send({ operation: 'payoutOrder', target, schema: payoutOrderAnswer, mismatch }, options);
}
