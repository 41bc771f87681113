/** Spec: Payout order, and Payout creation request. camelCase on the wire. */
import { z } from 'zod';
import type { CreatePayoutRequest, PayoutOrder } from '../../domain/provider-records.ts';
import { jsonNumber } from '../exact-json.ts';
import { currency, money, rate } from './amounts.ts';
import { compact } from './compact.ts';
import { description, orAbsent, text } from './scalars.ts';

const exchange = z.object({
  originCurrency: orAbsent(currency()),
  targetCurrency: orAbsent(currency()),
  exchangeRate: orAbsent(rate),
});

const receiver = z.object({
  outOrderId: orAbsent(text(64)),
  bankAccountNumber: orAbsent(text(255)),
  bankAccountName: orAbsent(text(256)),
  bankName: orAbsent(text(256)),
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

/** `lockRateId` is not in the spec's table, but without it nothing would tie the create to its quote. */
export function createPayoutBody(request: CreatePayoutRequest): unknown {
  const { partnerOrderId, instructedAmount, originCurrency, targetCurrency, ...rest } = request;
  return {
    ...rest,
    outOrderId: partnerOrderId,
    instructedAmount: { currency: instructedAmount.currency, amount: jsonNumber(instructedAmount.amount) },
    exchange: { originCurrency, targetCurrency },
  };
}
