/** Requests for receiving accounts: start, read and resolve. Balance and detail are in `read-operations.ts`. */
import { z } from 'zod';
import { ownId } from '../../contract/fields.ts';
import {
  accountId,
  receivingAccountRequestSchema,
  receivingAccountResultSchema,
  receivingAccountStateSchema,
} from '../../contract/receiving-account.ts';
import type { Service } from '../../service/service.ts';
import { empty, type Operation, operation, startedFields } from './operation.ts';
import { decisionOperation, seenSends, snapshotOperation } from './request-operations.ts';

const started = z.strictObject({ ...startedFields, requestId: z.string() });
export const resolution = z.discriminatedUnion('created', [
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

export function receivingAccountOperations(service: Service): Operation[] {
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
      ({ caller, body }) => service.openReceivingAccount(caller, body),
    ),
    snapshotOperation(REQUEST, (caller, id, waiting) => service.receivingAccount(caller, id, waiting)),
    decisionOperation(REQUEST, {
      verb: 'resolve',
      summary: 'Decide whether the account of a request in review was opened',
      body: resolution,
      decide: (caller, id, body) => service.resolveReceivingAccount(caller, id, body),
    }),
  ];
}
