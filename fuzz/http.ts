/** Generated requests, most of them without a socket, and the rules that every answer must follow. */

import { connect } from 'node:net';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { demand } from './edge.ts';

export interface Request {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: Buffer;
}

export interface Answer {
  status: number;
  type: string;
  text: string;
  /** Of a redirect. Only of requests without a socket. */
  location?: string | undefined;
}

/** Methods in the type of `inject`; Fastify decides whether it accepts them. */
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'] as const;

export async function injected(server: FastifyInstance, request: Request): Promise<Answer> {
  const method = METHODS.find((known) => known === request.method) ?? 'GET';
  const { url, headers, body } = request;
  const answer = await server.inject({ method, url, headers, ...(body && { payload: body }) });
  const { 'content-type': type = '', location } = answer.headers;
  return {
    ...{ status: answer.statusCode, type: String(type), text: answer.body },
    location: location === undefined ? undefined : String(location),
  };
}

/** `plain` nine times in ten, else one of `odd`. */
export function seldom<T>(plain: T, odd: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constant(plain) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );
}

/** Sends one request over its own connection, byte for byte, so that Node's own parser handles it. */
export function overSocket(port: number, request: Request): Promise<Answer> {
  const { method, url, headers, body = Buffer.alloc(0) } = request;
  const lines = Object.entries({
    host: 'fuzz',
    connection: 'close',
    'content-length': String(body.length),
    ...headers,
  });
  const head = `${method} ${url} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    // A server that has answered and closed may reset the connection during the write.
    socket.on('error', (error) =>
      chunks.length > 0 ? resolve(parsed(Buffer.concat(chunks))) : reject(error),
    );
    socket.on('end', () => resolve(parsed(Buffer.concat(chunks))));
    // Do not end the socket: a server would treat the caller as gone.
    socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]));
  });
}

function parsed(bytes: Buffer): Answer {
  const [head = '', ...rest] = bytes.toString('utf8').split('\r\n\r\n');
  const [, status = '0'] = /^HTTP\/1\.1 (\d{3})/.exec(head) ?? [];
  const [, type = ''] = /^content-type: (.*)$/im.exec(head) ?? [];
  return { status: Number(status), type: type.trim(), text: rest.join('\r\n\r\n') };
}

const problem = z.strictObject({
  type: z.string().regex(/^\/problems\/[a-z-]+$/),
  title: z.string().min(1),
  status: z.int(),
  detail: z.string().min(1),
  errors: z
    .array(z.strictObject({ path: z.string(), message: z.string().min(1) }))
    .min(1)
    .optional(),
});

export type ProblemDocument = z.output<typeof problem>;

/** The problem document of a rejection. Throws `Violation` if there is none. */
export function refusalOf({ status, type, text }: Answer): ProblemDocument {
  demand(
    type.startsWith('application/problem+json'),
    `answered ${status} as "${type}", which is not a problem document`,
  );
  const read = problem.safeParse(asJson(text));
  demand(read.success, `answered ${status} with an incomplete problem document`);
  demand(read.data.status === status, `answered ${status} with a problem document of another status`);
  return read.data;
}

/** Undefined if the text is not JSON. */
export function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Throws `Violation` if the server failed or leaked a secret. */
export function demandNoFailure(answer: Answer, secrets: readonly string[]): void {
  demand(answer.status > 0, 'gave no answer');
  demand(answer.status < 500, `answered ${answer.status}`);
  for (const secret of secrets) demand(!answer.text.includes(secret), 'the answer contains a secret');
}
