/** Spec: Payout trade result, and Payout trade detail. */
import { z } from 'zod';
import type { Debit } from '../../contract/payout.ts';
import type { TradeDetail, TradeResult, TradeSplit } from '../../contract/provider-records.ts';
import {
  amount,
  compact,
  currency,
  description,
  entries,
  flag,
  inCurrency,
  orAbsent,
  text,
  timestamp,
} from './scalars.ts';

const sharedFields = {
  order_id: text(64),
  client_id: text(64),
  partner_order_id: text(64),
  complete_flag: flag,
  status: text(16),
  create_time: timestamp,
  finish_time: timestamp,
};

export const tradeResultAnswer: z.ZodType<TradeResult> = z
  .object({
    ...sharedFields,
    target_currency: currency(3),
    receive_target_amount: amount,
    failed_target_amount: amount,
    audit_status: orAbsent(text(32)),
    error_msg: description(128),
  })
  .transform((wire) =>
    compact({
      ...shared(wire),
      received: { currency: wire.target_currency, amount: wire.receive_target_amount },
      failed: { currency: wire.target_currency, amount: wire.failed_target_amount },
      auditStatus: wire.audit_status,
      errorMessage: wire.error_msg,
    }),
  );

const debit: z.ZodType<Debit> = z
  .object({
    account_id: text(64),
    account_type: text(32),
    pay_currency: currency(),
    pay_amount: amount,
    fee_amount: amount,
    pay_actual_amount: amount,
  })
  .transform((wire) => ({
    accountId: wire.account_id,
    accountType: wire.account_type,
    pay: { currency: wire.pay_currency, amount: wire.pay_amount },
    fee: { currency: wire.pay_currency, amount: wire.fee_amount },
    actual: { currency: wire.pay_currency, amount: wire.pay_actual_amount },
  }));

const split: z.ZodType<TradeSplit> = z
  .object({
    distribute_id: text(64),
    target_currency: currency(),
    target_amount: amount,
    status: text(16),
    finish_time: timestamp,
    error_msg: description(255),
    refund_reason: description(255),
    refund_flag: flag,
  })
  .transform((wire) =>
    compact({
      distributeId: wire.distribute_id,
      target: { currency: wire.target_currency, amount: wire.target_amount },
      status: wire.status,
      finishedAt: wire.finish_time,
      error: wire.error_msg,
      // The flag of a payment that failed says that the payer has its money back. None was paid, so none was returned.
      refunded: wire.refund_flag && wire.status === 'SUCCESS',
      refundReason: wire.refund_reason,
    }),
  );

export const tradeDetailAnswer: z.ZodType<TradeDetail> = z
  .object({
    ...sharedFields,
    target_currency: currency(),
    receive_target_amount: orAbsent(amount),
    failed_target_amount: orAbsent(amount),
    pay_account_detail: entries(debit),
    pay_distribute_detail: entries(split),
  })
  .transform((wire) =>
    compact({
      ...shared(wire),
      received: inCurrency(wire.target_currency, wire.receive_target_amount),
      failed: inCurrency(wire.target_currency, wire.failed_target_amount),
      debits: wire.pay_account_detail,
      splits: wire.pay_distribute_detail,
    }),
  );

type SharedFields = z.infer<z.ZodObject<typeof sharedFields>>;

function shared(wire: SharedFields & { target_currency: string }) {
  return {
    orderId: wire.order_id,
    clientId: wire.client_id,
    partnerOrderId: wire.partner_order_id,
    complete: wire.complete_flag,
    targetCurrency: wire.target_currency,
    status: wire.status,
    createdAt: wire.create_time,
    finishedAt: wire.finish_time,
  };
}
