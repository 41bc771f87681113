/** Sessions, the decode log and the limits of the codec server, through real sockets. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { request } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { buildCodecServer, type CodecServerOptions } from '../../src/codec-server/server.ts';
import { codecConfig } from '../../src/config/codec-config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { newKey, newSecret } from '../support/keys.ts';

const KEY = newSecret();
const OTHER_KEY = newSecret();
const HOUR_MS = 3_600_000;
const ENVIRONMENT: Environment = {
  PAYMENTS_ENVIRONMENT: 'sandbox',
  PAYOUTS_ENCRYPTION_KEYS: newKey('k1'),
  PAYOUTS_CODEC_KEYS: `olga:${KEY},otto:${OTHER_KEY}`,
};
const JSON_TYPE = { 'content-type': 'application/json' };

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

class Stage {
  readonly clock = new FakeClock();
  readonly log: string[] = [];
  url = '';

  static async start(change: Environment = {}, options: CodecServerOptions = {}): Promise<Stage> {
    const stage = new Stage();
    const log = new PassThrough();
    log.on('data', (line: Buffer) => stage.log.push(line.toString()));
    const runtime = { ...PROCESS_RUNTIME, clock: stage.clock };
    const server = await buildCodecServer(codecConfig({ ...ENVIRONMENT, ...change }), {
      runtime,
      log,
      ...options,
    });
    cleanUps.push(() => server.close());
    stage.url = await server.listen({ host: '127.0.0.1', port: 0 });
    return stage;
  }

  async post(path: string, headers: Record<string, string>, body: string) {
    const answer = await request(this.url + path, { method: 'POST', headers, body });
    return {
      status: answer.statusCode,
      setCookie: String(answer.headers['set-cookie'] ?? ''),
      retryAfter: answer.headers['retry-after'],
      text: await answer.body.text(),
    };
  }

  decode(headers: Record<string, string>) {
    return this.post('/decode', { ...JSON_TYPE, ...headers }, '{"payloads":[{"data":"c2VjcmV0"},{}]}');
  }

  signIn(key: string, headers: Record<string, string> = {}) {
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    return this.post('/', { ...type, ...headers }, new URLSearchParams({ key }).toString());
  }

  async session(): Promise<{ cookie: string }> {
    const { status, setCookie } = await this.signIn(KEY);
    expect(status).toBe(200);
    return { cookie: setCookie.split(';')[0] ?? '' };
  }

  async bare(): Promise<Socket> {
    const socket = connect(Number(new URL(this.url).port), '127.0.0.1');
    cleanUps.push(async () => socket.destroy());
    await once(socket, 'connect');
    return socket;
  }
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('H47 sessions of the codec server', () => {
  test('the cookie does not show the key, and no script and no other site can use it', async () => {
    const stage = await Stage.start();
    const { setCookie, text: html } = await stage.signIn(KEY);
    expect(html).toContain('Signed in as olga');
    expect(setCookie).not.toContain(KEY);
    expect(setCookie).toMatch(
      /^payouts_codec=[^;]{43,}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    const { setCookie: other } = await stage.signIn(KEY);
    expect(other.split(';')[0]).not.toBe(setCookie.split(';')[0]);
    expect((await stage.decode({ cookie: setCookie.split(';')[0] ?? '' })).status).toBe(200);
  });

  test.each([
    ['a test on loopback', { PAYMENTS_ENVIRONMENT: 'test' }, false],
    ['a sandbox on loopback', { PAYMENTS_ENVIRONMENT: 'sandbox' }, true],
    ['a test on all addresses', { PAYMENTS_ENVIRONMENT: 'test', PAYOUTS_CODEC_LISTEN: '0.0.0.0:8081' }, true],
  ])('the cookie of %s', async (_where, environment, isSecure) => {
    const stage = await Stage.start(environment);
    expect((await stage.signIn(KEY)).setCookie.includes('Secure')).toBe(isSecure);
  });

  test('a session ends an hour after its last use', async () => {
    const stage = await Stage.start();
    const session = await stage.session();
    await stage.clock.advance(HOUR_MS - 1);
    expect((await stage.decode(session)).status).toBe(200);
    await stage.clock.advance(HOUR_MS);
    expect((await stage.decode(session)).status).toBe(401);
  });

  test('a session in use ends after 12 hours', async () => {
    const stage = await Stage.start();
    let session = await stage.session();
    for (let half = 1; half < 24; half += 1) {
      await stage.clock.advance(HOUR_MS / 2);
      const { status, setCookie } = await stage.decode(session);
      expect(status).toBe(200);
      session = { cookie: setCookie.split(';')[0] ?? '' };
    }
    await stage.clock.advance(HOUR_MS / 2);
    expect((await stage.decode(session)).status).toBe(401);
  });

  test('signing out ends the session, and so does another sign-in of the browser', async () => {
    const stage = await Stage.start();
    const session = await stage.session();
    const page = await request(stage.url, { headers: session });
    expect(await text(page.body)).toContain('Signed in as olga');
    const out = await stage.post('/sign-out', session, '');
    expect([out.status, out.text]).toEqual([200, expect.stringContaining('Signed out')]);
    expect(out.setCookie).toMatch(/(^|,)payouts_codec=; .*Expires=Thu, 01 Jan 1970/);
    expect((await stage.decode(session)).status).toBe(401);

    const first = await stage.session();
    await stage.signIn(KEY, first);
    expect((await stage.decode(first)).status).toBe(401);
  });

  test('one key cannot end the sessions of another, and a restart ends all', async () => {
    const stage = await Stage.start();
    const { setCookie } = await stage.signIn(OTHER_KEY);
    const other = { cookie: setCookie.split(';')[0] ?? '' };
    for (let more = 0; more < 21; more += 1) await stage.session();
    expect((await stage.decode(other)).status).toBe(200);
    expect((await (await Stage.start()).decode(other)).status).toBe(401);
  });

  test('a wrong key starts no session and is not echoed', async () => {
    const stage = await Stage.start();
    const { status, setCookie, text: html } = await stage.signIn('<script>nonsense</script>');
    expect([status, setCookie]).toEqual([401, '']);
    expect(html + stage.log.join()).not.toContain('nonsense');
  });
});

describe('H47 the decode log', () => {
  test('has one line for each request: the key, the namespace and the number of payloads', async () => {
    const stage = await Stage.start();
    const namespace = { 'x-namespace': 'payouts' };
    await stage.decode({ ...bearer(KEY), ...namespace });
    await stage.decode({ ...(await stage.session()), ...namespace });
    await stage.post('/encode', { ...JSON_TYPE, ...bearer(OTHER_KEY) }, '{}');
    await stage.post('/decode', { ...JSON_TYPE, ...bearer(KEY) }, '{"payloads":"c2VjcmV0"}');
    const lines = await eventually(() => {
      const all = stage.log
        .map((line): unknown => JSON.parse(line))
        .filter((line) => 'status' in Object(line));
      return all.length >= 4 ? all : undefined;
    });
    expect(lines).toMatchObject([
      { msg: 'decoded', key: 'olga', namespace: 'payouts', payloads: 2, status: 200 },
      { msg: 'decoded', key: 'olga', namespace: 'payouts', payloads: 2, status: 200 },
      { msg: 'encoded', key: 'otto', namespace: '', payloads: 0, status: 200 },
      { msg: 'decoded', key: 'olga', namespace: '', status: 400 },
    ]);
    const log = stage.log.join('');
    for (const secret of [KEY, 'c2VjcmV0', 'secret', 'payouts_codec']) expect(log).not.toContain(secret);
  });
});

describe('H47 failed sign-ins are limited per address', () => {
  const proxied = { PAYOUTS_CODEC_PROXIES: '127.0.0.0/8' };
  const from = (address: string) => ({ 'x-forwarded-for': address });

  test('after ten failures, even a correct key waits; sessions and other addresses do not', async () => {
    const stage = await Stage.start(proxied);
    const session = await stage.session();
    const attacker = from('203.0.113.7');
    for (let guess = 0; guess < 5; guess += 1) {
      expect((await stage.signIn(`guess-${guess}`, attacker)).status).toBe(401);
      expect((await stage.decode({ ...bearer(`guess-${guess}`), ...attacker })).status).toBe(401);
    }
    const limited = await stage.signIn(KEY, attacker);
    expect([limited.status, limited.retryAfter, limited.setCookie]).toEqual([429, '6', '']);
    expect((await stage.decode({ ...bearer(KEY), ...attacker })).status).toBe(429);
    expect((await stage.decode({ ...session, ...attacker })).status).toBe(200);
    expect((await stage.decode({ ...bearer(KEY), ...from('203.0.113.8') })).status).toBe(200);
    await stage.clock.advance(6_000);
    expect((await stage.signIn(KEY, attacker)).status).toBe(200);
  });

  test('a request without a key is no failure', async () => {
    const stage = await Stage.start();
    for (let at = 0; at < 30; at += 1) expect((await stage.decode({})).status).toBe(401);
    expect((await stage.decode(bearer(KEY))).status).toBe(200);
  });

  test('a client cannot choose its address: X-Forwarded-For counts only behind a proxy', async () => {
    const stage = await Stage.start();
    for (let guess = 0; guess < 10; guess += 1)
      expect((await stage.decode({ ...bearer('guess'), ...from(`203.0.113.${guess}`) })).status).toBe(401);
    expect((await stage.decode({ ...bearer('guess'), ...from('203.0.113.99') })).status).toBe(429);
  });

  test('all addresses of a /64 share a limit', async () => {
    const stage = await Stage.start(proxied);
    for (let host = 0; host < 10; host += 1)
      expect((await stage.decode({ ...bearer('guess'), ...from(`2001:db8:0:7::${host}`) })).status).toBe(401);
    expect((await stage.decode({ ...bearer(KEY), ...from('2001:0db8:0:7:ffff::1') })).status).toBe(429);
    expect((await stage.decode({ ...bearer(KEY), ...from('2001:db8:0:8::1') })).status).toBe(200);
  });
});

describe('H47 the work of the codec server is limited', () => {
  const head = (key: string) =>
    `POST /decode HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n`;

  test('closes a connection whose headers or body do not arrive in time', async () => {
    const stage = await Stage.start({}, { requestTimeoutMs: 300 });
    for (const start of ['POST /decode HTTP/1.1\r\nhost: x\r\n', head(KEY)]) {
      const socket = await stage.bare();
      socket.write(start);
      expect(await text(socket)).toMatch(/^(HTTP\/1\.1 408 |$)/);
    }
  });

  test('refuses further requests while the maximum number is under way, and continues after them', async () => {
    const stage = await Stage.start({}, { maxConcurrent: 2 });
    const slow = [await stage.bare(), await stage.bare()];
    for (const socket of slow) socket.write(head(KEY));
    await eventually(async () => {
      const { status, retryAfter } = await stage.decode(bearer(KEY));
      return (status === 503 && retryAfter === '1') || undefined;
    });
    for (const socket of slow) socket.destroy();
    await eventually(async () => (await stage.decode(bearer(KEY))).status === 200 || undefined);
  });

  test('a request without a key takes no place', async () => {
    const stage = await Stage.start({}, { maxConcurrent: 1 });
    for (let at = 0; at < 3; at += 1) (await stage.bare()).write(head('a-key-that-is-wrong'));
    expect((await stage.decode(bearer(KEY))).status).toBe(200);
  });
});
