/**
 * Encodes and decodes payloads for the Temporal UI and CLI. Requests need a bearer key, in a header or in the cookie of
 * the sign-in page.
 */
import cookie from '@fastify/cookie';
import cors from '@fastify/cors';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { z } from 'zod';
import type { CodecConfig } from '../config/codec-config.ts';
import { UnknownKeyError } from '../encryption/key-ring.ts';
import { EncryptionCodec } from '../encryption/payload-codec.ts';
import { Drain } from '../surroundings/drain.ts';
import { PROCESS_SURROUNDINGS } from '../surroundings/process.ts';
import { isAuthorized, signInRoutes } from './sign-in.ts';

/** Enough for a page of a history. Temporal limits a payload to 2 MiB. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

const payload = z.object({
  metadata: z.record(z.string(), z.base64()).optional(),
  data: z.base64().optional(),
});
/** Protobuf's JSON omits an empty list, and the Temporal CLI sends it so. */
const payloads = z.strictObject({ payloads: z.array(payload).default([]) });

export async function buildCodecServer(config: CodecConfig, drain = new Drain()): Promise<FastifyInstance> {
  const server = fastify({
    logger: { level: 'warn', stream: process.stderr },
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    // What arrives on an open connection while the server closes is served; the drain has a deadline.
    return503OnClosing: false,
  });
  drain.watch(server);
  const codec = new EncryptionCodec(config.ring, PROCESS_SURROUNDINGS.random);
  await server.register(cookie);
  await server.register(cors, {
    origin: [...config.origins],
    credentials: true,
    methods: ['POST'],
    allowedHeaders: ['authorization', 'content-type', 'x-namespace'],
  });
  server.setErrorHandler(answerError);
  server.get('/healthz', async () => ({ status: 'ok' }));
  server.get('/readyz', async (_request, reply) => {
    if (drain.hasBegun) return reply.code(503).send({ message: 'this codec server is about to end' });
    return { status: 'ok' };
  });
  signInRoutes(server, config.keys);
  server.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      if (!isAuthorized(config.keys, request))
        return reply.code(401).send({ message: 'a key is required: sign in at /' });
      return undefined;
    });
    scope.post('/decode', async (request) => transcode(request, (all) => codec.decode(all)));
    scope.post('/encode', async (request) => transcode(request, (all) => codec.encode(all)));
  });
  return server;
}

async function transcode({ body }: FastifyRequest, convert: EncryptionCodec['decode']): Promise<unknown> {
  const input = payloads.parse(body).payloads.map(({ metadata = {}, data = '' }) => ({
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
