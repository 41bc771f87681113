/** `GET /metrics`: for keys with the verb `metrics`, for the same address is open to the payments service. */
import type { FastifyInstance } from 'fastify';
import type { Callers } from '../../config/callers.ts';
import { callerOf, demandVerb } from './callers.ts';
import type { ServiceMetrics } from './metrics.ts';

export function metricsRoute(server: FastifyInstance, callers: Callers, metrics: ServiceMetrics): void {
  server.get('/metrics', {
    exposeHeadRoute: false,
    onRequest: async ({ headers }) => demandVerb(callerOf(callers, headers.authorization), 'metrics'),
    handler: async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  });
}
