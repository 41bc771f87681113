/** Errors as RFC 9457 problem documents. None quotes what was sent. */
import type { FastifyInstance, FastifyReply } from 'fastify';

/** Thrown by a route: what the caller is told. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, detail: string, retryAfterSeconds?: number) {
    super(detail);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const TITLES: Record<number, string> = {
  400: 'Bad request',
  401: 'Unauthorised',
  404: 'Not found',
  408: 'Request timeout',
  413: 'Content too large',
  415: 'Unsupported media type',
  503: 'Service unavailable',
};

export function answerProblems(server: FastifyInstance): void {
  server.setNotFoundHandler((_request, reply) => send(reply, new Problem(404, 'there is no such route')));
  server.setErrorHandler((error, request, reply) => {
    if (error instanceof Problem) return send(reply, error);
    const status = statusOf(error);
    if (status < 500) return send(reply, new Problem(status, TITLES[status] ?? 'the request is not usable'));
    request.log.error({ name: error instanceof Error ? error.name : 'unknown' }, 'a request failed');
    return send(reply, new Problem(500, 'something unexpected went wrong'));
  });
}

function send(reply: FastifyReply, { status, message, retryAfterSeconds }: Problem): FastifyReply {
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  const title = TITLES[status] ?? 'Error';
  return reply
    .code(status)
    .type('application/problem+json')
    .send({ type: 'about:blank', title, status, detail: message });
}

/** Fastify's own errors say which status they mean. */
function statusOf(error: unknown): number {
  const told = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  return typeof told === 'number' && told >= 400 && told <= 599 ? told : 500;
}
