/** Maps errors to problem documents (RFC 9457), which never quote the request. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { BatchFileError } from '../batch-file/rows.ts';
import { appName } from '../contract/fields.ts';
import { PROBLEMS, type ProblemDocument, type ProblemKind, problemType } from '../contract/problems.ts';
import { isJsonObject } from '../payments/exact-json.ts';
import { Problem, problemOf } from '../service/problem.ts';
import { CallerGoneError } from '../service/waits.ts';
import { causesOf, FloodGate } from './log.ts';

const REQUEST_ID = 'x-request-id';

/** An error of Node's HTTP parser. */
type ConnectionError = Error & { code: string };
const CONNECTION_PROBLEMS: Readonly<Record<string, ProblemKind>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
  HPE_HEADER_OVERFLOW: 'headers-too-large',
};

/** Covers errors that Fastify raised or that nothing expects, too. */
export function problemFor(error: unknown): Problem {
  if (error instanceof BatchFileError) return new Problem('malformed-request', error.message);
  return problemOf(error) ?? rejection(error);
}

/** The problem of an error. Logs it if the server caused it. */
export type ToProblem = (error: unknown, request: FastifyRequest) => Problem;

/** Returns the mapping that the server uses, for routes that respond in another form. */
export function handleErrors(server: FastifyInstance): ToProblem {
  server.setNotFoundHandler((_request, reply) =>
    send(reply, new Problem('route-not-found', 'no such route: /docs lists all of them')),
  );
  const failures = new FloodGate((counted) => server.log.error(counted, 'more requests failed'));
  server.addHook('onClose', async () => failures.close());
  const toProblem: ToProblem = (error, request) => {
    const problem = problemFor(error);
    if (problem.status >= 500) {
      const causes = causesOf(error);
      const route = `${request.method} ${routeOf(request)}`;
      if (failures.admits(`${route} ${problem.status} ${causes[0]?.name}`))
        request.log.error({ route, status: problem.status, causes }, 'request failed');
    }
    return problem;
  };
  server.setErrorHandler((error, request, reply) =>
    error instanceof CallerGoneError ? reply.hijack() : send(reply, toProblem(error, request)),
  );
  return toProblem;
}

/** Responds to bytes that are not a request, and to requests that do not arrive in time, for which there is no route. */
export function rejectConnection(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const kind = CONNECTION_PROBLEMS[error.code] ?? 'malformed-request';
  const { status, title } = PROBLEMS[kind];
  const document: ProblemDocument = { type: problemType(kind), title, status, detail: title };
  const body = JSON.stringify(document);
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    `${REQUEST_ID}: ${requestIdOf({ headers: {} })}`,
    'connection: close',
  ];
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroy(error);
}

/** Handles a URL that cannot be decoded, too: it matches no route, and Fastify's own response would quote it. */
export function rejectRequest(error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return send(reply, rejection(error));
}

/** The problem of an error that Fastify raised, or that nothing expects. */
function rejection(error: unknown): Problem {
  const status = statusOf(error);
  if (status >= 500) return new Problem('unexpected-error', 'unexpected error');
  const kind = REJECTED[status] ?? 'malformed-request';
  const { title, action } = PROBLEMS[kind];
  return new Problem(kind, status === 415 ? `${title}. ${action}` : title);
}

/** By the status of an error that Fastify raised. All others below 500 are malformed requests. */
const REJECTED: Readonly<Record<number, ProblemKind>> = {
  408: 'request-timeout',
  413: 'content-too-large',
  414: 'uri-too-long',
  415: 'unsupported-media-type',
};

/** The id of a request: the caller's, if it can be logged, else a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers[REQUEST_ID];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
}

export function sendRequestIds(server: FastifyInstance): void {
  server.addHook('onRequest', async (request, reply) => {
    reply.header(REQUEST_ID, request.id);
  });
}

function send(reply: FastifyReply, problem: Problem): FastifyReply {
  const { kind, status, message, retryAfterSeconds, fields } = problem;
  // A request that matches no route has run no hook.
  reply.header(REQUEST_ID, reply.request.id);
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  const document: ProblemDocument = {
    type: problemType(kind),
    title: PROBLEMS[kind].title,
    status,
    detail: message,
    ...(fields.length > 0 && { errors: [...fields] }),
  };
  return reply.code(status).type('application/problem+json').send(document);
}

function statusOf(error: unknown): number {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 && status <= 599 ? status : 500;
}

/** In OpenAPI notation; `none` if no route matches. */
export function routeOf({ routeOptions: { url } }: FastifyRequest): string {
  return url?.replaceAll(/:(\w+)/g, '{$1}') ?? 'none';
}

/** The application that the path names. Throws a 404. */
export function applicationIn({ params }: { params: { app: string } }): string {
  const { data } = appName.safeParse(params.app);
  if (data === undefined) throw new Problem('not-found', 'no such application');
  return data;
}

/** The path names the application: throws a 400 if the query does, too. */
export function requireNoAppInQuery({ query }: FastifyRequest): void {
  if (isJsonObject(query) && Object.hasOwn(query, 'app'))
    throw new Problem('malformed-request', 'the path names the application: the query must not contain app');
}
