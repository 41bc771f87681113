/** Spec: Create a payout (CNY), and Query a payout order. */

import type { CreatePayoutRequest, PayoutOrder } from '../domain/provider-records.ts';
import { checked } from './checked.ts';
import type { CallOptions } from './options.ts';
import type { RequestSender } from './request.ts';
import { pathPart } from './target.ts';
import { createPayoutBody, payoutOrderAnswer } from './wire/payout-order.ts';
import { createPayoutRequest, payoutOrderRequest } from './wire/requests.ts';

/**
 * Moves money, and sends at most once. Resolves only when the order surely exists; `CreateRefusedError`,
 * `UnavailableError`, `NotSentError` and `InvalidRequestError` mean that it surely does not; anything
 * else is `AmbiguousError`: ask by the partner's number, never repeat blindly.
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
  const target = { path: `/v2/b2b/currents/queryDetail/${pathPart(request.orderId)}` };
  const mismatch = (order: PayoutOrder) => (order.orderId === request.orderId ? undefined : 'orderId');
  return sender.send({ operation: 'payoutOrder', target, schema: payoutOrderAnswer, mismatch }, options);
}
