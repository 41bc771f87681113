/** `POST /v1/payments/fee`: a quote with a rate lock. */

import { LosslessNumber } from 'lossless-json';
import { z } from 'zod';
import { illegalParam } from '../http/envelope.ts';
import type { Operation } from '../http/operation.ts';
import { amount, currency, readBody, text } from '../http/validation.ts';
import type { JsonObject } from '../json.ts';
import { type Money, moneyOnWire } from '../money.ts';
import { type Lock, priceAt, rateOf } from '../state/quotes.ts';

const feeBody = z.object({
  instructed_amount: z.object({ currency, amount }),
  exchange: z.object({ origin_currency: currency, target_currency: currency }),
  payer_id: text,
  type: text,
});

export const fee: Operation = {
  name: 'fee',
  method: 'POST',
  path: '/v1/payments/fee',
  style: 'V1',
  auth: 'gateway',
  handle: (received) => {
    const body = readBody(received.rawBody, feeBody);
    const { settings, locks, accounts } = received.world;
    const { origin_currency: originCurrency, target_currency: targetCurrency } = body.exchange;
    const instructed: Money = {
      currency: body.instructed_amount.currency,
      minor: body.instructed_amount.amount,
    };
    const request = { instructed, originCurrency, targetCurrency };
    const rate = rateOf(originCurrency, targetCurrency, settings);
    if (!rate) throw illegalParam('exchange');
    const price = priceAt(rate, request, settings);
    if (!price) throw illegalParam('instructed_amount.currency');
    const lock = locks.lock(body.payer_id, request, price, settings.lockLifetimeMs);
    return { data: quoteView(lock, accounts.available(body.payer_id, originCurrency, settings)) };
  },
};

function quoteView(lock: Lock, available: Money): JsonObject {
  const { price, request } = lock;
  const nothing = moneyOnWire({ currency: price.fee.currency, minor: 0n });
  return {
    lock_rate_id: lock.lockRateId,
    avail_money: moneyOnWire(available),
    exchange: {
      exchange_rate: new LosslessNumber(price.rate.text),
      origin_currency: request.originCurrency,
      target_currency: request.targetCurrency,
    },
    pay_money: moneyOnWire(price.pay),
    target_money: moneyOnWire(price.target),
    service_charge: {
      final_fee: moneyOnWire(price.fee),
      cut_fee: nothing,
      fee: moneyOnWire(price.fee),
      fix_fee: nothing,
      less_than_min_payout_fee: nothing,
    },
  };
}
