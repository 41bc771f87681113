/** All operations, and their routes on the server. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { requireVerb } from '../../service/permissions.ts';
import type { Service } from '../../service/service.ts';
import { CallerGoneError } from '../../service/waits.ts';
import { applicationOperations } from './application-operations.ts';
import type { AuditLog } from './audit.ts';
import { batchOperations } from './batch-operations.ts';
import { acceptBatches, acceptJson, requireReadableBody } from './bodies.ts';
import { authenticatedCaller, callerOf } from './callers.ts';
import { listOperations } from './list-operations.ts';
import { authorizationOperations } from './oauth-routes.ts';
import type { Operation } from './operation.ts';
import { payoutOperations } from './payout-operations.ts';
import { readOperations } from './read-operations.ts';
import { receivingAccountOperations } from './receiving-account-operations.ts';
import type { ReloadedCallers } from './reloaded-callers.ts';

export function operationsOf(service: Service): Operation[] {
  return [
    ...listOperations(service),
    ...payoutOperations(service),
    ...batchOperations(service),
    ...readOperations(service),
    ...receivingAccountOperations(service),
    ...authorizationOperations(service),
    ...applicationOperations(service),
  ];
}

export function serveOperations(
  server: FastifyInstance,
  callers: ReloadedCallers,
  audit: AuditLog,
  operations: readonly Operation[],
): void {
  for (const one of operations) server.register(async (scope) => serve(scope, callers, audit, one));
}

function serve(scope: FastifyInstance, callers: ReloadedCallers, audit: AuditLog, one: Operation): void {
  if (one.file) acceptBatches(scope);
  else acceptJson(scope);
  scope.route({
    method: one.method,
    url: one.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    exposeHeadRoute: false,
    // Runs before the body is read, so that unauthorized requests cost no memory.
    onRequest: async (request) => {
      const caller = callerOf(callers, request);
      callers.limits.takeRequest(caller);
      requireVerb(caller, one.verb);
      requireReadableBody(request);
    },
    onSend: audit.recorder({ ...one, hasAppInQuery: 'app' in one.query.shape }),
    handler: async (request, reply) => {
      const caller = authenticatedCaller(request) ?? callerOf(callers, request);
      const { params, query } = request;
      const gone = one.waits ? goneSignal(reply) : NEVER;
      const body = await one.run({ caller, params, query, body: request.body ?? undefined, gone });
      // The key may have been removed during a wait.
      if (one.waits) requireVerb(callerOf(callers, request), one.verb);
      const { status } = one.response;
      return reply.code(status).header('cache-control', 'no-store').send(body);
    },
  });
}

const NEVER = new AbortController().signal;

/** Aborted when the caller disconnects before the response. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => gone.abort(new CallerGoneError('the caller has disconnected')));
  return gone.signal;
}
