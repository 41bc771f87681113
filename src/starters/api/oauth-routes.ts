/** The routes of a user's browser, `/v1/oauth/{app}/authorize` and `/callback` (spec: User authorization page). */
import { randomBytes } from 'node:crypto';
import cookie from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { AuthorizationError, type Authorizations } from '../../client/authorizations.ts';
import type { AuthorizationOutcome } from '../../contract/tokens.ts';
import { applicationIn, requireNoAppInQuery } from '../../http/problems.ts';
import { sendPage } from '../../pages/page.ts';
import { networkOf } from '../../runtime/addresses.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { TokenBuckets } from '../../runtime/token-buckets.ts';
import { Problem, tooManyRequests } from '../../service/problem.ts';

const COOKIE = 'payouts_oauth';
const COOKIE_VALUE = /^[\w-]{43}$/;
const COOKIE_MAX_AGE_S = 1_800;

const INVALID = { burst: 20, refillMs: 3_000 };

/** Rejects repeated parameters, which are a sign of tampering. */
const authorizeQuery = z.object({ link: z.string().min(1).max(256) });
const callbackQuery = z.object({
  state: z.string().min(1).max(512),
  code: z.string().min(1).max(2_048).optional(),
  // The path names it.
  app: z.never().optional(),
});

const NO_APPLICATION = 'no such application';
const page = (description: string) => ({ description, type: 'text/html' });
const AUTHORIZE = {
  summary:
    "Redirect a user's browser to the provider's authorization page. `link` is that of `POST /v1/authorizations`",
  querystring: z.object({ link: z.string().max(256).describe('from `POST /v1/authorizations`') }),
  responses: { 302: { description: 'to that page' } },
  problems: {
    400: 'the link was already used, has expired or is invalid, or the query names an application',
    404: NO_APPLICATION,
    429: 'too many invalid requests from this address',
    503: 'too many requests, or no worker responds: try again',
  },
};
const CALLBACK = {
  summary: 'The redirect URI of that page',
  querystring: z.object({
    state: z.string().max(512).describe('the state of the attempt, from the link of `authorize`'),
    code: z.string().max(2_048).optional().describe('the authorization code; absent if the user refused'),
  }),
  responses: {
    200: page('access is granted'),
    400: page('access is not granted; the page says why'),
    502: page('the result is unknown, or the tokens could not be stored: start again'),
  },
  problems: {
    404: NO_APPLICATION,
    429: 'too many invalid requests from this address',
    503: 'too many requests, or no worker responds: open the same link again',
    504: 'the exchange continues',
  },
};

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
    scope.setValidatorCompiler(() => () => true);
    scope.get<AppRoute>(
      '/v1/oauth/:app/authorize',
      { schema: AUTHORIZE, exposeHeadRoute: false },
      async (request, reply) => {
        const app = applicationIn(request);
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
      },
    );

    scope.get<AppRoute>(
      '/v1/oauth/:app/callback',
      { schema: CALLBACK, exposeHeadRoute: false },
      async (request, reply) => {
        const app = applicationIn(request);
        const query = callbackQuery.safeParse(request.query);
        const browserId = browserIdOf(request);
        if (!query.success || browserId === undefined) return refuse(request, reply);
        const exchange = configured(authorizations).end(app, browserId, query.data);
        const ended = await exchange.catch(undefinedIfRefused);
        if (!ended) return refuse(request, reply);
        const { outcome, sentence } = ended;
        request.log.info({ app, outcome }, 'authorization');
        return sendPage(reply, ...PAGES[outcome], sentence);
      },
    );

    // A program that previews links would use one up.
    for (const route of ['authorize', 'callback'])
      scope.head(`/v1/oauth/:app/${route}`, async (_request, reply) => {
        reply.header('allow', 'GET');
        throw new Problem('method-not-allowed', 'this route takes only GET');
      });
  });
}

function configured(authorizations: Authorizations | undefined): Authorizations {
  if (authorizations) return authorizations;
  throw new Problem('authorization-not-configured', 'this API server authorizes no users');
}

function undefinedIfRefused(error: unknown): undefined {
  if (!(error instanceof AuthorizationError) || error.kind !== 'refused') throw error;
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
