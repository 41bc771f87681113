/** The HTTP server: the operations of the spec, the authorization page, the control API. */
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Control } from '../control/control.ts';
import { addControlRoutes } from '../control/routes.ts';
import { operations } from '../endpoints/index.ts';
import { textFields } from '../json.ts';
import type { World } from '../world.ts';
import { addAuthorizationPage } from './authorization-page.ts';
import { type Answer, noSuchEndpoint } from './envelope.ts';
import type { AnswerSink, HalfSent, Incoming } from './exchange.ts';
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

const usedConnections = new WeakSet<object>();

export function incomingFrom(request: FastifyRequest, arrivedAtMs: number): Incoming {
  const { socket } = request.raw;
  const isOnUsedConnection = usedConnections.has(socket);
  usedConnections.add(socket);
  return {
    isOnUsedConnection,
    params: textFields(request.params),
    query: textFields(request.query),
    headers: request.headers,
    rawBody: typeof request.body === 'string' ? request.body : '',
    arrivedAtMs,
  };
}

export class ReplySink implements AnswerSink {
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.#request = request;
    this.#reply = reply;
  }

  send({ status, contentType, text, body, headers }: Answer): void {
    if (headers) this.#reply.headers(headers);
    this.#reply
      .code(status)
      .header('content-type', contentType)
      .send(body ?? text);
  }

  drop(): void {
    this.#reply.hijack();
    this.#request.raw.socket.destroy();
  }

  async sendHalf({ status, contentType, text, body = Buffer.from(text) }: Answer): Promise<HalfSent> {
    const { raw } = this.#reply;
    const half = Math.floor(body.length / 2);
    this.#reply.hijack();
    raw.writeHead(status, { 'content-type': contentType, 'content-length': body.length });
    // Wait until the half is written: destroying the socket would discard it.
    await new Promise<void>((resolve) => raw.write(body.subarray(0, half), () => resolve()));
    return { sendRest: () => raw.end(body.subarray(half)), cut: () => raw.destroy() };
  }
}
