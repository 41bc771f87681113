/** Error responses: RFC 9457 problem documents, which never quote the request. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ProblemDocument } from '../../contract/payout-answers.ts';
import { problemOf } from './error-mapping.ts';
import { Problem } from './problem.ts';
import { PROBLEM_STATUSES } from './problem-statuses.ts';

export function handleErrors(server: FastifyInstance): void {
  server.setNotFoundHandler((_request, reply) => send(reply, new Problem(404, 'no such route')));
  server.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error);
    if (problem) return send(reply, problem);
    if (statusOf(error) < 500) return rejectRequest(error, request, reply);
    request.log.error({ name: error instanceof Error ? error.name : 'unknown' }, 'request failed');
    return send(reply, new Problem(500, 'unexpected error'));
  });
}

/** Also handles a URL that cannot be decoded: it matches no route, and Fastify's own response would quote it. */
export function rejectRequest(error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const status = statusOf(error);
  return send(reply, new Problem(status, PROBLEM_STATUSES[status]?.title ?? 'invalid request'));
}

function send(reply: FastifyReply, { status, message, retryAfterSeconds, fields }: Problem): FastifyReply {
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  const document: ProblemDocument = {
    type: 'about:blank',
    title: PROBLEM_STATUSES[status]?.title ?? 'Error',
    status,
    detail: message,
    ...(fields.length > 0 && { errors: [...fields] }),
  };
  return reply.code(status).type('application/problem+json').send(document);
}

/** The status of an error that Fastify raised. */
function statusOf(error: unknown): number {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 && status <= 599 ? status : 500;
}
