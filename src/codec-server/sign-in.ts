/** The page where an operator gives the key once, so that the Temporal UI in the same browser may decode. */
import type { FastifyInstance } from 'fastify';
import { sendPage } from '../pages/page.ts';
import { COOKIE } from './session.ts';

const WORKING_DAY_S = 43_200;
const FORM = `<form method="post" action="/"><label>Key <input name="key" type="password" autocomplete="off"></label>
<button>Sign in</button></form>`;

export function signInRoutes(server: FastifyInstance, isKnownKey: (key: string) => boolean): void {
  server.register(async (scope) => {
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 4_096 },
      (_request, body, done) => done(null, new URLSearchParams(String(body))),
    );
    scope.get('/', async (_request, reply) => sendPage(reply, 200, 'Codec server', FORM));
    scope.post('/', async (request, reply) => {
      const key = request.body instanceof URLSearchParams ? (request.body.get('key') ?? '') : '';
      if (!isKnownKey(key)) return sendPage(reply, 401, 'Codec server', `That key is not known. ${FORM}`);
      // Strict: only pages of the same site, such as the UI beside it, may use it.
      reply.setCookie(COOKIE, key, { path: '/', httpOnly: true, sameSite: 'strict', maxAge: WORKING_DAY_S });
      return sendPage(
        reply,
        200,
        'Codec server',
        'Signed in: the Temporal UI can decode in this browser now.',
      );
    });
  });
}
