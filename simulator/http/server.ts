/** The HTTP server: the operations of the spec, the authorization page, the control API. */
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Control } from '../control/control.ts';
import { addControlRoutes } from '../control/routes.ts';
import { operations } from '../endpoints/index.ts';
import type { World } from '../world.ts';
import { addAuthorizationPage } from './authorization-page.ts';
import { noSuchEndpoint } from './envelope.ts';
import { incomingFrom, ReplySink } from './fastify-call.ts';
import { serve } from './serve.ts';

const BODY_LIMIT_BYTES = 1_048_576;

export function buildServer(world: World, control: Control): FastifyInstance {
  // Held requests must not keep the process alive, so closing the server cuts open connections.
  const server = Fastify({ bodyLimit: BODY_LIMIT_BYTES, forceCloseConnections: true, logger: false });
  const arrivals = new WeakMap<FastifyRequest, number>();
  // Bodies stay raw text: signatures cover the bytes, and JSON.parse would round amounts.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  server.addHook('onRequest', async (request) => {
    arrivals.set(request, world.clock.nowMs());
  });
  for (const operation of operations)
    server.route({
      method: operation.method,
      url: operation.path,
      handler: async (request, reply) => {
        const arrivedAtMs = arrivals.get(request) ?? world.clock.nowMs();
        await serve(world, operation, incomingFrom(request, arrivedAtMs), new ReplySink(request, reply));
        return reply;
      },
    });
  addAuthorizationPage(server, world);
  addControlRoutes(server, control);
  server.setNotFoundHandler(async (request, reply) => {
    new ReplySink(request, reply).send(noSuchEndpoint());
    return reply;
  });
  return server;
}
