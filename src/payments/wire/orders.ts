/** Spec: Fee and exchange quote, and Payout order (camelCase on the wire). */
import { z } from 'zod';
import type { PayoutOrder, Quote } from '../../contract/provider-records.ts';
import {
  balanceMoney,
  compact,
  currency,
  description,
  money,
  name,
  orAbsent,
  rate,
  text,
} from './scalars.ts';

const lockId = orAbsent(text(128));

export const quoteAnswer: z.ZodType<Quote> = z
  .object({
    lock_rate_id: lockId,
    lock_fee_id: lockId,
    avail_money: balanceMoney,
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
    return compact({
      lockRateId,
      available: wire.avail_money,
      exchangeRate: wire.exchange.exchange_rate,
      originCurrency: wire.exchange.origin_currency,
      targetCurrency: wire.exchange.target_currency,
      pay: wire.pay_money,
      target: wire.target_money,
      fee: wire.service_charge.final_fee,
    });
  });

const exchange = z.object({
  originCurrency: orAbsent(currency()),
  targetCurrency: orAbsent(currency()),
  // The money is compared too: a rate that cannot be read must not hide the order (H231).
  exchangeRate: rate.optional().catch(undefined),
});

const receiver = z.object({
  outOrderId: orAbsent(text(64)),
  bankAccountNumber: orAbsent(text(255)),
  bankAccountName: orAbsent(name(256)),
  bankName: orAbsent(name(256)),
  transactionId: orAbsent(text(128)),
});

export const payoutOrderAnswer: z.ZodType<PayoutOrder> = z
  .object({
    orderId: text(64),
    status: text(16),
    failReason: description(255),
    payMoney: money,
    targetMoney: money,
    serviceCharge: z.object({ finalFee: money }),
    lockRateId: orAbsent(text(128)),
    exchange: orAbsent(exchange),
    receiver: orAbsent(receiver),
  })
  .transform((wire) =>
    compact({
      orderId: wire.orderId,
      status: wire.status,
      failReason: wire.failReason,
      pay: wire.payMoney,
      target: wire.targetMoney,
      fee: wire.serviceCharge.finalFee,
      lockRateId: wire.lockRateId,
      exchangeRate: wire.exchange?.exchangeRate,
      originCurrency: wire.exchange?.originCurrency,
      targetCurrency: wire.exchange?.targetCurrency,
      partnerOrderId: wire.receiver?.outOrderId,
      bankAccountNumber: wire.receiver?.bankAccountNumber,
      bankAccountName: wire.receiver?.bankAccountName,
      bankName: wire.receiver?.bankName,
      transactionId: wire.receiver?.transactionId,
    }),
  );
