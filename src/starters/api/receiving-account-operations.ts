/** Receiving accounts: open one, see what became of it, say what was found out; balance and detail. */
import { z } from 'zod';
import { moneyAnswer } from '../../contract/payout-answers.ts';
import { appName, currency, identifier, text } from '../../contract/payout-request.ts';
import {
  accountId,
  payer,
  receivingAccountResultSchema,
  receivingAccountSchema,
  receivingAccountStateSchema,
} from '../../contract/receiving-account.ts';
import { demandApplication } from './callers.ts';
import type { Engine } from './engine.ts';
import { unlessEnded } from './explained.ts';
import { noBody, nothing, type Operation, ofApp, operation } from './operation.ts';
import { Problem } from './problem.ts';
import { whatBecame } from './what-became.ts';

const started = z.strictObject({
  workflowId: z.string(),
  runId: z.string(),
  app: z.string(),
  requestId: z.string(),
});
const found = z.strictObject({
  state: receivingAccountStateSchema,
  result: receivingAccountResultSchema.exactOptional(),
});
const resolution = z.discriminatedUnion('created', [
  z.strictObject({ created: z.literal(true), accountId: accountId() }),
  z.strictObject({ created: z.literal(false), then: z.enum(['end', 'retry']) }),
]);
const balance = z.strictObject({ balance: moneyAnswer, accountIds: z.array(z.string()) });
const record = z
  .record(z.string(), z.unknown())
  .describe("the payments service's own record, numbers as text; its fields differ per currency");

const ofRequest = z.strictObject({ requestId: identifier() });
const whose = z.strictObject({ app: appName.default('default'), openId: text(128).optional() });
const NO_ANSWER = { 502: 'the payments service gave no usable answer' };

export function receivingAccountOperations(engine: Engine): Operation[] {
  return [open(engine), look(engine), resolve(engine), lookUpBalance(engine), lookUpDetail(engine)];
}

function open({ receivingAccounts, soon }: Engine): Operation {
  return operation(
    {
      method: 'POST',
      path: '/v1/receiving-accounts',
      verb: 'open',
      summary:
        'Ask for a receiving account. The same body again is the same request, and gets the same answer',
      answer: { status: 202, description: 'It is asked for, or was before', schema: started },
      problems: { 409: 'requestId belongs to a request with another body' },
    },
    { params: nothing, query: nothing, body: receivingAccountSchema },
    async ({ caller, body }) => {
      demandApplication(caller, body.app);
      return soon(() => receivingAccounts.open(body, { startedBy: caller.name }));
    },
  );
}

function look({ receivingAccounts, soon }: Engine): Operation {
  return operation(
    {
      method: 'GET',
      path: '/v1/receiving-accounts/{requestId}',
      verb: 'read',
      summary: 'What became of a request for an account',
      answer: { status: 200, description: 'Its state, and with its end the account', schema: found },
      problems: { 404: 'no such request', 409: 'its start was refused as bad input; errors says why' },
    },
    { params: ofRequest, query: ofApp, body: noBody },
    async ({ caller, params, query }) => {
      demandApplication(caller, query.app);
      const ref = { ...params, ...query };
      return soon(() => whatBecame(receivingAccounts.handle(ref), () => receivingAccounts.state(ref)));
    },
  );
}

function resolve({ receivingAccounts, soon, patiently }: Engine): Operation {
  return operation(
    {
      method: 'POST',
      path: '/v1/receiving-accounts/{requestId}/resolve',
      verb: 'resolve',
      summary: 'Tell a request in review whether its account was opened',
      answer: { status: 200, description: 'Taken; where it stands now', schema: receivingAccountStateSchema },
      problems: { 404: 'no such request', 409: 'not accepted now; the detail says why' },
    },
    { params: ofRequest, query: ofApp, body: resolution },
    async ({ caller, params, query, body }) => {
      demandApplication(caller, query.app);
      const ref = { ...params, ...query };
      await soon(() => receivingAccounts.handle(ref).describe());
      const send = () => receivingAccounts.resolve(ref, { ...body, by: caller.name });
      return patiently(() => unlessEnded('request', send));
    },
  );
}

function lookUpBalance({ reads, patiently }: Engine): Operation {
  return operation(
    {
      method: 'GET',
      path: '/v1/receiving-accounts/balance/{payerId}/{currency}',
      verb: 'account',
      summary: 'What a payer has received in one currency, and the accounts for it',
      answer: { status: 200, description: 'The balance', schema: balance },
      problems: NO_ANSWER,
    },
    { params: z.strictObject({ payerId: payer(), currency: currency() }), query: whose, body: noBody },
    async ({ caller, params, query: { app, openId } }) => {
      demandApplication(caller, app);
      return patiently(() => reads.receivingBalance(app, params.payerId, params.currency, openId));
    },
  );
}

function lookUpDetail({ reads, patiently }: Engine): Operation {
  return operation(
    {
      method: 'GET',
      path: '/v1/receiving-accounts/detail/{accountId}',
      verb: 'account',
      summary: 'One receiving account as the payments service writes it',
      answer: { status: 200, description: 'Its record', schema: record },
      problems: { 404: 'the payments service knows no such account', ...NO_ANSWER },
    },
    { params: z.strictObject({ accountId: accountId() }), query: whose, body: noBody },
    async ({ caller, params, query: { app, openId } }) => {
      demandApplication(caller, app);
      const known = await patiently(() => reads.receivingDetail(app, params.accountId, openId));
      if (!known) throw new Problem(404, 'the payments service knows no such account');
      return known;
    },
  );
}
