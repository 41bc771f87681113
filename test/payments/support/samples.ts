/** One call of each operation, with the answer of the specification's sample. Written by hand from the spec. */

import type { AgreedQuote } from '../../../src/contract/payout.ts';
import type { CreatePayoutRequest } from '../../../src/contract/provider-records.ts';
import type { PaymentsClient } from '../../../src/payments/client.ts';
import type { ApiOperation } from '../../../src/payments/operations.ts';
import type { CallOptions } from '../../../src/payments/options.ts';

export const CREATE: CreatePayoutRequest = {
  partnerOrderId: 'P-1',
  lockRateId: 'L-1',
  type: 'WITHDRAW',
  instructedAmount: { currency: 'CNY', amount: '700.00' },
  originCurrency: 'USD',
  targetCurrency: 'CNY',
  remittancePurposeCode: 'GOODS',
  receiver: {
    bankCountry: 'CN',
    bankName: 'Some Bank',
    bankAccountCurrency: 'CNY',
    bankAccountNumber: '6222000011112222',
    bankAccountName: 'Zhang San',
    idCardNumber: '110101199003071234',
    cardHoldType: 'Personal',
  },
};

/** The quote of `CREATE`. */
export const AGREED: AgreedQuote = {
  lockRateId: 'L-1',
  exchangeRate: '7.0',
  pay: { currency: 'USD', amount: '101.50' },
  target: { currency: 'CNY', amount: '700.00' },
  fee: { currency: 'USD', amount: '1.50' },
};

export const QUOTE = {
  payerId: 'payer-1',
  type: 'WITHDRAW',
  instructedAmount: { currency: 'CNY', amount: '700' },
  originCurrency: 'USD',
  targetCurrency: 'CNY',
};

export const KEY = { clientId: 'C-1', partnerOrderId: 'P-1' };

const ORDER = `{"payMoney":{"currency":"USD","amount":101.5},"targetMoney":{"currency":"CNY","amount":700.00},
 "serviceCharge":{"finalFee":{"currency":"USD","amount":1.5},"feeRate":null,"cutFeeRate":null},
 "orderId":"O-1","status":"pending","failReason":null,"remark":"",
 "receiver":{"bizId":"B-1","outOrderId":"P-1","bankAccountNumber":"6222","bankAccountName":"Zhang San","lastName":null},
 "lockRateId":"L-1","exchange":{"originCurrency":"USD","targetCurrency":"CNY","rateId":null,"exchangeRate":"7.0"},
 "deliveryDate":null}`;

const TRADE = `"order_id":"O-1","client_id":"C-1","partner_order_id":"P-1","complete_flag":true,
 "target_currency":"CNY","create_time":1700000000,"finish_time":1700000100000,"status":"SUCCESS"`;

/** The record inside the envelope of a success, or the bare record. */
export const DATA: Record<ApiOperation, string> = {
  ping: '{"args":{},"url":"/v2/httpbin/get"}',
  exchangeCode: tokens(),
  refreshUserToken: tokens(),
  applicationToken: '{"access_token":"app-token","expires_in":7200}',
  openReceivingAccount: '{"id":"R-1","bank":{"number":123456789012345678901234567890}}',
  receivingAccountBalance: '{"balance":"12.30","accounts":["A-1","A-2"]}',
  receivingAccountDetail: '{"id":"A-1","code":"BANK-7","swift":"ABC"}',
  quote: `{"lock_rate_id":"L-1","avail_money":{"currency":"USD","amount":5000},
   "exchange":{"exchange_rate":7.0,"origin_currency":"USD","target_currency":"CNY"},
   "pay_money":{"currency":"USD","amount":101.5},"target_money":{"currency":"CNY","amount":700},
   "service_charge":{"final_fee":{"currency":"USD","amount":1.5},"fee":{"currency":"USD","amount":1.5}}}`,
  createPayout: ORDER,
  payoutOrder: ORDER,
  tradeResult: `{${TRADE},"receive_target_amount":700.00,"failed_target_amount":0,"audit_status":"APPROVED"}`,
  tradeDetail: `{${TRADE},"pay_account_detail":[],"pay_distribute_detail":[]}`,
  accounts: `{"client_id":"C-1","account_info_list":[{"account_type":"AVAIL_ACCOUNT","avail_balance":10.5,
   "frozen_balance":0,"currency":"USD","account_status":"NORMAL"}]}`,
};

const STYLE_B: readonly ApiOperation[] = ['tradeResult', 'tradeDetail', 'accounts'];
const BARE: readonly ApiOperation[] = [
  'ping',
  'openReceivingAccount',
  'receivingAccountBalance',
  'receivingAccountDetail',
  'quote',
];

/** The success code of an operation's envelope, or undefined where the spec shows a bare record. */
export function successCode(operation: ApiOperation): string | undefined {
  if (BARE.includes(operation)) return undefined;
  return STYLE_B.includes(operation) ? '200' : '0';
}

export function successBody(operation: ApiOperation, data = DATA[operation]): string {
  const code = successCode(operation);
  return code === undefined ? data : `{"code":${code},"message":"OK","data":${data}}`;
}

export function callOf(
  client: PaymentsClient,
  operation: ApiOperation,
  call?: CallOptions,
): Promise<unknown> {
  return CALLS[operation](client, call);
}

const CALLS: Record<ApiOperation, (client: PaymentsClient, call?: CallOptions) => Promise<unknown>> = {
  ping: (client, call) => client.ping(call),
  exchangeCode: (client, call) => client.exchangeCode('auth-code', call),
  refreshUserToken: (client, call) => client.refreshUserToken('refresh', call),
  applicationToken: (client, call) => client.applicationToken(call),
  openReceivingAccount: (client, call) =>
    client.openReceivingAccount({ payerId: 'p', currency: 'USD' }, call),
  receivingAccountBalance: (client, call) => client.receivingAccountBalance('payer-1', 'USD', call),
  receivingAccountDetail: (client, call) => client.receivingAccountDetail('A-1', call),
  quote: (client, call) => client.quote(QUOTE, call),
  createPayout: (client, call) => client.createPayout(CREATE, call),
  payoutOrder: (client, call) => client.payoutOrder('O-1', call),
  tradeResult: (client, call) => client.tradeResult(KEY, call),
  tradeDetail: (client, call) => client.tradeDetail(KEY, call),
  accounts: (client, call) => client.accounts({ clientId: 'C-1' }, call),
};

function tokens(): string {
  return `{"access_token":"user-token","open_id":"U-1","expires_in":2592000,
   "refresh_token":"refresh-2","refresh_token_expires_in":"15552000"}`;
}
