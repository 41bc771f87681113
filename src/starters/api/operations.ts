/** All operations that need a key, and how they stand on the server. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller, Callers } from '../../config/callers.ts';
import { batchOperations } from './batch-operations.ts';
import { readBatches, readBodies } from './bodies.ts';
import { callerOf, demandVerb } from './callers.ts';
import { decisionOperations } from './decision-operations.ts';
import type { Engine } from './engine.ts';
import type { Operation } from './operation.ts';
import { payoutOperations } from './payout-operations.ts';
import { readOperations } from './read-operations.ts';
import { receivingAccountOperations } from './receiving-account-operations.ts';

export function operationsOf(engine: Engine): Operation[] {
  return [
    ...payoutOperations(engine),
    ...decisionOperations(engine),
    ...batchOperations(engine),
    ...readOperations(engine),
    ...receivingAccountOperations(engine),
  ];
}

export function serveOperations(
  server: FastifyInstance,
  callers: Callers,
  operations: readonly Operation[],
): void {
  for (const one of operations)
    server.register(async (scope) => {
      if (one.ndjson) readBatches(scope);
      else readBodies(scope);
      serve(scope, callers, one);
    });
}

function serve(scope: FastifyInstance, callers: Callers, one: Operation): void {
  const admitted = new WeakMap<FastifyRequest, Caller>();
  scope.route({
    method: one.method,
    url: one.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    exposeHeadRoute: false,
    // Before the body is read: who may not call cannot make this process read anything.
    onRequest: async (request) => {
      const caller = callerOf(callers, request.headers.authorization);
      demandVerb(caller, one.verb);
      admitted.set(request, caller);
    },
    handler: async (request, reply) => {
      const caller = admitted.get(request) ?? callerOf(callers, request.headers.authorization);
      const { params, query } = request;
      const answer = await one.run({ caller, params, query, body: request.body ?? undefined });
      if (one.method === 'POST')
        request.log.info({ verb: one.verb, caller: caller.name, params, status: answer.status }, 'operation');
      return reply.code(answer.status).header('cache-control', 'no-store').send(answer.body);
    },
  });
}
