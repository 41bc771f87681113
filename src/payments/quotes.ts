/** Spec: Query payment fee and exchange rate. */

import type { Quote, QuoteRequest } from '../domain/provider-records.ts';
import { checked } from './checked.ts';
import type { CallOptions } from './options.ts';
import type { RequestSender } from './request.ts';
import { quoteAnswer, quoteBody } from './wire/quote.ts';
import { quoteRequest } from './wire/requests.ts';

/** Locks a rate. May be asked again: a lock nobody uses costs nothing. */
export async function quote(
  sender: RequestSender,
  request: QuoteRequest,
  options?: CallOptions,
): Promise<Quote> {
  const body = quoteBody(checked('quote', quoteRequest, request));
  const target = { path: '/v1/payments/fee' };
  return sender.send({ operation: 'quote', target, body, schema: quoteAnswer }, options);
}
