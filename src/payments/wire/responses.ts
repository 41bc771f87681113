/** The provider's responses, by operation. Each field of ours has its schema and the place in the provider's record. */
import { z } from 'zod';
import { compact } from '../../contract/compact.ts';
import type { Money } from '../../contract/money.ts';
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
import { numbersToText } from '../exact-json.ts';
import {
  amount,
  at,
  balance,
  balanceMoney,
  currency,
  description,
  entries,
  flag,
  inCurrency,
  money,
  name,
  orAbsent,
  rate,
  record,
  seconds,
  text,
  timestamp,
  token,
} from './scalars.ts';

const MAX_TOKEN = 8192;

export const userTokensResponse: z.ZodType<UserTokens> = record({
  accessToken: at('access_token', token(MAX_TOKEN)),
  openId: at('open_id', text(128)),
  expiresInSeconds: at('expires_in', seconds),
  refreshToken: at('refresh_token', token(MAX_TOKEN)),
  refreshTokenExpiresInSeconds: at('refresh_token_expires_in', seconds),
});

export const applicationTokenResponse: z.ZodType<ApplicationToken> = record({
  accessToken: at('access_token', token(MAX_TOKEN)),
  expiresInSeconds: at('expires_in', seconds),
});

const account: z.ZodType<ClientAccount> = record({
  accountType: at('account_type', text(32)),
  available: balanceAt('avail_balance'),
  frozen: balanceAt('frozen_balance'),
  currency: at('currency', currency()),
  status: at('account_status', text(16)),
});

/** A balance whose currency is beside it. */
function balanceAt(field: string): z.ZodType<Money | undefined> {
  return record({ code: at('currency', currency()), value: at(field, balance) }).transform(
    ({ code, value }) => inCurrency(code, value),
  );
}

/** Only an explicit null means that there is no account. An absent `data` is invalid. */
export const accountsResponse: z.ZodType<ClientAccounts | null> = record({
  clientId: at('client_id', text(64)),
  rows: at('account_info_list', z.array(z.unknown())),
})
  .transform(({ clientId, rows }) => {
    const read = rows.map((row) => ({ row, ...account.safeParse(row) }));
    const unread = read.flatMap(({ row, success }) => (success ? [] : [readableFields(row)]));
    return {
      clientId,
      accounts: read.flatMap(({ data }) => data ?? []),
      ...(unread.length > 0 && { unread }),
    };
  })
  .nullable();

/** The account type and the currency of a row that could not be parsed. Nothing else of the row is kept. */
function readableFields(row: unknown): UnreadableAccount {
  const readable = record({
    currency: at('currency', fieldText),
    accountType: at('account_type', fieldText),
  });
  return readable.safeParse(row).data ?? {};
}

const fieldText = z
  .string()
  .transform((value): unknown => value.trim())
  .pipe(text(64))
  .optional()
  .catch(undefined);

/** A record whose fields the spec does not list. All but its id counts as a description. An empty record is rejected. */
export const opaqueResponse: z.ZodType<OpaqueRecord> = z
  .record(z.string(), z.unknown())
  .refine((fields) => Object.keys(fields).length > 0)
  .refine((fields) => ID_FIELDS.map((id) => fields[id]).every(isPlainIfText))
  .transform((fields) => numbersToText(fields, plainText))
  .pipe(z.record(z.string(), z.unknown()));

function isPlainIfText(value: unknown): boolean {
  return typeof value !== 'string' || isPlainText(value);
}

/** The response does not contain the currency, so it is that of the request. */
export function receivingBalanceResponse(code: string): z.ZodType<ReceivingAccountBalance> {
  return record({
    balance: at(
      'balance',
      balance.transform((value) => inCurrency(code, value)),
    ),
    accountIds: at('accounts', z.array(text(64))),
  });
}

const lockId = orAbsent(text(128));

export const quoteResponse: z.ZodType<Quote> = record({
  lockRateId: at('lock_rate_id', lockId),
  lockFeeId: at('lock_fee_id', lockId),
  available: at('avail_money', balanceMoney),
  exchangeRate: at('exchange.exchange_rate', rate),
  originCurrency: at('exchange.origin_currency', currency()),
  targetCurrency: at('exchange.target_currency', currency()),
  pay: at('pay_money', money),
  target: at('target_money', money),
  fee: at('service_charge.final_fee', money),
}).transform(({ lockFeeId, ...wire }, context) => {
  const { lockRateId = lockFeeId } = wire;
  if (lockRateId !== undefined && (lockFeeId ?? lockRateId) === lockRateId) return { ...wire, lockRateId };
  context.addIssue({ code: 'custom', path: ['lock_rate_id'], message: 'expected one lock id' });
  return z.NEVER;
});

export const payoutOrderResponse: z.ZodType<PayoutOrder> = record({
  orderId: at('orderId', text(64)),
  status: at('status', text(16)),
  failReason: at('failReason', description(255)),
  pay: at('payMoney', money),
  target: at('targetMoney', money),
  fee: at('serviceCharge.finalFee', money),
  lockRateId: at('lockRateId', lockId),
  // The money is compared too: a rate that cannot be read must not hide the order (H231).
  exchangeRate: at('exchange.exchangeRate', rate.optional().catch(undefined)),
  originCurrency: at('exchange.originCurrency', orAbsent(currency())),
  targetCurrency: at('exchange.targetCurrency', orAbsent(currency())),
  partnerOrderId: at('receiver.outOrderId', orAbsent(text(64))),
  bankAccountNumber: at('receiver.bankAccountNumber', orAbsent(text(255))),
  bankAccountName: at('receiver.bankAccountName', orAbsent(name(256))),
  bankName: at('receiver.bankName', orAbsent(name(256))),
  transactionId: at('receiver.transactionId', orAbsent(text(128))),
});

const tradeFields = {
  orderId: at('order_id', text(64)),
  clientId: at('client_id', text(64)),
  partnerOrderId: at('partner_order_id', text(64)),
  complete: at('complete_flag', flag),
  status: at('status', text(16)),
  createdAt: at('create_time', timestamp),
  finishedAt: at('finish_time', timestamp),
};

export const tradeResultResponse: z.ZodType<TradeResult> = record({
  ...tradeFields,
  targetCurrency: at('target_currency', currency(3)),
  received: moneyAt('target_currency', 'receive_target_amount'),
  failed: moneyAt('target_currency', 'failed_target_amount'),
  auditStatus: at('audit_status', orAbsent(text(32))),
  errorMessage: at('error_msg', description(128)),
});

const debit: z.ZodType<Debit> = record({
  accountId: at('account_id', text(64)),
  accountType: at('account_type', text(32)),
  pay: moneyAt('pay_currency', 'pay_amount'),
  fee: moneyAt('pay_currency', 'fee_amount'),
  actual: moneyAt('pay_currency', 'pay_actual_amount'),
});

const split: z.ZodType<TradeSplit> = record({
  distributeId: at('distribute_id', text(64)),
  target: moneyAt('target_currency', 'target_amount'),
  status: at('status', text(16)),
  finishedAt: at('finish_time', timestamp),
  error: at('error_msg', description(255)),
  refundFlag: at('refund_flag', flag),
  refundReason: at('refund_reason', description(255)),
}).transform(({ refundFlag, ...wire }) => ({
  ...wire,
  // The flag of a payment that failed says that the payer has its money back. None was paid, so none was returned.
  refunded: refundFlag && wire.status === 'SUCCESS',
}));

export const tradeDetailResponse: z.ZodType<TradeDetail> = record({
  ...tradeFields,
  targetCurrency: at('target_currency', currency()),
  receivedAmount: at('receive_target_amount', orAbsent(amount)),
  failedAmount: at('failed_target_amount', orAbsent(amount)),
  debits: at('pay_account_detail', entries(debit)),
  splits: at('pay_distribute_detail', entries(split)),
}).transform(({ receivedAmount, failedAmount, ...wire }) =>
  compact({
    ...wire,
    received: inCurrency(wire.targetCurrency, receivedAmount),
    failed: inCurrency(wire.targetCurrency, failedAmount),
  }),
);

/** An amount whose currency is beside it. */
function moneyAt(currencyField: string, amountField: string): z.ZodType<Money> {
  return record({ currency: at(currencyField, currency()), amount: at(amountField, amount) });
}
