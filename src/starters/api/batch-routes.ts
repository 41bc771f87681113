/** Lists, starts, reads and cancels batches. */
import { z } from 'zod';
import { BatchFile } from '../../batch-file/batch-file.ts';
import { batchId, batchStateSchema } from '../../contract/batch.ts';
import { batchPageSchema } from '../../contract/lists.ts';
import { admittedCaller } from '../../http/authentication.ts';
import { batchQuery, batchRef } from '../../service/requests.ts';
import type { Service } from '../../service/service.ts';
import { type Api, acceptBatches, appQuery, noBody, wait, waitingFor } from './routes.ts';

const stateBody = z.strictObject({ state: batchStateSchema });
const BATCH = '/v1/payout-batches/:batchId';
const params = z.strictObject({ batchId });

export function batchRoutes(api: Api, service: Service): void {
  api.get('/v1/payout-batches', {
    config: { verb: 'read' },
    schema: {
      summary: 'List batches',
      querystring: batchQuery,
      responses: { 200: { description: 'A page; it may lag by some seconds', schema: batchPageSchema } },
    },
    handler: (request) => service.listBatches(admittedCaller(request), request.query),
  });

  api.register(async (scope: Api) => {
    acceptBatches(scope);
    scope.post('/v1/payout-batches', {
      config: { verb: 'batch', takesFiles: true },
      schema: {
        summary: 'Start a batch, or continue it by sending the same rows again',
        body: batchRef.extend({
          payouts: z
            .array(z.unknown())
            .min(1)
            .describe('Objects of the schema PayoutRequest; app is optional'),
        }),
        fileQuery: batchRef,
        responses: { 202: { description: 'All rows were added', schema: stateBody } },
        problems: { 409: 'the batch was started with other rows or by another caller' },
      },
      handler: async (request) => {
        const file: unknown = request.body;
        const batch =
          file instanceof BatchFile
            ? { ...batchRef.parse(request.query), payouts: file, lines: file.lines }
            : request.body;
        return { state: await service.startBatch(admittedCaller(request), batch) };
      },
    });
  });

  api.get(BATCH, {
    config: { verb: 'read', waits: true },
    schema: {
      summary: 'Get the progress of a batch',
      params,
      querystring: appQuery.extend({ wait }),
      responses: { 200: { description: 'The state of the batch', schema: stateBody } },
      problems: { 404: 'no such batch' },
    },
    handler: async (request, reply) => {
      const { wait: forMs, app } = request.query;
      const id = { ...request.params, app };
      return { state: await service.batch(admittedCaller(request), id, waitingFor(forMs, reply)) };
    },
  });

  api.post(`${BATCH}/cancel`, {
    config: { verb: 'cancel' },
    schema: {
      summary: 'Stop starting rows of a batch. Payouts that were already started continue',
      params,
      querystring: appQuery,
      body: noBody,
      responses: { 202: { description: 'The batch stops; its state', schema: stateBody } },
      problems: { 404: 'no such batch', 409: 'the batch has finished' },
    },
    handler: async (request) => {
      const id = { ...request.params, ...request.query };
      return { state: await service.cancelBatch(admittedCaller(request), id) };
    },
  });
}
