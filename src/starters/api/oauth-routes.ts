/**
 * `POST /v1/authorizations`, which issues links, and the routes of a user's browser, `/v1/oauth/{app}/authorize` and
 * `/callback` (spec: User authorization page).
 */
import { randomBytes } from 'node:crypto';
import cookie from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { AttemptRefusedError, type Authorizations } from '../../client/authorizations.ts';
import { appName } from '../../contract/fields.ts';
import type { AuthorizationOutcome } from '../../contract/tokens.ts';
import { sendPage } from '../../pages/page.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { networkOf, TokenBuckets } from '../../runtime/token-buckets.ts';
import { Problem, tooManyRequests } from '../../service/problem.ts';
import type { Service } from '../../service/service.ts';
import { requireNoAppInQuery } from './bodies.ts';
import { empty, type Operation, operation } from './operation.ts';

const COOKIE = 'payouts_oauth';
const COOKIE_VALUE = /^[\w-]{43}$/;
const COOKIE_MAX_AGE_S = 1_800;

/** The invalid requests of each address. */
const INVALID = { burst: 20, refillMs: 3_000 };

/** Rejects repeated parameters, which are a sign of tampering. */
const authorizeQuery = z.object({ link: z.string().min(1).max(256) });
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

const authorizeLink = z.strictObject({
  app: z.string(),
  url: z.url().describe('Leads a browser to the authorization page of the provider. Works once'),
  expiresAt: z.iso.datetime().describe('When the link stops working'),
});

export function authorizationOperations(service: Service): Operation[] {
  return [
    operation(
      {
        method: 'POST',
        path: '/v1/authorizations',
        verb: 'authorize',
        summary:
          "Issue a link that leads a user's browser to the provider's authorization page. It works once",
        response: { status: 201, description: 'The link, and when it expires', schema: authorizeLink },
        problems: { 501: 'this API server has no PAYOUTS_AUTHORIZATION_KEYS' },
      },
      { params: empty, query: empty, body: z.strictObject({ app: appName.default('default') }) },
      async ({ caller, body: { app } }) => {
        const { url, expiresAtMs } = await service.authorizationLink(caller, app);
        return { app, url: url.toString(), expiresAt: new Date(expiresAtMs).toISOString() };
      },
    ),
  ];
}

export function oauthRoutes(
  server: FastifyInstance,
  authorizations: Authorizations | undefined,
  clock: Clock,
): void {
  const strangers = new TokenBuckets(INVALID, clock);
  const refuse = (request: FastifyRequest, reply: FastifyReply) => {
    const network = networkOf(request.ip);
    if (strangers.take(network)) return sendInvalidLink(reply);
    throw tooManyRequests('too many invalid requests from this address', strangers.waitMs(network));
  };
  server.register(async (scope) => {
    await scope.register(cookie);
    scope.get<AppRoute>('/v1/oauth/:app/authorize', ONLY_GET, async (request, reply) => {
      const app = validApp(request.params.app);
      requireNoAppInQuery(request);
      const query = authorizeQuery.safeParse(request.query);
      if (!query.success) return refuse(request, reply);
      const browserId = browserIdOf(request) ?? randomBytes(32).toString('base64url');
      const begun = configured(authorizations).begin(app, browserId, query.data.link);
      const url = await begun.catch(undefinedIfRefused);
      if (!url) return refuse(request, reply);
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

    scope.get<AppRoute>('/v1/oauth/:app/callback', ONLY_GET, async (request, reply) => {
      const app = validApp(request.params.app);
      const query = callbackQuery.safeParse(request.query);
      const browserId = browserIdOf(request);
      if (!query.success || browserId === undefined) return refuse(request, reply);
      const exchange = configured(authorizations).end(app, browserId, query.data);
      const ended = await exchange.catch(undefinedIfRefused);
      if (!ended) return refuse(request, reply);
      const { outcome, sentence } = ended;
      request.log.info({ app, outcome }, 'authorization');
      return sendPage(reply, ...PAGES[outcome], sentence);
    });

    // By default, a HEAD runs the handler of the GET: a program that previews links would use one up.
    for (const route of ['authorize', 'callback'])
      scope.head(`/v1/oauth/:app/${route}`, async (_request, reply) => {
        reply.header('allow', 'GET');
        throw new Problem('method-not-allowed', 'this route takes only GET');
      });
  });
}

const ONLY_GET = { exposeHeadRoute: false };

function configured(authorizations: Authorizations | undefined): Authorizations {
  if (authorizations) return authorizations;
  throw new Problem('authorization-not-configured', 'this API server authorizes no users');
}

function undefinedIfRefused(error: unknown): undefined {
  if (!(error instanceof AttemptRefusedError)) throw error;
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
    'It was already used, has expired, or was opened in another browser. Please ask for a new link.',
  );
}
