/** Encryption: payloads, sealed tokens, and the codec server. */
import { PassThrough } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import type { Payload } from '@temporalio/common';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { chance, type Random, whole } from '../../simulator/runtime.ts';
import { buildCodecServer } from '../../src/codec-server/server.ts';
import { codecConfig } from '../../src/config/codec-config.ts';
import { KeyRing, TokenSeal, UndecipherableError, UnknownKeyError } from '../../src/encryption/key-ring.ts';
import { EncryptionCodec } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { demand, type Edge, type Judge, type Verdict } from '../edge.ts';
import { type Answer, asJson, demandNoFailure, injected, seldom } from '../http.ts';
import { type Change, changedBytes, changes } from '../inputs/changes.ts';
import { documents, randoms, shown } from '../inputs/documents.ts';

const KEY = Buffer.alloc(32, 9);
const OLD_KEY = Buffer.alloc(32, 5);
const BEARER = 'fuzz-codec-bearer-key';
const ring = new KeyRing(
  new Map([
    ['k1', KEY],
    ['k0', OLD_KEY],
  ]),
);
const codec = new EncryptionCodec(ring, PROCESS_RUNTIME.random);
const seal = new TokenSeal(ring, PROCESS_RUNTIME.random);

type Input =
  | { kind: 'payload'; plain: Buffer; encoding: string; cipher: Change[]; keyId: string }
  /** Bytes that are not a payload, encrypted with our key. */
  | { kind: 'inside'; plain: Buffer }
  | { kind: 'token'; secret: string; openId: string | undefined; sealed: Change[] }
  | { kind: 'server'; path: string; type: string; headers: Record<string, string>; body: Buffer };

const bytes = fc.uint8Array({ maxLength: 80 }).map((list) => Buffer.from(list));
const ENCODINGS = [
  'json/plain',
  'binary/null',
  'binary/encrypted',
  '',
  'binary/encrypted\u0000',
  '__proto__',
];
const KEY_IDS = ['k0', 'k9', '', '__proto__', 'constructor', 'k'.repeat(500), '\ud800', 'k1\u0000'];
const PATHS = ['/encode', '/', '/healthz', '/decode?x=1', '/%', '/decode/', '/__proto__'];
const TYPES = [
  'application/x-www-form-urlencoded',
  'text/plain',
  '',
  'application/json; charset=latin1',
  ';',
];
const HEADERS = [
  {},
  { authorization: 'Bearer wrong' },
  { authorization: `Basic ${BEARER}` },
  { cookie: `payouts_codec=${BEARER}` },
  { cookie: 'payouts_codec=%; __proto__=x; =;;' },
  { authorization: `Bearer ${BEARER}`, origin: 'https://evil.example' },
  { authorization: `Bearer ${BEARER}`, 'content-encoding': 'br' },
];

const payloads = fc.record({
  kind: fc.constant('payload' as const),
  plain: bytes,
  encoding: fc.constantFrom(...ENCODINGS),
  cipher: fc.oneof(fc.constant<Change[]>([]), changes(3)),
  keyId: seldom('k1', KEY_IDS),
});
const insides = fc.record({ kind: fc.constant('inside' as const), plain: bytes });
const tokens = fc.record({
  kind: fc.constant('token' as const),
  secret: fc.oneof(fc.string({ maxLength: 40 }), fc.string({ unit: 'binary', maxLength: 40 })),
  openId: fc.option(fc.string({ unit: 'binary', maxLength: 20 }), { nil: undefined }),
  sealed: fc.oneof(fc.constant<Change[]>([]), changes(3)),
});
const about = fc.record({
  path: seldom('/decode', PATHS),
  type: seldom('application/json', TYPES),
  headers: seldom<Record<string, string>>({ authorization: `Bearer ${BEARER}` }, HEADERS),
  seed: randoms,
});
const calls = documents((random) => drawBody(random), about).map(({ about: how, bytes: body }) => ({
  ...{ kind: 'server' as const, path: how.path, type: how.type, headers: how.headers, body },
}));

export const codecs: Edge<Input> = {
  name: 'codec',
  inputs: fc.oneof(payloads, insides, tokens, calls),
  open,
  show: (input) =>
    input.kind === 'server'
      ? `server: ${input.path} ${input.type} ${JSON.stringify(input.headers)} ${shown(input.body)}`
      : `${input.kind}: ${JSON.stringify(input, (_key, value: unknown) => (isBytes(value) ? shown(value) : value))}`,
};

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array;
}

function drawBody(random: Random): unknown {
  const one = () => {
    const plain = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(`"${random()}"`) };
    return chance(random, 0.5) ? plain : encryptedBy(plain);
  };
  const base64 = (data: Uint8Array) => Buffer.from(data).toString('base64');
  return {
    payloads: Array.from({ length: whole(random, 0, 3) }, one).map(({ metadata, data }) => ({
      metadata: Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, base64(value)])),
      data: base64(data),
    })),
  };
}

/** As the codec does, but synchronously. */
function encryptedBy({ data }: { data: Uint8Array }) {
  return {
    metadata: { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from('k1') },
    data: ring.encrypt(Buffer.concat([Buffer.from([0x12, data.length]), data]), PROCESS_RUNTIME.random),
  };
}

async function open(): Promise<Judge<Input>> {
  // A minute passes between two inputs, so that wrong keys do not exhaust the limit on failed sign-ins.
  let nowMs = 0;
  const clock = {
    ...PROCESS_RUNTIME.clock,
    nowMs: () => {
      nowMs += 60_000;
      return nowMs;
    },
  };
  const server = await buildCodecServer(
    codecConfig({
      PAYMENTS_ENVIRONMENT: 'test',
      PAYOUTS_ENCRYPTION_KEYS: `k1:${KEY.toString('base64')},k0:${OLD_KEY.toString('base64')}`,
      PAYOUTS_CODEC_KEYS: `fuzz:${BEARER}`,
      PAYOUTS_CODEC_ORIGINS: 'https://ui.example',
    }),
    { log: new PassThrough().resume(), runtime: { ...PROCESS_RUNTIME, clock } },
  );
  await server.ready();
  return {
    judge: (input) => judged(server, input),
    settle: async () => undefined,
    close: async () => {
      await server.close();
    },
  };
}

function judged(server: FastifyInstance, input: Input): Promise<Verdict> | Verdict {
  switch (input.kind) {
    case 'payload':
      return judgePayload(input);
    case 'inside':
      return judgeInside(input.plain);
    case 'token':
      return judgeToken(input);
    case 'server':
      return judgeServer(server, input);
  }
}

async function judgePayload(input: Extract<Input, { kind: 'payload' }>): Promise<Verdict> {
  const payload: Payload = { metadata: { encoding: Buffer.from(input.encoding) }, data: input.plain };
  const [encrypted] = await codec.encode([payload]);
  demand(encrypted !== undefined, 'encoded nothing');
  const back = await decoded(encrypted);
  demand(back !== undefined && sameBytes(back, payload), 'changes when it is encoded and decoded');
  const cipher = changedBytes(Buffer.from(encrypted.data ?? []), input.cipher);
  const keyId = Buffer.from(input.keyId);
  const bent: Payload = { metadata: { ...encrypted.metadata, 'encryption-key-id': keyId }, data: cipher };
  const read = await decoded(bent);
  if (read === undefined) return 'refused';
  const isWhole = cipher.equals(Buffer.from(encrypted.data ?? [])) && keyId.toString() === 'k1';
  demand(
    isWhole ? sameBytes(read, payload) : read === bent,
    'a changed ciphertext was decoded to another payload',
  );
  return isWhole ? 'accepted' : 'refused';
}

/** Undefined for a missing key. */
async function decoded(payload: Payload): Promise<Payload | undefined> {
  try {
    const [read] = await codec.decode([payload]);
    demand(read !== undefined, 'decoded nothing');
    return read;
  } catch (error) {
    demand(
      error instanceof UnknownKeyError,
      `decoding threw ${error instanceof Error ? `${error.name}: ${error.message}` : typeof error}`,
    );
    demand(error.message.length < 600, 'an error quotes the payload');
    return undefined;
  }
}

async function judgeInside(plain: Buffer): Promise<Verdict> {
  const metadata = { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from('k1') };
  const payload: Payload = { metadata, data: ring.encrypt(plain, PROCESS_RUNTIME.random) };
  const read = await decoded(payload);
  return read === undefined || read === payload ? 'refused' : 'accepted';
}

function sameBytes(one: Payload, other: Payload): boolean {
  const plain = ({ metadata, data }: Payload) => [
    Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('hex')]),
    Buffer.from(data ?? []).toString('hex'),
  ];
  return isDeepStrictEqual(plain(one), plain(other));
}

const OWNER = { environment: 'test', app: 'default' };

function judgeToken({ secret, openId, sealed: list }: Extract<Input, { kind: 'token' }>): Verdict {
  const owner = openId === undefined ? OWNER : { ...OWNER, openId };
  const sealed = seal.seal(secret, owner, 'access');
  demand(seal.open(sealed, owner, 'access') === secret, 'changes when it is sealed and opened');
  demand(opened(sealed, { ...owner, app: 'other' }) === undefined, 'opened for another owner');
  const bent = changedBytes(Buffer.from(sealed), list).toString('latin1');
  const read = opened(bent, owner);
  demand(read === undefined || read === secret, 'a changed seal was opened to another secret');
  return read === undefined ? 'refused' : 'accepted';
}

function opened(sealed: string, owner: typeof OWNER): string | undefined {
  try {
    return seal.open(sealed, owner, 'access');
  } catch (error) {
    const isDeclared = error instanceof UnknownKeyError || error instanceof UndecipherableError;
    demand(
      isDeclared,
      `opening threw ${error instanceof Error ? `${error.name}: ${error.message}` : typeof error}`,
    );
    return undefined;
  }
}

async function judgeServer(
  server: FastifyInstance,
  input: Extract<Input, { kind: 'server' }>,
): Promise<Verdict> {
  const headers = { ...(input.type !== '' && { 'content-type': input.type }), ...input.headers };
  const answer = await injected(server, { method: 'POST', url: input.path, headers, body: input.body });
  demandNoFailure(answer, [BEARER, KEY.toString('base64'), OLD_KEY.toString('base64')]);
  if (answer.status >= 400) return 'refused';
  if (input.path === '/encode' || input.path.startsWith('/decode')) demandPayloads(answer, input);
  return 'accepted';
}

function demandPayloads(answer: Answer, { headers, body }: Extract<Input, { kind: 'server' }>): void {
  demand(JSON.stringify(headers).includes(`Bearer ${BEARER}`), 'served a caller without a key');
  const count = (document: unknown) =>
    typeof document === 'object' &&
    document !== null &&
    'payloads' in document &&
    Array.isArray(document.payloads)
      ? document.payloads.length
      : undefined;
  const text = body.toString('utf8').replace(/^\ufeff/, '');
  // The Temporal CLI omits an empty list.
  const asked = /^\s*\{\s*\}\s*$/.test(text) ? 0 : count(asJson(text));
  demand(asked !== undefined && count(asJson(answer.text)) === asked, 'returned another number of payloads');
}
