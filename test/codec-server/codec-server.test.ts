import { randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { defaultPayloadConverter } from '@temporalio/common';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCodecServer } from '../../src/codec-server/server.ts';
import { codecConfig } from '../../src/config/codec-config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { KeyRing } from '../../src/encryption/key-ring.ts';
import { EncryptionCodec } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { configProblems } from '../support/config-problems.ts';
import { newSecret } from '../support/keys.ts';

const PAYLOAD_KEY = randomBytes(32);
const KEYS = [newSecret(), newSecret()];
const NAMED_KEYS = `olga:${KEYS[0]},on-call:${KEYS[1]}`;
const UI = 'https://ui.example.com';
const environment: Environment = {
  PAYMENTS_ENVIRONMENT: 'production',
  PAYOUTS_ENCRYPTION_KEYS: `k1:${PAYLOAD_KEY.toString('base64')}`,
  PAYOUTS_CODEC_KEYS: NAMED_KEYS,
  PAYOUTS_CODEC_ORIGINS: UI,
};

let server: Awaited<ReturnType<typeof buildCodecServer>>;
let url: string;
let sealed: unknown;

beforeAll(async () => {
  server = await buildCodecServer(codecConfig(environment), { log: new PassThrough().resume() });
  url = await server.listen({ host: '127.0.0.1', port: 0 });
  const codec = new EncryptionCodec(new KeyRing(new Map([['k1', PAYLOAD_KEY]])), PROCESS_RUNTIME.random);
  const payloads = await codec.encode([defaultPayloadConverter.toPayload({ card: '6222' })]);
  sealed = { payloads: payloads.map(asJson) };
});
afterAll(() => server.close());

function asJson(payload: { metadata?: Record<string, Uint8Array> | null; data?: Uint8Array | null }) {
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  const metadata = Object.entries(payload.metadata ?? {}).map(([name, value]) => [name, base64(value)]);
  return { metadata: Object.fromEntries(metadata), data: base64(payload.data ?? new Uint8Array()) };
}

async function decode(headers: Record<string, string>, body: unknown = sealed, path = '/decode') {
  const answer = await request(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-namespace': 'default', ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const shown = (text: string) => Buffer.from(/"data":"([^"]*)"/.exec(text)?.[1] ?? '', 'base64').toString();

describe('H47 the codec server decodes only for holders of a key', () => {
  test.each([...KEYS])('accepts each configured key: %s', async (key) => {
    const answer = await decode(bearer(key));
    expect(answer.status).toBe(200);
    expect(shown(answer.text)).toBe('{"card":"6222"}');
  });

  test.each<[string, Record<string, string>]>([
    ['no key', {}],
    ['a wrong key', bearer('third-bearer-key-0003')],
    ['a part of a key', bearer('first-bearer-key-000')],
    ['an empty key', bearer('')],
    ['both keys at once', bearer(KEYS.join(','))],
    ['another scheme', { authorization: `Basic ${KEYS[0]}` }],
    ['a name and its key', bearer(`olga:${KEYS[0]}`)],
    ['a wrong cookie', { cookie: 'payouts_codec=third-bearer-key-0003' }],
    ['a key as the cookie', { cookie: `payouts_codec=${KEYS[0]}` }],
  ])('%s: returns 401 and nothing of the payload', async (_what, headers) => {
    for (const path of ['/decode', '/encode']) {
      const answer = await decode(headers, sealed, path);
      expect(answer.status).toBe(401);
      expect(answer.text).not.toContain('6222');
    }
  });

  test("denies a foreign origin, and allows the UI's origin with credentials", async () => {
    const preflight = async (origin: string) => {
      const { headers, body } = await request(`${url}/decode`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' },
      });
      await body.dump();
      return headers;
    };
    expect((await preflight(UI))['access-control-allow-origin']).toBe(UI);
    expect((await preflight(UI))['access-control-allow-credentials']).toBe('true');
    for (const other of ['https://evil.example.com', 'https://ui.example.com.evil.example', 'null'])
      expect((await preflight(other))['access-control-allow-origin']).toBeUndefined();
    const answer = await decode({ ...bearer(KEYS[0] ?? ''), origin: 'https://evil.example.com' });
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('responses', () => {
  const key = bearer(KEYS[0] ?? '');
  test('H319 encrypts nothing for its callers: what a person enters in the UI stays plain', async () => {
    const plain = { payloads: [asJson(defaultPayloadConverter.toPayload({ by: 'olga' }))] };
    const { status, text } = await decode(key, plain, '/encode');
    expect([status, JSON.parse(text)]).toEqual([200, plain]);
  });

  test('decodes an empty list, which the Temporal CLI omits', async () => {
    const { status, text } = await decode(key, {});
    expect([status, JSON.parse(text)]).toEqual([200, { payloads: [] }]);
  });

  test.each([
    ['no payloads', { some: 'thing' }],
    ['bad base64', { payloads: [{ data: '%%%' }] }],
    ['a text', 'text'],
  ])('%s: returns 400', async (_what, body) => {
    expect((await decode(key, body)).status).toBe(400);
  });

  test('returns 422 with the unknown key id', async () => {
    const other = new EncryptionCodec(
      new KeyRing(new Map([['k9', randomBytes(32)]])),
      PROCESS_RUNTIME.random,
    );
    const payloads = (await other.encode([defaultPayloadConverter.toPayload('x')])).map(asJson);
    const answer = await decode(key, { payloads });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain('k9');
  });
});

describe('H47 startup configuration', () => {
  const problems = (change: Environment) => {
    return configProblems(() => codecConfig({ ...environment, ...change })).join('\n');
  };

  test('listens on loopback by default', () => {
    expect(codecConfig(environment).PAYOUTS_CODEC_LISTEN.host).toBe('127.0.0.1');
  });

  test.each<[string, Environment, RegExp]>([
    ['without bearer keys', { PAYOUTS_CODEC_KEYS: '' }, /PAYOUTS_CODEC_KEYS: is missing/],
    [
      'without bearer keys in a test environment that listens on all addresses',
      {
        PAYOUTS_CODEC_KEYS: '',
        PAYMENTS_ENVIRONMENT: 'test',
        PAYMENTS_BASE_URL: 'http://127.0.0.1:1',
        PAYOUTS_CODEC_LISTEN: '0.0.0.0:8081',
      },
      /PAYOUTS_CODEC_KEYS: is missing/,
    ],
    ['with a short key', { PAYOUTS_CODEC_KEYS: 'olga:short' }, /16 characters/],
    ['with a key without a name', { PAYOUTS_CODEC_KEYS: KEYS[0] }, /must be name:key pairs/],
    [
      'with one key under two names',
      { PAYOUTS_CODEC_KEYS: `olga:${KEYS[0]},otto:${KEYS[0]}` },
      /must have each key once/,
    ],
    [
      'with three keys under one name',
      { PAYOUTS_CODEC_KEYS: ['a', 'b', 'c'].map((end) => `olga:${KEYS[0]}${end}`).join(',') },
      /at most two keys for each name/,
    ],
    ['with a proxy that is no address', { PAYOUTS_CODEC_PROXIES: '10.0.0.0/33' }, /PAYOUTS_CODEC_PROXIES/],
    ['without payload keys', { PAYOUTS_ENCRYPTION_KEYS: '' }, /PAYOUTS_ENCRYPTION_KEYS/],
    [
      'with token keys, which it does not need',
      { PAYOUTS_TOKEN_KEYS: `t1:${randomBytes(32).toString('base64')}` },
      /PAYOUTS_TOKEN_KEYS: must not be given/,
    ],
    ['with any origin', { PAYOUTS_CODEC_ORIGINS: '*' }, /exact origins/],
    ['with an origin and a path', { PAYOUTS_CODEC_ORIGINS: 'https://ui.example/x' }, /exact origins/],
  ])('%s: refuses to start, with the reason', (_what, change, reason) => {
    expect(problems(change)).toMatch(reason);
  });
});
