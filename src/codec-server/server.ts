/**
 * Encodes and decodes payloads for the Temporal UI and CLI. Who may: holders of a bearer key, sent as a header or
 * kept by a cookie that the sign-in page sets, for the UI can send no header of ours.
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
import { PROCESS_SURROUNDINGS } from '../surroundings/process.ts';
import { isAuthorized, isKnownKey } from './session.ts';
import { signInRoutes } from './sign-in.ts';

/** A page of a history, and Temporal's own limit of 2 MiB for one payload. */
const MOST_BYTES = 8 * 1024 * 1024;

const payloads = z.object({
  payloads: z.array(
    z.object({
      metadata: z.record(z.string(), z.base64()).optional(),
      data: z.base64().optional(),
    }),
  ),
});

export async function buildCodecServer(config: CodecConfig): Promise<FastifyInstance> {
  const server = fastify({
    logger: { level: 'warn', stream: process.stderr },
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MOST_BYTES,
  });
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
  signInRoutes(server, (key) => isKnownKey(config.keys, key));
  server.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      if (!isAuthorized(config.keys, request))
        return reply.code(401).send({ message: 'a key is needed: sign in at /' });
      return undefined;
    });
    scope.post('/decode', async (request) => translated(request, (all) => codec.decode(all)));
    scope.post('/encode', async (request) => translated(request, (all) => codec.encode(all)));
  });
  return server;
}

type Codes = (payloads: Parameters<EncryptionCodec['decode']>[0]) => ReturnType<EncryptionCodec['decode']>;

async function translated({ body }: FastifyRequest, translate: Codes): Promise<unknown> {
  const asked = payloads.parse(body).payloads.map(({ metadata = {}, data = '' }) => ({
    metadata: Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, bytes(value)])),
    data: bytes(data),
  }));
  const answered = await translate(asked);
  return {
    payloads: answered.map(({ metadata, data }) => ({
      metadata: Object.fromEntries(
        Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)]),
      ),
      data: base64(data ?? new Uint8Array()),
    })),
  };
}

function answerError(error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof z.ZodError) return reply.code(400).send({ message: 'these are no payloads' });
  if (error instanceof UnknownKeyError) return reply.code(422).send({ message: error.message });
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : 500;
  return reply.code(typeof status === 'number' ? status : 500).send({ message: 'the request is not usable' });
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text, 'base64');
}

function base64(content: Uint8Array): string {
  return Buffer.from(content).toString('base64');
}
