/** The spec's field tables for the data of answers, by operation. */
import type { OperationName } from '../faults/rules.ts';

export type Shape =
  | { is: 'text'; max: number }
  /** An enumeration. Values that the spec does not name have the same maximum length. */
  | { is: 'word'; words: readonly [string, ...string[]]; max: number }
  | { is: 'currency'; max: number }
  | { is: 'flag' }
  /** decimal(18,2), as a number or as text. */
  | { is: 'amount' }
  | { is: 'rate' }
  /** The spec does not name the unit, and shows an empty string. */
  | { is: 'time' }
  | { is: 'seconds' }
  /** The spec shows only null. */
  | { is: 'unspecified' }
  | { is: 'record'; fields: Fields }
  /** The spec types the field `object` but describes entries: a list, or a single entry. */
  | { is: 'entries'; fields: Fields }
  | { is: 'texts' };

export interface Field {
  shape: Shape;
  /** Optional fields may be absent or null; nullable ones may be null. */
  need: 'mandatory' | 'optional' | 'nullable';
}

export type Fields = Readonly<Record<string, Field>>;

const mandatory = (shape: Shape): Field => ({ shape, need: 'mandatory' });
const optional = (shape: Shape): Field => ({ shape, need: 'optional' });
const nullable = (shape: Shape): Field => ({ shape, need: 'nullable' });

const text = (max: number): Shape => ({ is: 'text', max });
const word = (max: number, ...words: [string, ...string[]]): Shape => ({ is: 'word', words, max });
const currency = (max: number): Shape => ({ is: 'currency', max });
const flag: Shape = { is: 'flag' };
const amount: Shape = { is: 'amount' };
const rate: Shape = { is: 'rate' };
const time: Shape = { is: 'time' };
const seconds: Shape = { is: 'seconds' };
const money: Shape = {
  is: 'record',
  fields: { currency: mandatory(currency(3)), amount: mandatory(amount) },
};

const tradeStatus = word(16, 'PROCESSING', 'FAILED', 'SUCCESS', 'PARTIAL_SUCCESS');

const tradeResult: Fields = {
  order_id: mandatory(text(64)),
  client_id: mandatory(text(64)),
  partner_order_id: mandatory(text(64)),
  complete_flag: mandatory(flag),
  receive_target_amount: mandatory(amount),
  failed_target_amount: mandatory(amount),
  target_currency: mandatory(currency(3)),
  create_time: mandatory(time),
  finish_time: optional(time),
  error_msg: optional(text(128)),
  status: mandatory(tradeStatus),
  audit_status: mandatory(word(32, 'PROCESSING', 'APPROVED', 'REJECTED', 'RETURNED', 'DECLINED')),
};

const debit: Fields = {
  account_id: mandatory(text(64)),
  account_type: mandatory(word(32, 'AVAIL_ACCOUNT', 'TEMP_ACCOUNT')),
  pay_currency: mandatory(currency(8)),
  pay_amount: mandatory(amount),
  fee_amount: mandatory(amount),
  pay_actual_amount: mandatory(amount),
};

const split: Fields = {
  distribute_id: mandatory(text(64)),
  target_currency: mandatory(currency(8)),
  target_amount: mandatory(amount),
  status: mandatory(word(16, 'SUCCESS', 'FAILED')),
  finish_time: mandatory(time),
  error_msg: optional(text(255)),
  refund_reason: optional(text(255)),
  refund_flag: mandatory(flag),
};

const tradeDetail: Fields = {
  order_id: mandatory(text(64)),
  client_id: mandatory(text(64)),
  partner_order_id: mandatory(text(64)),
  complete_flag: mandatory(flag),
  receive_target_amount: optional(amount),
  failed_target_amount: optional(amount),
  target_currency: mandatory(currency(8)),
  create_time: mandatory(time),
  finish_time: optional(time),
  status: mandatory(tradeStatus),
  pay_account_detail: optional({ is: 'entries', fields: debit }),
  pay_distribute_detail: optional({ is: 'entries', fields: split }),
};

const payoutOrder: Fields = {
  payMoney: mandatory(money),
  targetMoney: mandatory(money),
  serviceCharge: mandatory({
    is: 'record',
    fields: {
      finalFee: mandatory(money),
      feeRate: nullable(rate),
      cutFeeRate: nullable(rate),
      fee: mandatory(money),
      cutFee: mandatory(money),
      fixFee: mandatory(money),
      lessThanMinPayoutFee: mandatory(money),
      minPayout: mandatory(money),
    },
  }),
  orderId: mandatory(text(64)),
  status: mandatory(word(16, 'pending', 'success', 'fail')),
  failReason: nullable(text(255)),
  remark: mandatory(text(255)),
  receiver: mandatory({
    is: 'record',
    fields: {
      bizId: mandatory(text(64)),
      outOrderId: nullable(text(64)),
      bankAccountNumber: mandatory(text(64)),
      bankAccountName: mandatory(text(128)),
      bankName: mandatory(text(128)),
      firstName: nullable(text(128)),
      lastName: nullable(text(128)),
      userNick: nullable(text(128)),
      transactionId: optional(text(128)),
    },
  }),
  lockRateId: nullable(text(128)),
  exchange: mandatory({
    is: 'record',
    fields: {
      originCurrency: mandatory(currency(3)),
      targetCurrency: mandatory(currency(3)),
      rateId: nullable(text(64)),
      exchangeRate: mandatory(rate),
    },
  }),
  deliveryDate: nullable({ is: 'unspecified' }),
};

const quote: Fields = {
  lock_rate_id: mandatory(text(128)),
  // The spec's text also uses this name.
  lock_fee_id: optional(text(128)),
  avail_money: mandatory(money),
  exchange: mandatory({
    is: 'record',
    fields: {
      exchange_rate: mandatory(rate),
      origin_currency: mandatory(currency(3)),
      target_currency: mandatory(currency(3)),
    },
  }),
  pay_money: mandatory(money),
  target_money: mandatory(money),
  service_charge: mandatory({
    is: 'record',
    fields: {
      final_fee: mandatory(money),
      cut_fee: mandatory(money),
      fee: mandatory(money),
      fix_fee: mandatory(money),
      less_than_min_payout_fee: mandatory(money),
    },
  }),
};

const accounts: Fields = {
  client_id: mandatory(text(64)),
  account_info_list: mandatory({
    is: 'entries',
    fields: {
      account_type: mandatory(word(32, 'AVAIL_ACCOUNT', 'TEMP_ACCOUNT')),
      avail_balance: mandatory(amount),
      frozen_balance: mandatory(amount),
      currency: mandatory(currency(8)),
      account_status: mandatory(word(16, 'NORMAL', 'ABNORMAL', 'CLOSED')),
    },
  }),
};

/** The spec shows no fields; these are the simulator's own. */
const receivingAccount: Fields = {
  id: mandatory(text(64)),
  payer_id: optional(text(64)),
  currency: optional(currency(8)),
  bank_location: optional(text(64)),
  status: optional(word(16, 'ACTIVE')),
};

export const SPEC_RECORDS: Readonly<Record<OperationName, Fields>> = {
  oauthToken: {
    access_token: mandatory(text(255)),
    open_id: mandatory(text(64)),
    expires_in: mandatory(seconds),
    refresh_token: mandatory(text(255)),
    refresh_token_expires_in: mandatory(seconds),
  },
  token: { access_token: mandatory(text(255)), expires_in: mandatory(seconds) },
  httpbin: {},
  receivingAccountCreate: receivingAccount,
  receivingAccountBalance: { balance: mandatory(amount), accounts: mandatory({ is: 'texts' }) },
  receivingAccountDetail: receivingAccount,
  fee: quote,
  createCnyOrder: payoutOrder,
  queryDetail: payoutOrder,
  queryResult: tradeResult,
  queryPayDetail: tradeDetail,
  accountQuery: accounts,
};
