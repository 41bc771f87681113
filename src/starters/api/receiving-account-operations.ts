/** Requests for receiving accounts: start, read and resolve. Balance and detail are in `read-operations.ts`. */
import { z } from 'zod';
import type { ReceivingAccountRef } from '../../client/receiving-accounts.ts';
import type { Caller } from '../../config/callers.ts';
import { ownId } from '../../contract/fields.ts';
import {
  accountId,
  type CheckedReceivingAccountRequest,
  receivingAccountRequestSchema,
  receivingAccountResultSchema,
  receivingAccountStateSchema,
} from '../../contract/receiving-account.ts';
import { isScoped, starterName } from '../../domain/permissions.ts';
import { requireScope } from './callers.ts';
import type { Clients } from './clients.ts';
import { empty, type Operation, operation, startedFields } from './operation.ts';
import { decisionOperation, seenSends, snapshotOperation } from './request-operations.ts';

const started = z.strictObject({ ...startedFields, requestId: z.string() });
const resolution = z.discriminatedUnion('created', [
  z.strictObject({ created: z.literal(true), accountId: accountId() }),
  z.strictObject({
    created: z.literal(false),
    then: z.enum(['end', 'retry']),
    sends: seenSends,
    candidates: z
      .array(accountId())
      .optional()
      .describe('candidates of the state that was read: the decision does not count if there are others'),
  }),
]);
const REQUEST = {
  ...{ name: 'request', path: '/v1/receiving-accounts/{requestId}' },
  params: z.strictObject({ requestId: ownId() }),
  ...{ state: receivingAccountStateSchema, result: receivingAccountResultSchema },
};

export function receivingAccountOperations(clients: Clients): Operation[] {
  const { receivingAccounts, withTemporalDeadline } = clients;
  const authorize = async (ref: ReceivingAccountRef, caller: Caller): Promise<void> => {
    if (isScoped(caller)) requireOpeningScope(caller, await receivingAccounts.startedRequest(ref));
    else await receivingAccounts.handle(ref).describe();
  };
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
      { params: empty, query: empty, body: receivingAccountRequestSchema },
      ({ caller, body }) => {
        requireOpeningScope(caller, body);
        return withTemporalDeadline(() => receivingAccounts.open(body, { startedBy: starterName(caller) }));
      },
    ),
    snapshotOperation(clients, REQUEST, {
      look: (ref) => receivingAccounts.look(ref),
      untilEnd: (ref, options) => receivingAccounts.untilEnd(ref, options),
      authorize: async (ref, caller) => isScoped(caller) && authorize(ref, caller),
    }),
    decisionOperation(clients, REQUEST, {
      verb: 'resolve',
      summary: 'Decide whether the account of a request in review was opened',
      body: resolution,
      authorize,
      send: (ref, by, decision) => receivingAccounts.resolve(ref, { ...decision, by }),
    }),
  ];
}

/** A receiving account belongs to a payer, not to a client. */
export function requireOpeningScope(
  caller: Caller,
  { payerId, openId }: CheckedReceivingAccountRequest,
): void {
  requireScope(caller, { payerId, openId });
}
