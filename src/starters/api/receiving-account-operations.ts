/** Receiving accounts: open one, read and resolve the request, and read the balance and detail. */
import { z } from 'zod';
import type { OpeningRef, ReceivingAccounts } from '../../client/receiving-accounts.ts';
import { moneyAnswer } from '../../contract/payout-answers.ts';
import { appName, currency, identifier, text } from '../../contract/payout-request.ts';
import {
  accountId,
  payer,
  receivingAccountResultSchema,
  receivingAccountSchema,
  receivingAccountStateSchema,
} from '../../contract/receiving-account.ts';
import { requireApplication } from './callers.ts';
import type { Clients } from './clients.ts';
import { rejectedStart, unlessEnded } from './error-mapping.ts';
import { appQuery, empty, noBody, type Operation, operation } from './operation.ts';
import { Problem } from './problem.ts';
import { NO_ANSWER } from './read-operations.ts';

const started = z.strictObject({
  workflowId: z.string(),
  runId: z.string(),
  app: z.string(),
  requestId: z.string(),
});
const snapshot = z.strictObject({
  state: receivingAccountStateSchema,
  result: receivingAccountResultSchema.exactOptional(),
});
const resolution = z.discriminatedUnion('created', [
  z.strictObject({ created: z.literal(true), accountId: accountId() }),
  z.strictObject({ created: z.literal(false), then: z.enum(['end', 'retry']) }),
]);
const balance = z.strictObject({ balance: moneyAnswer, accountIds: z.array(z.string()) });
const detail = z
  .record(z.string(), z.unknown())
  .describe("The provider's own record; its fields differ by currency, and its numbers are text");

const requestParams = z.strictObject({ requestId: identifier() });
const readQuery = z.strictObject({ app: appName.default('default'), openId: text(128).optional() });

export function receivingAccountOperations(clients: Clients): Operation[] {
  return [...requestOperations(clients), ...accountOperations(clients)];
}

function requestOperations(clients: Clients): Operation[] {
  const { receivingAccounts, withTemporalDeadline, withProviderDeadline } = clients;
  return [
    operation(
      {
        method: 'POST',
        path: '/v1/receiving-accounts',
        verb: 'open',
        summary: 'Request a receiving account. Sending the same body again is safe',
        response: { status: 202, description: 'The request is started, or was already', schema: started },
        problems: { 409: 'requestId belongs to a request with another body' },
      },
      { params: empty, query: empty, body: receivingAccountSchema },
      async ({ caller, body }) => {
        requireApplication(caller, body.app);
        return withTemporalDeadline(() => receivingAccounts.open(body, { startedBy: caller.name }));
      },
    ),
    operation(
      {
        method: 'GET',
        path: '/v1/receiving-accounts/{requestId}',
        verb: 'read',
        summary: 'Get the state of a request and, after its end, its result',
        response: { status: 200, description: 'The state and, after the end, the result', schema: snapshot },
        problems: {
          404: 'no such request',
          409: 'the start was rejected as bad input; errors has the fields',
        },
      },
      { params: requestParams, query: appQuery, body: noBody },
      async ({ caller, params, query }) => {
        requireApplication(caller, query.app);
        return withTemporalDeadline(() => snapshotOf(receivingAccounts, { ...params, ...query }));
      },
    ),
    operation(
      {
        method: 'POST',
        path: '/v1/receiving-accounts/{requestId}/resolve',
        verb: 'resolve',
        summary: 'Decide whether the account of a request in review was opened',
        response: {
          status: 200,
          description: 'Accepted; the new state',
          schema: receivingAccountStateSchema,
        },
        problems: { 404: 'no such request', 409: 'not accepted now; detail says why' },
      },
      { params: requestParams, query: appQuery, body: resolution },
      async ({ caller, params, query, body }) => {
        requireApplication(caller, query.app);
        const ref = { ...params, ...query };
        await withTemporalDeadline(() => receivingAccounts.handle(ref).describe());
        const send = () => receivingAccounts.resolve(ref, { ...body, by: caller.name });
        return withProviderDeadline(() => unlessEnded('request', send));
      },
    ),
  ];
}

async function snapshotOf(requests: ReceivingAccounts, ref: OpeningRef) {
  const workflow = requests.handle(ref);
  const { status } = await workflow.describe();
  if (status.name === 'FAILED') await workflow.result().catch(rejectedStart);
  const state = await requests.state(ref);
  // A running workflow in phase DONE is about to complete.
  const ended = status.name === 'COMPLETED' || (status.name === 'RUNNING' && state.phase === 'DONE');
  return ended ? { state, result: await workflow.result() } : { state };
}

function accountOperations({ reads, withProviderDeadline }: Clients): Operation[] {
  return [
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
      async ({ caller, params, query: { app, openId } }) => {
        requireApplication(caller, app);
        return withProviderDeadline(() =>
          reads.receivingBalance(app, params.payerId, params.currency, openId),
        );
      },
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
      async ({ caller, params, query: { app, openId } }) => {
        requireApplication(caller, app);
        const known = await withProviderDeadline(() => reads.receivingDetail(app, params.accountId, openId));
        if (!known) throw new Problem(404, 'the provider has no such account');
        return known;
      },
    ),
  ];
}
