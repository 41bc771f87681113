/** All operations, and their routes on the server. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller, Callers } from '../../config/callers.ts';
import { batchOperations } from './batch-operations.ts';
import { acceptBatches, acceptJson, requireReadableBody } from './bodies.ts';
import { callerOf, requireVerb } from './callers.ts';
import type { Clients } from './clients.ts';
import type { Operation } from './operation.ts';
import { payoutOperations } from './payout-operations.ts';
import { readOperations } from './read-operations.ts';
import { receivingAccountOperations } from './receiving-account-operations.ts';

export function operationsOf(clients: Clients): Operation[] {
  return [
    ...payoutOperations(clients),
    ...batchOperations(clients),
    ...readOperations(clients),
    ...receivingAccountOperations(clients),
  ];
}

export function serveOperations(
  server: FastifyInstance,
  callers: Callers,
  operations: readonly Operation[],
): void {
  for (const one of operations) server.register(async (scope) => serve(scope, callers, one));
}

function serve(scope: FastifyInstance, callers: Callers, one: Operation): void {
  if (one.ndjson) acceptBatches(scope);
  else acceptJson(scope);
  const authenticated = new WeakMap<FastifyRequest, Caller>();
  scope.route({
    method: one.method,
    url: one.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    exposeHeadRoute: false,
    // Runs before the body is read, so that unauthorized requests cost no memory.
    onRequest: async (request) => {
      const caller = callerOf(callers, request);
      requireVerb(caller, one.verb);
      requireReadableBody(request);
      authenticated.set(request, caller);
    },
    handler: async (request, reply) => {
      const caller = authenticated.get(request) ?? callerOf(callers, request);
      const { params, query } = request;
      const body = await one.run({ caller, params, query, body: request.body ?? undefined });
      const { status } = one.response;
      if (one.method === 'POST')
        request.log.info({ verb: one.verb, caller: caller.name, params, status }, 'operation');
      return reply.code(status).header('cache-control', 'no-store').send(body);
    },
  });
}
