/** Quotes, accounts and receiving accounts: a worker reads them from the provider, and no money moves. */
import { z } from 'zod';
import { REASON_CODES } from '../../contract/codes.ts';
import { appName, balanceSchema, currency, identifier, moneySchema, text } from '../../contract/fields.ts';
import { payoutRequestSchema } from '../../contract/payout-request.ts';
import { accountId, payer } from '../../contract/receiving-account.ts';
import type { Service } from '../../service/service.ts';
import { empty, noBody, type Operation, operation } from './operation.ts';

const quoted = z.strictObject({
  quote: z.strictObject({
    lockRateId: z.string(),
    available: balanceSchema.exactOptional(),
    exchangeRate: z.string(),
    originCurrency: z.string(),
    targetCurrency: z.string(),
    ...{ pay: moneySchema, target: moneySchema, fee: moneySchema },
  }),
  problem: z
    .strictObject({ code: z.enum(REASON_CODES), message: z.string() })
    .exactOptional()
    .describe('Why a payout would not accept this quote'),
});

const accounts = z.strictObject({
  clientId: z.string(),
  accounts: z.array(
    z.strictObject({
      ...{ accountType: z.string(), currency: z.string(), status: z.string() },
      ...{ available: balanceSchema.exactOptional(), frozen: balanceSchema.exactOptional() },
    }),
  ),
  unread: z
    .array(z.strictObject({ currency: z.string().exactOptional(), accountType: z.string().exactOptional() }))
    .exactOptional()
    .describe("Rows of the provider's answer that could not be read"),
});

const balance = z.strictObject({ balance: balanceSchema.exactOptional(), accountIds: z.array(z.string()) });

const detail = z
  .record(z.string(), z.unknown())
  .describe("The provider's own record; its fields differ by currency, and its numbers are text");

const readQuery = z.strictObject({ app: appName.default('default'), openId: text(128).optional() });

const NO_ANSWER = { 502: 'the provider gave no usable answer' };

export function readOperations(service: Service): Operation[] {
  return [
    operation(
      {
        method: 'POST',
        path: '/v1/quotes',
        verb: 'quote',
        summary: 'Quote a payout. Creates nothing',
        response: { status: 200, description: 'The quote', schema: quoted },
        problems: NO_ANSWER,
      },
      { params: empty, query: empty, body: payoutRequestSchema },
      ({ caller, body }) => service.quote(caller, body),
    ),
    operation(
      {
        method: 'GET',
        path: '/v1/accounts',
        verb: 'account',
        summary: 'List the accounts of a client',
        response: { status: 200, description: 'The accounts and their balances', schema: accounts },
        problems: { 404: 'no such client', ...NO_ANSWER },
      },
      { params: empty, query: readQuery.extend({ clientId: identifier() }), body: noBody },
      ({ caller, query }) => service.accounts(caller, query),
    ),
    operation(
      {
        method: 'GET',
        path: '/v1/receiving-accounts/balance/{payerId}/{currency}',
        verb: 'account',
        summary: 'Get the balance that a payer has received in one currency, and the accounts for it',
        response: { status: 200, description: 'The balance', schema: balance },
        problems: NO_ANSWER,
      },
      { params: z.strictObject({ payerId: payer(), currency: currency() }), query: readQuery, body: noBody },
      ({ caller, params, query }) => service.receivingBalance(caller, { ...params, ...query }),
    ),
    operation(
      {
        method: 'GET',
        path: '/v1/receiving-accounts/detail/{accountId}',
        verb: 'account',
        summary: "Get the provider's record of one receiving account",
        response: { status: 200, description: 'The record', schema: detail },
        problems: { 404: 'the provider has no such account', ...NO_ANSWER },
      },
      { params: z.strictObject({ accountId: accountId() }), query: readQuery, body: noBody },
      ({ caller, params, query }) => service.receivingDetail(caller, { ...params, ...query }),
    ),
  ];
}
