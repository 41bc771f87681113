/**
 * Encodes and decodes payloads for the Temporal UI and CLI. Requests need a bearer key, or a session: the Temporal UI cannot send
 * our header, so an operator enters the key once on the sign-in page, which starts a session in a cookie. The sessions end with
 * the process.
 */
import type { Writable } from 'node:stream';
import cors from '@fastify/cors';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { z } from 'zod';
import type { CodecConfig } from '../config/codec-config.ts';
import { bearerKey, findKey, keyHash } from '../config/keys.ts';
import { UnknownKeyError } from '../encryption/key-ring.ts';
import { EncryptionCodec } from '../encryption/payload-codec.ts';
import { logOptions } from '../observability/log.ts';
import { sendPage } from '../pages/page.ts';
import { CookieSessions, SignInLimit } from '../pages/sessions.ts';
import { connectionLimits, Drain, PROCESS_RUNTIME } from '../runtime/process.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Enough for a page of a history. Temporal limits a payload to 2 MiB. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
const MAX_CONNECTIONS = 1_000;
/** Temporal limits the name of a namespace to 255 characters by default. */
const MAX_NAMESPACE_LENGTH = 255;

const payload = z.object({
  metadata: z.record(z.string(), z.base64()).optional(),
  data: z.base64().optional(),
});
/** Protobuf's JSON omits an empty list, and the Temporal CLI sends it so. */
const payloads = z.strictObject({ payloads: z.array(payload).default([]) });

export interface CodecServerOptions {
  drain?: Drain;
  runtime?: Runtime;
  /** Where the log lines go. Default: standard error. */
  log?: Writable;
  /** The time for a complete request, and for the client to read each part of the answer. Default 10,000. */
  requestTimeoutMs?: number;
  /** How many requests may be read and decoded at once. Default 32. */
  maxConcurrent?: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The number of payloads in the body. Undefined until the body is valid. */
    payloadCount: number | undefined;
  }
}

export async function buildCodecServer(
  config: CodecConfig,
  options: CodecServerOptions = {},
): Promise<FastifyInstance> {
  const { runtime = PROCESS_RUNTIME, requestTimeoutMs = 10_000, maxConcurrent = 32 } = options;
  const { drain = new Drain() } = options;
  const server = fastify({
    logger: logOptions(
      'codec-server',
      { PAYOUTS_LOG_LEVEL: 'info', PAYOUTS_LOG_FORMAT: config.logFormat },
      options.log,
    ),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    trustProxy: [...config.proxies],
    ...connectionLimits(requestTimeoutMs),
    connectionTimeout: requestTimeoutMs,
    // An unread request of a client without a key otherwise delays a shutdown.
    keepAliveTimeout: requestTimeoutMs,
  });
  server.server.maxConnections = MAX_CONNECTIONS;
  drain.watch(server);
  const codec = new EncryptionCodec(config.ring, runtime.random);
  const signIn = new SignIn(config, runtime);
  await server.register(cors, {
    origin: [...config.origins],
    credentials: true,
    methods: ['POST'],
    allowedHeaders: ['authorization', 'content-type', 'x-namespace'],
  });
  server.decorateRequest('payloadCount', undefined);
  server.setErrorHandler(answerError);
  server.get('/healthz', async () => ({ status: 'ok' }));
  server.get('/readyz', async (_request, reply) => {
    if (drain.hasBegun) return reply.code(503).send({ message: 'this codec server is about to end' });
    return { status: 'ok' };
  });
  await signIn.serve(server);
  server.register(async (scope) => {
    let running = 0;
    // Before the body is read, so that a request without a key costs no memory.
    scope.addHook('onRequest', async (request, reply) => {
      const identity = signIn.identify(request);
      if (!('keyName' in identity)) {
        const { status, message } = refusal(identity, reply);
        return reply.code(status).send({ message });
      }
      logAtClose(request, reply, identity.keyName);
      if (running >= maxConcurrent)
        return reply.code(503).header('retry-after', 1).send({ message: 'too many requests at once' });
      running += 1;
      // Unlike the hook `onResponse`, this event also follows a request that the client cut off.
      reply.raw.once('close', () => {
        running -= 1;
      });
      return undefined;
    });
    scope.post('/decode', async (request) => transcode(request, (all) => codec.decode(all)));
    scope.post('/encode', async (request) => transcode(request, (all) => codec.encode(all)));
  });
  return server;
}

/** One line for each request of a key: who decoded how many payloads of which namespace, never their content. */
function logAtClose(request: FastifyRequest, reply: FastifyReply, keyName: string): void {
  reply.raw.once('close', () => {
    const { 'x-namespace': namespace } = request.headers;
    request.log.info(
      {
        key: keyName,
        namespace: String(namespace ?? '').slice(0, MAX_NAMESPACE_LENGTH),
        payloads: request.payloadCount,
        status: reply.raw.writableFinished ? reply.statusCode : 'cut off',
      },
      request.routeOptions.url === '/encode' ? 'encoded' : 'decoded',
    );
  });
}

async function transcode(request: FastifyRequest, convert: EncryptionCodec['decode']): Promise<unknown> {
  const given = payloads.parse(request.body).payloads;
  request.payloadCount = given.length;
  const input = given.map(({ metadata = {}, data = '' }) => ({
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')]),
    ),
    data: Buffer.from(data, 'base64'),
  }));
  const output = await convert(input);
  return {
    payloads: output.map(({ metadata, data }) => ({
      metadata: Object.fromEntries(
        Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
      ),
      data: Buffer.from(data ?? []).toString('base64'),
    })),
  };
}

function answerError(error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof z.ZodError)
    return reply.code(400).send({ message: 'the body does not contain valid payloads' });
  if (error instanceof UnknownKeyError) return reply.code(422).send({ message: error.message });
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : 500;
  return reply.code(typeof status === 'number' ? status : 500).send({ message: 'the request is invalid' });
}

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
