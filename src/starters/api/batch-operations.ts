/** Starts and reads batches. */
import { z } from 'zod';
import type { NewBatch } from '../../client/checked-batch.ts';
import { batchId, batchStateSchema } from '../../contract/batch.ts';
import { appName, stored } from '../../contract/fields.ts';
import type { Service } from '../../service/service.ts';
import { appQuery, empty, fileForm, noBody, type Operation, operation, wait } from './operation.ts';

export const stateBody = z.object({ state: stored(batchStateSchema) });

const identity = { app: appName.default('default'), batchId };
const batchBody = z
  .strictObject({
    ...identity,
    payouts: z.array(z.unknown()).min(1).describe('Objects of the schema PayoutRequest; app is optional'),
  })
  .transform((batch): NewBatch => batch);
const batchFile = fileForm(z.strictObject(identity), (batch, payouts) => ({
  ...batch,
  payouts,
  lines: payouts.lines,
}));

export function batchOperations(service: Service): Operation[] {
  return [
    operation(
      {
        method: 'POST',
        path: '/v1/payout-batches',
        verb: 'batch',
        summary: 'Start a batch, or continue it by sending the same rows again',
        response: { status: 202, description: 'All rows were added', schema: stateBody },
        problems: { 409: 'the batch was started with other rows or by another caller' },
      },
      { params: empty, query: empty, body: batchBody, file: batchFile },
      async ({ caller, body }) => ({ state: await service.startBatch(caller, body) }),
    ),
    operation(
      {
        method: 'GET',
        path: '/v1/payout-batches/{batchId}',
        ...{ verb: 'read', waits: true },
        summary: 'Get the progress of a batch',
        response: { status: 200, description: 'The state of the batch', schema: stateBody },
        problems: { 404: 'no such batch' },
      },
      { params: z.strictObject({ batchId }), query: appQuery.extend({ wait }), body: noBody },
      async ({ caller, gone, params, query: { app, wait: forMs } }) => ({
        state: await service.batch(caller, { ...params, app }, { forMs, gone }),
      }),
    ),
    operation(
      {
        method: 'POST',
        path: '/v1/payout-batches/{batchId}/cancel',
        verb: 'cancel',
        summary: 'Stop starting rows of a batch. Payouts that were already started continue',
        response: { status: 202, description: 'The batch stops; its state', schema: stateBody },
        problems: { 404: 'no such batch', 409: 'the batch has ended' },
      },
      { params: z.strictObject({ batchId }), query: appQuery, body: noBody },
      async ({ caller, params, query }) => ({
        state: await service.cancelBatch(caller, { ...params, ...query }),
      }),
    ),
  ];
}
