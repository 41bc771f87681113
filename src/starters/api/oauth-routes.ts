/** `/v1/oauth/{app}/authorize` and `/callback`: the user authorization flow, with a page that says what happened. */
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
import { Problem } from './problem.ts';

const COOKIE = 'payouts_oauth';
const SECRET = /^[\w-]{43}$/;
const HALF_AN_HOUR_S = 1_800;
const TRY_AGAIN_IN_SECONDS = 5;

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
      const url = await authorizations.begin(app, browser).catch(asProblem);
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
        const [status, title] = PAGES[outcome];
        return sendPage(reply, status, title, sentence);
      } catch (error) {
        if (error instanceof AttemptRefusedError) return refused(reply);
        return asProblem(error);
      }
    });
  });
}

const PAGES: Record<AuthorizationOutcome['outcome'], [status: number, title: string]> = {
  GRANTED: [200, 'Access granted'],
  DENIED: [400, 'Access not granted'],
  EXPIRED: [400, 'Too late'],
  REFUSED: [400, 'Not accepted'],
  UNAVAILABLE: [503, 'Not possible now'],
  UNCERTAIN: [502, 'Not certain'],
  NOT_STORED: [502, 'Not stored'],
};

function asProblem(error: unknown): never {
  if (error instanceof AuthorizationsBusyError)
    throw new Problem(
      503,
      'too many authorizations at once: open the same address again',
      TRY_AGAIN_IN_SECONDS,
    );
  if (error instanceof StillExchangingError)
    throw new Problem(
      504,
      'the provider has not answered yet. The authorization goes on: begin again only if it is still missing in a minute',
    );
  throw error;
}

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
