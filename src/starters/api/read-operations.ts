/** What the payments service says, asked by a worker. No money moves. */
import { z } from 'zod';
import { moneyAnswer } from '../../contract/payout-answers.ts';
import { appName, identifier, payoutRequestSchema, text } from '../../contract/payout-request.ts';
import { REASON_CODES } from '../../domain/payout.ts';
import { demandApplication } from './callers.ts';
import type { Engine } from './engine.ts';
import { noBody, nothing, type Operation, operation } from './operation.ts';
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
    .describe('why a payout would not accept this quote'),
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
    .describe("rows of the provider's answer that could not be read, by what they name"),
});

const whose = z.strictObject({
  app: appName.default('default'),
  clientId: identifier(),
  openId: text(128).optional(),
});

export function readOperations({ reads, patiently }: Engine): Operation[] {
  return [
    operation(
      {
        method: 'POST',
        path: '/v1/quotes',
        verb: 'quote',
        summary: 'What a payout would cost now. Creates nothing',
        answer: { status: 200, description: 'The quote', schema: quoted },
        problems: { 502: 'the payments service gave no usable answer' },
      },
      { params: nothing, query: nothing, body: payoutRequestSchema },
      async ({ caller, body }) => {
        demandApplication(caller, body.app);
        return patiently(() => reads.quote(body));
      },
    ),
    operation(
      {
        method: 'GET',
        path: '/v1/accounts',
        verb: 'account',
        summary: 'The accounts of a client',
        answer: { status: 200, description: 'They, with their balances', schema: accounts },
        problems: { 404: 'no such client', 502: 'the payments service gave no usable answer' },
      },
      { params: nothing, query: whose, body: noBody },
      async ({ caller, query: { app, clientId, openId } }) => {
        demandApplication(caller, app);
        const found = await patiently(() => reads.accounts(app, clientId, openId));
        if (!found) throw new Problem(404, 'the payments service knows no accounts of this client');
        return found;
      },
    ),
  ];
}
