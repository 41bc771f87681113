/**
 * Authenticates requests by bearer key or by session. The Temporal UI cannot send our header, so an operator enters the
 * key once on the sign-in page, which starts a session in a cookie. The sessions end with the process.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { CodecConfig } from '../config/codec-config.ts';
import { bearerKey, findKey, keyHash } from '../config/keys.ts';
import { sendPage } from '../pages/page.ts';
import { CookieSessions, SignInLimit } from '../pages/sessions.ts';
import type { Runtime } from '../runtime/runtime.ts';

const COOKIE = 'payouts_codec';
const HOUR_MS = 3_600_000;
const SESSION_MS = 12 * HOUR_MS;
const TITLE = 'Codec server';
const FORM = `<form method="post" action="/"><label>Key <input name="key" type="password" autocomplete="off"></label>
<button>Sign in</button></form>`;
const SIGN_OUT_FORM = '<form method="post" action="/sign-out"><button>Sign out</button></form>';

/** The name of the key, or why there is none. */
export type Identity =
  | { keyName: string }
  | { refused: 'missing' | 'unknown' }
  | { refused: 'limited'; retryAfterS: number };

export class SignIn {
  readonly #keys: CodecConfig['keys'];
  readonly #secureCookie: boolean;
  readonly #sessions: CookieSessions;
  readonly #limit: SignInLimit;

  constructor({ keys, secureCookie }: CodecConfig, runtime: Runtime) {
    this.#keys = keys;
    this.#secureCookie = secureCookie;
    this.#sessions = new CookieSessions({ maxMs: SESSION_MS, idleMs: HOUR_MS }, runtime);
    this.#limit = new SignInLimit(runtime.clock);
  }

  /** If no keys are configured, every request is accepted as `test`. */
  identify(request: FastifyRequest): Identity {
    if (this.#keys.length === 0) return { keyName: 'test' };
    const keyName = this.#sessionOf(request);
    if (keyName !== undefined) return { keyName };
    const bearer = bearerKey(request.headers.authorization);
    return bearer === undefined ? { refused: 'missing' } : this.#identifyKey(bearer, request);
  }

  /** Gives every request of the server its session. */
  async serve(server: FastifyInstance): Promise<void> {
    await this.#sessions.serve(server, {
      name: COOKIE,
      keys: undefined,
      path: '/',
      // Only pages of the same site, such as the Temporal UI beside it, may use the cookie.
      sameSite: 'strict',
      isSecure: () => this.#secureCookie,
    });
    server.register(async (scope) => {
      scope.addContentTypeParser(
        'application/x-www-form-urlencoded',
        { parseAs: 'string', bodyLimit: 4_096 },
        (_request, body, done) => done(null, new URLSearchParams(String(body))),
      );
      scope.get('/', async (request, reply) => {
        const keyName = this.#sessionOf(request);
        const content = keyName === undefined ? FORM : `Signed in as ${keyName}. ${SIGN_OUT_FORM}`;
        return sendPage(reply, 200, TITLE, content);
      });
      scope.post('/', async (request, reply) => this.#signIn(request, reply));
      scope.post('/sign-out', async (request, reply) => this.#signOut(request, reply));
    });
  }

  #signIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const key = request.body instanceof URLSearchParams ? (request.body.get('key') ?? '') : '';
    const identity = this.#identifyKey(key, request);
    if (!('keyName' in identity)) {
      const { status, message } = refusal(identity, reply);
      return sendPage(reply, status, TITLE, `${message}. ${FORM}`);
    }
    const { keyName } = identity;
    this.#sessions.start(request, keyHash(key));
    request.log.info({ key: keyName }, 'signed in');
    return sendPage(
      reply,
      200,
      TITLE,
      `Signed in as ${keyName}. The Temporal UI can now decode payloads in this browser. ${SIGN_OUT_FORM}`,
    );
  }

  #signOut(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const keyName = this.#sessionOf(request);
    if (keyName !== undefined) request.log.info({ key: keyName }, 'signed out');
    this.#sessions.end(request);
    return sendPage(reply, 200, TITLE, `Signed out. ${FORM}`);
  }

  #sessionOf(request: FastifyRequest): string | undefined {
    const used = this.#sessions.use(request);
    return used && this.#keys.find(({ hash }) => hash.equals(used))?.name;
  }

  #identifyKey(key: string, request: FastifyRequest): Identity {
    const waitMs = this.#limit.waitMs(request.ip);
    if (waitMs > 0) return { refused: 'limited', retryAfterS: Math.ceil(waitMs / 1_000) };
    const known = findKey(this.#keys, key);
    if (known) return { keyName: known.name };
    this.#limit.countFailure(request.ip);
    request.log.warn('sign-in refused: unknown key');
    return { refused: 'unknown' };
  }
}

/** The status and the message of a refusal. Sets `retry-after` if the address must wait. */
export function refusal(
  identity: Exclude<Identity, { keyName: string }>,
  reply: FastifyReply,
): { status: 401 | 429; message: string } {
  if (identity.refused === 'limited') {
    reply.header('retry-after', identity.retryAfterS);
    return { status: 429, message: 'Too many failed sign-ins: try again later' };
  }
  return {
    status: 401,
    message: identity.refused === 'missing' ? 'a key is required: sign in at /' : 'Unknown key',
  };
}
