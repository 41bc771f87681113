/** A call that came by Fastify, as `serve` takes it. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isJsonObject } from '../json.ts';
import type { Answer } from './envelope.ts';
import type { AnswerSink, HalfSent, Incoming } from './exchange.ts';

export function incomingFrom(request: FastifyRequest, arrivedAtMs: number): Incoming {
  return {
    params: textFields(request.params),
    query: textFields(request.query),
    headers: request.headers,
    rawBody: typeof request.body === 'string' ? request.body : '',
    arrivedAtMs,
  };
}

/** A field that was given more than once counts as not given. */
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

  send({ status, contentType, text, headers }: Answer): void {
    if (headers) this.#reply.headers(headers);
    this.#reply.code(status).header('content-type', contentType).send(text);
  }

  drop(): void {
    this.#reply.hijack();
    this.#request.raw.socket.destroy();
  }

  async sendHalf({ status, contentType, text }: Answer): Promise<HalfSent> {
    const { raw } = this.#reply;
    const body = Buffer.from(text);
    const half = Math.floor(body.length / 2);
    this.#reply.hijack();
    raw.writeHead(status, { 'content-type': contentType, 'content-length': body.length });
    // What was written must be on its way before the socket goes, or there would be no half to see.
    await new Promise<void>((resolve) => raw.write(body.subarray(0, half), () => resolve()));
    return { sendRest: () => raw.end(body.subarray(half)), breakOff: () => raw.destroy() };
  }
}
