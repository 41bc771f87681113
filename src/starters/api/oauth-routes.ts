/** `/v1/oauth/{app}/authorize` and `/callback`: the user authorization flow, with a page that says what happened. */
import { randomBytes } from 'node:crypto';
import cookie from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { appName } from '../../contract/payout-request.ts';
import { sendPage } from '../../pages/page.ts';
import { AttemptRefusedError, type Authorizations } from '../authorizations.ts';
import { Problem } from './problem.ts';

const COOKIE = 'payouts_oauth';
const SECRET = /^[\w-]{43}$/;
const HALF_AN_HOUR_S = 1_800;

/** A parameter that comes twice is one that somebody tampered with. */
const callBackQuery = z.object({
  state: z.string().min(1).max(512),
  code: z.string().min(1).max(2_048).optional(),
});

interface AppRoute {
  Params: { app: string };
}

export function oauthRoutes(server: FastifyInstance, authorizations: Authorizations): void {
  server.register(async (scope) => {
    await scope.register(cookie);
    scope.get<AppRoute>('/v1/oauth/:app/authorize', async (request, reply) => {
      const app = known(request.params.app);
      const browser = heldBy(request) ?? randomBytes(32).toString('base64url');
      const url = await authorizations.begin(app, browser);
      remember(reply, browser, comesBackByHttps(url));
      return reply.header('cache-control', 'no-store').redirect(url.toString(), 302);
    });

    scope.get<AppRoute>('/v1/oauth/:app/callback', async (request, reply) => {
      const app = known(request.params.app);
      const query = callBackQuery.safeParse(request.query);
      const browser = heldBy(request);
      if (!query.success || browser === undefined) return refused(reply);
      try {
        const { outcome, sentence } = await authorizations.end(app, browser, query.data);
        request.log.info({ app, outcome }, 'authorization');
        return sendPage(reply, outcome === 'GRANTED' ? 200 : 400, TITLES[outcome], sentence);
      } catch (error) {
        if (error instanceof AttemptRefusedError) return refused(reply);
        throw error;
      }
    });
  });
}

const TITLES = {
  GRANTED: 'Access granted',
  DENIED: 'Access not granted',
  EXPIRED: 'Too late',
  REFUSED: 'Not accepted',
  UNCERTAIN: 'Not certain',
} as const;

function known(app: string): string {
  const parsed = appName.safeParse(app);
  if (!parsed.success) throw new Problem(404, 'there is no such application');
  return parsed.data;
}

function heldBy({ cookies }: FastifyRequest): string | undefined {
  const held = cookies[COOKIE];
  return held !== undefined && SECRET.test(held) ? held : undefined;
}

/** Behind a proxy this process speaks plain HTTP; what counts is where the browser will come back to. */
function comesBackByHttps({ searchParams }: URL): boolean {
  const back = searchParams.get('redirect_uri') ?? searchParams.get('redirectUri') ?? '';
  return back.startsWith('https:');
}

/** Lax: it must come along when the payments service's page sends the browser back. */
function remember(reply: FastifyReply, browser: string, secure: boolean): void {
  reply.setCookie(COOKIE, browser, {
    path: '/v1/oauth',
    httpOnly: true,
    sameSite: 'lax',
    secure,
    maxAge: HALF_AN_HOUR_S,
  });
}

function refused(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    400,
    'This link does not work',
    'It was used already, is too old, or was begun in another browser. Please begin again.',
  );
}
