/** Quotes and accounts: a worker reads them from the provider, and no money moves. */
import { z } from 'zod';
import { moneyAnswer } from '../../contract/payout-answers.ts';
import { appName, identifier, payoutRequestSchema, text } from '../../contract/payout-request.ts';
import { REASON_CODES } from '../../domain/payout.ts';
import { requireApplication } from './callers.ts';
import type { Clients } from './clients.ts';
import { empty, noBody, type Operation, operation } from './operation.ts';
import { Problem } from './problem.ts';

const quoted = z.strictObject({
  quote: z.strictObject({
    lockRateId: z.string(),
    available: moneyAnswer,
    exchangeRate: z.string(),
    originCurrency: z.string(),
    targetCurrency: z.string(),
    ...{ pay: moneyAnswer, target: moneyAnswer, fee: moneyAnswer },
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
      ...{ available: moneyAnswer, frozen: moneyAnswer },
    }),
  ),
  unread: z
    .array(z.strictObject({ currency: z.string().exactOptional(), accountType: z.string().exactOptional() }))
    .exactOptional()
    .describe("Rows of the provider's answer that could not be read"),
});

const accountsQuery = z.strictObject({
  app: appName.default('default'),
  clientId: identifier(),
  openId: text(128).optional(),
});

/** The response of every read that gets no usable answer from the provider. */
export const NO_ANSWER = { 502: 'the provider gave no usable answer' };

export function readOperations({ reads, withProviderDeadline }: Clients): Operation[] {
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
      async ({ caller, body }) => {
        requireApplication(caller, body.app);
        return withProviderDeadline(() => reads.quote(body));
      },
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
      { params: empty, query: accountsQuery, body: noBody },
      async ({ caller, query: { app, clientId, openId } }) => {
        requireApplication(caller, app);
        const found = await withProviderDeadline(() => reads.accounts(app, clientId, openId));
        if (!found) throw new Problem(404, 'the provider has no accounts of this client');
        return found;
      },
    ),
  ];
}
