/** Adapts Fastify's requests and replies to `serve`. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isJsonObject } from '../json.ts';
import type { Answer } from './envelope.ts';
import type { AnswerSink, HalfSent, Incoming } from './exchange.ts';

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

/** A repeated field counts as absent. */
export function textFields(fields: unknown): Record<string, string> {
  if (!isJsonObject(fields)) return {};
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
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
