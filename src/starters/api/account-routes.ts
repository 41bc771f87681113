/**
 * Quotes, accounts and receiving accounts. A worker reads them from the provider, and no money moves; a request for a
 * receiving account is a workflow, which is started, read and resolved.
 */
import { z } from 'zod';
import { REASON_CODES } from '../../contract/codes.ts';
import { appName, balanceSchema, currency, identifier, moneySchema, text } from '../../contract/fields.ts';
import { payoutRequestSchema } from '../../contract/payout-request.ts';
import {
  accountId,
  payer,
  receivingAccountRequestSchema,
  receivingAccountResultSchema,
  receivingAccountStateSchema,
} from '../../contract/receiving-account.ts';
import { admittedCaller } from '../../http/authentication.ts';
import { openingId, openingResolution } from '../../service/requests.ts';
import type { Service } from '../../service/service.ts';
import { type Api, appQuery, decided, snapshot, started, wait, waitingFor } from './routes.ts';

const quoted = z.strictObject({
  quote: z.strictObject({
    lockRateId: z.string(),
    available: balanceSchema.exactOptional(),
    exchangeRate: z.string(),
    originCurrency: z.string(),
    targetCurrency: z.string(),
    pay: moneySchema,
    target: moneySchema,
    fee: moneySchema,
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
      accountType: z.string(),
      currency: z.string(),
      status: z.string(),
      available: balanceSchema.exactOptional(),
      frozen: balanceSchema.exactOptional(),
    }),
  ),
  unread: z
    .array(z.strictObject({ currency: z.string().exactOptional(), accountType: z.string().exactOptional() }))
    .exactOptional()
    .describe("Rows of the provider's response that could not be read"),
});

const balance = z.strictObject({ balance: balanceSchema.exactOptional(), accountIds: z.array(z.string()) });

const detail = z
  .record(z.string(), z.unknown())
  .describe("The provider's own record; its fields differ by currency, and its numbers are text");

const readQuery = z.strictObject({ app: appName.default('default'), openId: text(128).optional() });
const NO_RESPONSE = { 502: 'the provider gave no usable response' };
const REQUEST = '/v1/receiving-accounts/:requestId';
const params = openingId.pick({ requestId: true });

export function accountRoutes(api: Api, service: Service): void {
  api.post('/v1/quotes', {
    config: { verb: 'quote' },
    schema: {
      summary: 'Quote a payout. Creates nothing',
      body: payoutRequestSchema,
      responses: { 200: { description: 'The quote', schema: quoted } },
      problems: NO_RESPONSE,
    },
    handler: (request) => service.quote(admittedCaller(request), request.body),
  });

  api.get('/v1/accounts', {
    config: { verb: 'account' },
    schema: {
      summary: 'List the accounts of a client',
      querystring: readQuery.extend({ clientId: identifier() }),
      responses: { 200: { description: 'The accounts and their balances', schema: accounts } },
      problems: { 404: 'no such client', ...NO_RESPONSE },
    },
    handler: (request) => service.accounts(admittedCaller(request), request.query),
  });

  api.get('/v1/receiving-accounts/balance/:payerId/:currency', {
    config: { verb: 'account' },
    schema: {
      summary: 'Get the balance that a payer has received in one currency, and the accounts for it',
      params: z.strictObject({ payerId: payer(), currency: currency() }),
      querystring: readQuery,
      responses: { 200: { description: 'The balance', schema: balance } },
      problems: NO_RESPONSE,
    },
    handler: (request) =>
      service.receivingBalance(admittedCaller(request), { ...request.params, ...request.query }),
  });

  api.get('/v1/receiving-accounts/detail/:accountId', {
    config: { verb: 'account' },
    schema: {
      summary: "Get the provider's record of one receiving account",
      params: z.strictObject({ accountId: accountId() }),
      querystring: readQuery,
      responses: { 200: { description: 'The record', schema: detail } },
      problems: { 404: 'the provider has no such account', ...NO_RESPONSE },
    },
    handler: (request) =>
      service.receivingDetail(admittedCaller(request), { ...request.params, ...request.query }),
  });

  api.post('/v1/receiving-accounts', {
    config: { verb: 'open' },
    schema: {
      summary: 'Request a receiving account. Sending the same body again is safe',
      body: receivingAccountRequestSchema,
      responses: {
        202: { description: 'The request is started, or was already', schema: started('requestId') },
      },
      problems: { 409: 'requestId belongs to a request with another body' },
    },
    handler: (request) => service.openReceivingAccount(admittedCaller(request), request.body),
  });

  api.get(REQUEST, {
    config: { verb: 'read', waits: true },
    schema: {
      ...snapshot('request', receivingAccountStateSchema, receivingAccountResultSchema),
      params,
      querystring: appQuery.extend({ wait }),
    },
    handler: (request, reply) => {
      const { wait: forMs, app } = request.query;
      const id = { ...request.params, app };
      return service.receivingAccount(admittedCaller(request), id, waitingFor(forMs, reply));
    },
  });

  api.post(`${REQUEST}/resolve`, {
    config: { verb: 'resolve' },
    schema: {
      ...decided('request', receivingAccountStateSchema),
      summary: 'Decide whether the account of a request in review was opened',
      params,
      querystring: appQuery,
      body: openingResolution,
    },
    handler: (request) => {
      const id = { ...request.params, ...request.query };
      return service.resolveReceivingAccount(admittedCaller(request), id, request.body);
    },
  });
}
