/** Errors as RFC 9457 problem documents. None quotes what was sent. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ProblemDocument } from '../../contract/payout-answers.ts';
import { explained } from './explained.ts';
import { Problem } from './problem.ts';
import { PROBLEM_STATUSES } from './problem-statuses.ts';

export function answerProblems(server: FastifyInstance): void {
  server.setNotFoundHandler((_request, reply) => send(reply, new Problem(404, 'there is no such route')));
  server.setErrorHandler((error, request, reply) => {
    const problem = error instanceof Problem ? error : explained(error);
    if (problem) return send(reply, problem);
    const status = statusOf(error);
    if (status < 500) return refuse(error, request, reply);
    request.log.error({ name: error instanceof Error ? error.name : 'unknown' }, 'a request failed');
    return send(reply, new Problem(500, 'something unexpected went wrong'));
  });
}

/** Also for an address that cannot be decoded: it meets no route, so Fastify would answer by itself and quote it. */
export function refuse(error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const status = statusOf(error);
  return send(reply, new Problem(status, PROBLEM_STATUSES[status]?.title ?? 'the request is not usable'));
}

function send(reply: FastifyReply, { status, message, retryAfterSeconds, fields }: Problem): FastifyReply {
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  const title = PROBLEM_STATUSES[status]?.title ?? 'Error';
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  const document: ProblemDocument = {
    ...{ type: 'about:blank', title, status, detail: message },
    ...(fields.length > 0 && { errors: fields.map(({ path, message: what }) => ({ path, message: what })) }),
  };
  return reply.code(status).type('application/problem+json').send(document);
}

/** Fastify's own errors say which status they mean. */
function statusOf(error: unknown): number {
  const told = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  return typeof told === 'number' && told >= 400 && told <= 599 ? told : 500;
}
