/** Lists, starts, reads and cancels batches. */
import { z } from 'zod';
import { BatchFile } from '../../batch-file/batch-file.ts';
import { batchId, batchStateSchema } from '../../contract/batch.ts';
import { batchPageSchema } from '../../contract/lists.ts';
import { admittedCaller } from '../../http/authentication.ts';
import { acceptFiles } from '../../http/bodies.ts';
import { goneSignal } from '../../http/connections.ts';
import { batchQuery, batchRef, valid } from '../../service/requests.ts';
import type { Service } from '../../service/service.ts';
import { type Api, acceptJson, appQuery, noBody, parseJson, wait, waitingFor } from './routes.ts';

/** Of JSON. Lower than for files, because the document is parsed as a whole. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const stateBody = z.strictObject({ state: batchStateSchema });
const batchBody = batchRef.extend({
  payouts: z.array(z.unknown()).min(1).describe('Objects of the schema PayoutRequest; app is optional'),
});
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
    acceptJson(scope, async (bytes) => () => parseJson(bytes));
    acceptFiles(scope);
    scope.post('/v1/payout-batches', {
      config: { verb: 'batch', takesFiles: true },
      bodyLimit: MAX_BATCH_BYTES,
      schema: {
        summary: 'Start a batch, or continue it by sending the same rows again',
        body: batchBody,
        fileQuery: batchRef,
        responses: { 202: { description: 'All rows were added', schema: stateBody } },
        problems: { 409: 'the batch was started with other rows or by another caller' },
      },
      handler: async (request, reply) => {
        const body: unknown = request.body;
        // When it's its turn, because JSON takes much more memory once it's parsed.
        const read = () => {
          if (body instanceof BatchFile)
            return { ...batchRef.parse(request.query), payouts: body, lines: body.lines };
          // The audit trail names its batch.
          request.body = valid(batchBody, typeof body === 'function' ? body() : body);
          return request.body;
        };
        return { state: await service.startBatch(admittedCaller(request), read, goneSignal(reply)) };
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
