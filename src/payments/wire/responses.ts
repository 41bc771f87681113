/** The provider's responses: account information, balances, quotes, orders, tokens and trades, as the spec has them. */
import { z } from 'zod';
import type { Debit } from '../../contract/payout.ts';
import type {
  ApplicationToken,
  ClientAccount,
  ClientAccounts,
  OpaqueRecord,
  PayoutOrder,
  Quote,
  ReceivingAccountBalance,
  TradeDetail,
  TradeResult,
  TradeSplit,
  UnreadableAccount,
  UserTokens,
} from '../../contract/provider-records.ts';
import { isPlainText, plainText } from '../../domain/provider-text.ts';
import { ID_FIELDS } from '../../domain/receiving-account.ts';
import { isJsonObject, numbersToText } from '../exact-json.ts';
import {
  amount,
  balance,
  balanceMoney,
  compact,
  currency,
  description,
  entries,
  flag,
  inCurrency,
  money,
  name,
  orAbsent,
  rate,
  seconds,
  text,
  timestamp,
  token,
} from './scalars.ts';

const account: z.ZodType<ClientAccount> = z
  .object({
    account_type: text(32),
    avail_balance: balance,
    frozen_balance: balance,
    currency: currency(),
    account_status: text(16),
  })
  .transform((wire) =>
    compact({
      accountType: wire.account_type,
      available: inCurrency(wire.currency, wire.avail_balance),
      frozen: inCurrency(wire.currency, wire.frozen_balance),
      currency: wire.currency,
      status: wire.account_status,
    }),
  );

/** Only an explicit null means that there is no account. An absent `data` is invalid. */
export const accountsAnswer: z.ZodType<ClientAccounts | null> = z
  .object({ client_id: text(64), account_info_list: z.array(z.unknown()) })
  .transform(({ client_id: clientId, account_info_list: rows }) => {
    const accounts: ClientAccount[] = [];
    const unread: UnreadableAccount[] = [];
    for (const row of rows) {
      const read = account.safeParse(row);
      if (read.success) accounts.push(read.data);
      else unread.push(readableFields(row));
    }
    return { clientId, accounts, ...(unread.length > 0 && { unread }) };
  })
  .nullable();

/** The account type and the currency of a row that could not be parsed. Nothing else of the row is kept. */
function readableFields(row: unknown): UnreadableAccount {
  if (!isJsonObject(row)) return {};
  const field = (key: string) => fieldText.safeParse(row[key]).data;
  const [code, type] = [field('currency'), field('account_type')];
  return { ...(code !== undefined && { currency: code }), ...(type !== undefined && { accountType: type }) };
}

const fieldText = z
  .string()
  .transform((value): unknown => value.trim())
  .pipe(text(64));

/** A record whose fields the spec does not list. All but its id counts as a description. An empty record is rejected. */
export const opaqueAnswer: z.ZodType<OpaqueRecord> = z
  .record(z.string(), z.unknown())
  .refine((record) => Object.keys(record).length > 0)
  .refine((record) => ID_FIELDS.map((name) => record[name]).every(isPlainIfText))
  .transform((record) => numbersToText(record, plainText))
  .pipe(z.record(z.string(), z.unknown()));

function isPlainIfText(value: unknown): boolean {
  return typeof value !== 'string' || isPlainText(value);
}

/** The answer does not contain the currency, so it is that of the request. */
export function balanceAnswer(code: string): z.ZodType<ReceivingAccountBalance> {
  return z
    .object({ balance, accounts: z.array(text(64)) })
    .transform((wire) => compact({ balance: inCurrency(code, wire.balance), accountIds: wire.accounts }));
}

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

const MAX_TOKEN = 8192;

export const userTokensAnswer: z.ZodType<UserTokens> = z
  .object({
    access_token: token(MAX_TOKEN),
    open_id: text(128),
    expires_in: seconds,
    refresh_token: token(MAX_TOKEN),
    refresh_token_expires_in: seconds,
  })
  .transform((wire) => ({
    accessToken: wire.access_token,
    openId: wire.open_id,
    expiresInSeconds: wire.expires_in,
    refreshToken: wire.refresh_token,
    refreshTokenExpiresInSeconds: wire.refresh_token_expires_in,
  }));

export const applicationTokenAnswer: z.ZodType<ApplicationToken> = z
  .object({ access_token: token(MAX_TOKEN), expires_in: seconds })
  .transform((wire) => ({ accessToken: wire.access_token, expiresInSeconds: wire.expires_in }));

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
