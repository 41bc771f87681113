/**
 * Decodes payloads for the Temporal UI and CLI, and encrypts none. Requests need a bearer key, or a session: the Temporal UI
 * cannot send our header, so an operator enters the key once on the sign-in page, which starts a session in a cookie. The
 * sessions end with the process.
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
import { HOUR_MS } from '../domain/time.ts';
import { UnknownKeyError } from '../encryption/key-ring.ts';
import { EncryptionCodec } from '../encryption/payload-codec.ts';
import { logOptions } from '../observability/log.ts';
import { sendPage } from '../pages/page.ts';
import { CookieSessions } from '../pages/sessions.ts';
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
  /** The time for a complete request, and for the client to read each part of the response. Milliseconds. Default 10,000. */
  requestTimeoutMs?: number;
  /** The number of requests that are read and decoded concurrently. Default 32. */
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
      { PAYOUTS_LOG_LEVEL: 'info', PAYOUTS_LOG_FORMAT: config.PAYOUTS_LOG_FORMAT },
      options.log,
    ),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    trustProxy: config.PAYOUTS_CODEC_PROXIES,
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
    origin: config.PAYOUTS_CODEC_ORIGINS,
    credentials: true,
    methods: ['POST'],
    allowedHeaders: ['authorization', 'content-type', 'x-namespace'],
  });
  server.decorateRequest('payloadCount', undefined);
  server.setErrorHandler((error, _request, reply) => {
    const { statusCode, message } = refusalFor(error, reply);
    return reply.code(statusCode).send({ message });
  });
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
      logAtClose(request, reply, signIn.identify(request));
      if (running >= maxConcurrent) throw new Refusal(503, 'too many concurrent requests', 1);
      running += 1;
      // Unlike the hook `onResponse`, this event also follows a request that the client cut off.
      reply.raw.once('close', () => {
        running -= 1;
      });
    });
    scope.post('/decode', async (request) => transcode(request, (all) => codec.decode(all)));
    // For the UI. Whoever may read must not encrypt a start or an approval, which workers would accept.
    scope.post('/encode', async (request) => transcode(request, async (all) => all));
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

class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly statusCode: number;
  readonly retryAfterS: number | undefined;

  constructor(statusCode: number, message: string, retryAfterS?: number) {
    super(message);
    this.statusCode = statusCode;
    this.retryAfterS = retryAfterS;
  }
}

/** The refusal of an error. Sets `retry-after` if it is temporary. */
function refusalFor(error: unknown, reply: FastifyReply): Refusal {
  if (error instanceof z.ZodError) return new Refusal(400, 'the body does not contain valid payloads');
  if (error instanceof UnknownKeyError) return new Refusal(422, error.message);
  if (error instanceof Refusal) {
    if (error.retryAfterS !== undefined) reply.header('retry-after', error.retryAfterS);
    return error;
  }
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : 500;
  return new Refusal(typeof status === 'number' ? status : 500, 'the request is invalid');
}

const TITLE = 'Codec server';
const FORM = `<form method="post" action="/"><label>Key <input name="key" type="password" autocomplete="off"></label>
<button>Sign in</button></form>`;
const SIGN_OUT_FORM = '<form method="post" action="/sign-out"><button>Sign out</button></form>';

class SignIn {
  readonly #keys: CodecConfig['keys'];
  readonly #sessions: CookieSessions;

  constructor({ keys, secureCookie }: CodecConfig, runtime: Runtime) {
    this.#keys = keys;
    const options = {
      name: 'payouts_codec',
      keys: undefined,
      path: '/',
      // Only pages of the same site, such as the Temporal UI beside it, may use the cookie.
      sameSite: 'strict',
      isSecure: () => secureCookie,
      maxMs: 12 * HOUR_MS,
      idleMs: HOUR_MS,
    } as const;
    this.#sessions = new CookieSessions(options, runtime);
  }

  /** The name of the key. Without configured keys, every request is accepted as `test`. Throws `Refusal`. */
  identify(request: FastifyRequest): string {
    if (this.#keys.length === 0) return 'test';
    const keyName = this.#sessionOf(request);
    if (keyName !== undefined) return keyName;
    const bearer = bearerKey(request.headers.authorization);
    if (bearer === undefined) throw new Refusal(401, 'a key is required: sign in at /');
    return this.#nameOf(bearer, request);
  }

  /** Gives every request of the server its session. */
  async serve(server: FastifyInstance): Promise<void> {
    await this.#sessions.serve(server);
    server.register(async (scope) => {
      scope.addContentTypeParser(
        'application/x-www-form-urlencoded',
        { parseAs: 'string', bodyLimit: 4_096 },
        (_request, body, done) => done(null, new URLSearchParams(String(body))),
      );
      // The page of an error has the form again.
      scope.setErrorHandler((error, _request, reply) => {
        const { statusCode, message } = refusalFor(error, reply);
        return sendPage(reply, statusCode, TITLE, `${message}. ${FORM}`);
      });
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
    const keyName = this.#nameOf(key, request);
    this.#sessions.start(request, keyHash(key).toString('base64'));
    request.log.info({ key: keyName }, 'signed in');
    const next = 'The Temporal UI can now decode payloads in this browser.';
    return sendPage(reply, 200, TITLE, `Signed in as ${keyName}. ${next} ${SIGN_OUT_FORM}`);
  }

  #signOut(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const keyName = this.#sessionOf(request);
    if (keyName !== undefined) request.log.info({ key: keyName }, 'signed out');
    this.#sessions.end(reply);
    return sendPage(reply, 200, TITLE, `Signed out. ${FORM}`);
  }

  #sessionOf(request: FastifyRequest): string | undefined {
    const used = this.#sessions.use(request);
    return used && this.#keys.find(({ hash }) => hash.toString('base64') === used)?.name;
  }

  #nameOf(key: string, request: FastifyRequest): string {
    const succeeded = this.#sessions.attempt(request, (waitMs) => {
      return new Refusal(429, 'Too many failed sign-ins: try again later', Math.ceil(waitMs / 1_000));
    });
    const known = findKey(this.#keys, key);
    if (!known) {
      request.log.warn('sign-in refused: unknown key');
      throw new Refusal(401, 'Unknown key');
    }
    succeeded();
    return known.name;
  }
}
