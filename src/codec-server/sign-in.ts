/**
 * Authorizes requests by bearer key. The Temporal UI cannot send our header, so an operator enters the key once on the
 * sign-in page, which stores it in a cookie.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sendPage } from '../pages/page.ts';

const COOKIE = 'payouts_codec';
const WORKING_DAY_S = 43_200;
const FORM = `<form method="post" action="/"><label>Key <input name="key" type="password" autocomplete="off"></label>
<button>Sign in</button></form>`;

/** Accepts a bearer key in the header or in the cookie. If no keys are configured, every request is authorized. */
export function isAuthorized(keys: readonly string[], request: FastifyRequest): boolean {
  if (keys.length === 0) return true;
  const [, bearer] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
  return [bearer, request.cookies[COOKIE]].some((key) => key !== undefined && isKnownKey(keys, key));
}

/** Compares hashes of equal length in constant time, so that the timing reveals nothing about the keys. */
function isKnownKey(keys: readonly string[], given: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return keys.filter((key) => timingSafeEqual(hash(key), hash(given))).length > 0;
}

export function signInRoutes(server: FastifyInstance, keys: readonly string[]): void {
  server.register(async (scope) => {
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 4_096 },
      (_request, body, done) => done(null, new URLSearchParams(String(body))),
    );
    scope.get('/', async (_request, reply) => sendPage(reply, 200, 'Codec server', FORM));
    scope.post('/', async (request, reply) => {
      const key = request.body instanceof URLSearchParams ? (request.body.get('key') ?? '') : '';
      if (!isKnownKey(keys, key)) return sendPage(reply, 401, 'Codec server', `Unknown key. ${FORM}`);
      // Strict: only pages of the same site, such as the Temporal UI beside it, may use the cookie.
      reply.setCookie(COOKIE, key, { path: '/', httpOnly: true, sameSite: 'strict', maxAge: WORKING_DAY_S });
      return sendPage(
        reply,
        200,
        'Codec server',
        'Signed in. The Temporal UI can now decode payloads in this browser.',
      );
    });
  });
}
