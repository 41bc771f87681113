/** Spec: Fee and exchange quote. */
import { z } from 'zod';
import type { Quote, QuoteRequest } from '../../domain/provider-records.ts';
import { jsonNumber } from '../exact-json.ts';
import { currency, money, rate } from './amounts.ts';
import { orAbsent, text } from './scalars.ts';

const lockId = orAbsent(text(128));

export const quoteAnswer: z.ZodType<Quote> = z
  .object({
    lock_rate_id: lockId,
    lock_fee_id: lockId,
    avail_money: money,
    exchange: z.object({ exchange_rate: rate, origin_currency: currency(), target_currency: currency() }),
    pay_money: money,
    target_money: money,
    service_charge: z.object({ final_fee: money }),
  })
  .transform((wire, context) => {
    const lockRateId = wire.lock_rate_id ?? wire.lock_fee_id;
    const disagree = wire.lock_fee_id !== undefined && wire.lock_fee_id !== lockRateId;
    if (lockRateId === undefined || disagree) {
      context.addIssue({ code: 'custom', path: ['lock_rate_id'], message: 'expected one lock id' });
      return z.NEVER;
    }
    return {
      lockRateId,
      available: wire.avail_money,
      exchangeRate: wire.exchange.exchange_rate,
      originCurrency: wire.exchange.origin_currency,
      targetCurrency: wire.exchange.target_currency,
      pay: wire.pay_money,
      target: wire.target_money,
      fee: wire.service_charge.final_fee,
    };
  });

export function quoteBody(request: QuoteRequest): unknown {
  const { currency: code, amount } = request.instructedAmount;
  return {
    instructed_amount: { currency: code, amount: jsonNumber(amount) },
    exchange: { origin_currency: request.originCurrency, target_currency: request.targetCurrency },
    payer_id: request.payerId,
    type: request.type,
  };
}
