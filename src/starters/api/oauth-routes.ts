/** `/v1/oauth/{app}/authorize` and `/callback`: user authorization (spec: User authorization page). */
import { randomBytes } from 'node:crypto';
import cookie from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  AttemptRefusedError,
  type Authorizations,
  AuthorizationsBusyError,
  StillExchangingError,
} from '../../client/authorizations.ts';
import { appName } from '../../contract/payout-request.ts';
import type { AuthorizationOutcome } from '../../domain/token-record.ts';
import { sendPage } from '../../pages/page.ts';
import { requireNoAppInQuery } from './bodies.ts';
import { Problem, unavailable } from './problem.ts';

const COOKIE = 'payouts_oauth';
const COOKIE_VALUE = /^[\w-]{43}$/;
const COOKIE_MAX_AGE_S = 1_800;

/** Rejects repeated parameters, which are a sign of tampering. */
const callbackQuery = z.object({
  state: z.string().min(1).max(512),
  code: z.string().min(1).max(2_048).optional(),
  // The path names it.
  app: z.never().optional(),
});

type AppRoute = { Params: { app: string } };

const PAGES: Record<AuthorizationOutcome['outcome'], [status: number, title: string]> = {
  GRANTED: [200, 'Access granted'],
  DENIED: [400, 'Access not granted'],
  EXPIRED: [400, 'Link expired'],
  REFUSED: [400, 'Not accepted'],
  UNAVAILABLE: [503, 'Temporarily unavailable'],
  UNCERTAIN: [502, 'Result unknown'],
  NOT_STORED: [502, 'Not stored'],
};

export function oauthRoutes(server: FastifyInstance, authorizations: Authorizations): void {
  server.register(async (scope) => {
    await scope.register(cookie);
    scope.get<AppRoute>('/v1/oauth/:app/authorize', async (request, reply) => {
      const app = validApp(request.params.app);
      requireNoAppInQuery(request);
      const browserId = browserIdOf(request) ?? randomBytes(32).toString('base64url');
      const url = await authorizations.begin(app, browserId).catch(throwProblem);
      reply.setCookie(COOKIE, browserId, {
        path: '/v1/oauth',
        httpOnly: true,
        // Lax, so that the browser sends it when the provider's page redirects back.
        sameSite: 'lax',
        secure: redirectsToHttps(url),
        maxAge: COOKIE_MAX_AGE_S,
      });
      return reply.header('cache-control', 'no-store').redirect(url.toString(), 302);
    });

    scope.get<AppRoute>('/v1/oauth/:app/callback', async (request, reply) => {
      const app = validApp(request.params.app);
      const query = callbackQuery.safeParse(request.query);
      const browserId = browserIdOf(request);
      if (!query.success || browserId === undefined) return sendInvalidLink(reply);
      try {
        const { outcome, sentence } = await authorizations.end(app, browserId, query.data);
        request.log.info({ app, outcome }, 'authorization');
        return sendPage(reply, ...PAGES[outcome], sentence);
      } catch (error) {
        if (error instanceof AttemptRefusedError) return sendInvalidLink(reply);
        return throwProblem(error);
      }
    });
  });
}

function throwProblem(error: unknown): never {
  if (error instanceof AuthorizationsBusyError)
    throw unavailable('too-many-waiting', 'too many authorizations at once: open the same link again', error);
  if (error instanceof StillExchangingError)
    throw new Problem(
      'authorization-in-progress',
      'the provider has not answered yet. The authorization continues: start again only if it is still missing after a minute',
    );
  throw error;
}

function validApp(app: string): string {
  const parsed = appName.safeParse(app);
  if (!parsed.success) throw new Problem('not-found', 'no such application');
  return parsed.data;
}

function browserIdOf({ cookies }: FastifyRequest): string | undefined {
  const value = cookies[COOKIE];
  return value !== undefined && COOKIE_VALUE.test(value) ? value : undefined;
}

/** Behind a proxy this process serves plain HTTP, so the redirect URI decides whether the cookie is secure. */
function redirectsToHttps({ searchParams }: URL): boolean {
  const redirectUri = searchParams.get('redirect_uri') ?? searchParams.get('redirectUri') ?? '';
  return redirectUri.startsWith('https:');
}

function sendInvalidLink(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    400,
    'This link does not work',
    'It was already used, has expired, or was opened in another browser. Please start again.',
  );
}
