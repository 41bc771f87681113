/** Requests for receiving accounts: start, read and resolve. Balance and detail are in `read-operations.ts`. */
import { z } from 'zod';
import type { OpeningRef, ReceivingAccounts } from '../../client/receiving-accounts.ts';
import { identifier } from '../../contract/payout-request.ts';
import {
  accountId,
  receivingAccountResultSchema,
  receivingAccountSchema,
  receivingAccountStateSchema,
} from '../../contract/receiving-account.ts';
import { wholeNumber } from './bodies.ts';
import { requireApplication } from './callers.ts';
import type { Clients } from './clients.ts';
import { rejectedStart, unlessEnded } from './error-mapping.ts';
import { appQuery, empty, noBody, type Operation, operation, startedFields } from './operation.ts';

const started = z.strictObject({ ...startedFields, requestId: z.string() });
const snapshot = z.strictObject({
  state: receivingAccountStateSchema,
  result: receivingAccountResultSchema.exactOptional(),
});
const resolution = z.discriminatedUnion('created', [
  z.strictObject({ created: z.literal(true), accountId: accountId() }),
  z.strictObject({
    created: z.literal(false),
    then: z.enum(['end', 'retry']),
    sends: wholeNumber()
      .optional()
      .describe('sends of the state that was read: the decision does not count after another send'),
    candidates: z
      .array(accountId())
      .optional()
      .describe('candidates of the state that was read: the decision does not count if there are others'),
  }),
]);
const requestParams = z.strictObject({ requestId: identifier() });

export function receivingAccountOperations(clients: Clients): Operation[] {
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
