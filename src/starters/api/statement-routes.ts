/** Statements of finished payouts, and the results of batches, as files that are sent while they are read. */
import type { FastifyRequest } from 'fastify';
import { admittedCaller, callerOf, type ReloadedCallers } from '../../http/authentication.ts';
import { goneSignal } from '../../http/connections.ts';
import { sendStatement } from '../../http/statements.ts';
import { requireVerb } from '../../service/permissions.ts';
import { batchRef, resultsQuery, statementQuery } from '../../service/requests.ts';
import type { Service } from '../../service/service.ts';
import { type Api, statementResponse } from './routes.ts';

export function statementRoutes(api: Api, service: Service, callers: ReloadedCallers): void {
  const mayRead = (request: FastifyRequest) => () => requireVerb(callerOf(callers, request), 'read');

  api.get('/v1/statements', {
    config: { verb: 'read' },
    schema: {
      summary: 'Get a statement of the payouts that finished in a period, the last to finish first',
      querystring: statementQuery,
      responses: { 200: statementResponse },
    },
    handler: async (request, reply) => {
      const { query } = request;
      const statement = await service.statements.period(admittedCaller(request), query, goneSignal(reply));
      const name = `statement-${query.from}-${query.to}`;
      return sendStatement(reply, statement, {
        ...query,
        name,
        requireAllowed: mayRead(request),
      });
    },
  });

  api.get('/v1/payout-batches/:batchId/results', {
    config: { verb: 'read' },
    schema: {
      summary: 'Get the result of each row of a batch, in their order',
      params: batchRef.pick({ batchId: true }),
      querystring: resultsQuery,
      responses: { 200: statementResponse },
      problems: { 404: 'no such batch' },
    },
    handler: async (request, reply) => {
      const { format, details, app } = request.query;
      const { batchId } = request.params;
      const id = { app, batchId };
      const statement = await service.statements.batch(admittedCaller(request), id, goneSignal(reply));
      const name = `batch-${batchId}`;
      return sendStatement(reply, statement, {
        ...{ format, details, name },
        requireAllowed: mayRead(request),
      });
    },
  });
}
