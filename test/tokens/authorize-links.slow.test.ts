/** Links for the authorization of users, and what strangers can hold open, through real sockets. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { standInClient } from '../../fuzz/temporal.ts';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { get, newLink, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { newKey } from '../support/keys.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const PAGE =
  'https://auth.provider.example/entrance/authorization?app_id=a&redirect_uri=https%3A%2F%2Fpayouts.example%2Fpay%2Fv1%2Foauth%2Fdefault%2Fcallback';
const standIn = standInClient({
  ...{ ends: { authorizationLink: PAGE }, states: [], queries: {} },
  argumentOf: () => null,
});

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function serve(...[environment, options]: [object?, object?]): Promise<TestApiServer> {
  const server = await startApiServer(standIn, { ...environment }, { ...options });
  cleanUps.push(() => server.close());
  return server;
}

async function open(url: string, method: 'GET' | 'HEAD' = 'GET') {
  const { statusCode, headers, body } = await request(url, { method });
  await body.dump();
  return { status: statusCode, allow: headers['allow'], location: headers['location'] };
}

describe('H159 a link for two API servers', () => {
  let world: VirtualWorld;
  let servers: TestApiServer[];
  beforeAll(async () => {
    world = await VirtualWorld.start();
    const keys = { PAYOUTS_AUTHORIZATION_KEYS: newKey('a1') };
    servers = [await startApiServer(world.client, keys), await startApiServer(world.client, keys)];
  });
  afterAll(async () => {
    for (const server of servers) await server.close();
    await world.stop();
  });
  const at = (nth: number) => servers[nth]?.url ?? '';
  const elsewhere = (link: string) => link.replace(at(0), at(1));

  test('works on either of them, and once on both together', async () => {
    const link = await newLink(at(0));
    const first = await open(elsewhere(link));
    expect(first.status).toBe(302);
    expect(first.location).toContain('/entrance/authorization?');
    expect((await open(link)).status).toBe(400);
    expect((await open(elsewhere(link))).status).toBe(400);
    expect((await open(await newLink(at(0)))).status, 'another link').toBe(302);
  });

  test('opened twenty times at once: works once', async () => {
    const link = await newLink(at(1)).then((url) => url.replace(at(1), at(0)));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => open(nth % 2 === 0 ? link : elsewhere(link))),
    );
    expect(answers.filter(({ status }) => status === 302)).toHaveLength(1);
  });
});

describe('H159 the routes of a browser', () => {
  test('accept only a link that this installation issued for the application', async () => {
    const { url } = await serve();
    const link = await newLink(url);
    const bare = `${url}/v1/oauth/default/authorize`;
    const [, text = ''] = link.split('link=');
    for (const bad of [
      bare,
      `${bare}?link=`,
      `${bare}?link=${text}&link=${text}`,
      `${bare}?link=${text.replace(/(?<=\..{8})./, (one) => (one === '_' ? '-' : '_'))}`,
      `${bare}?link=process.${'x'.repeat(47)}`,
      `${url}/v1/oauth/other/authorize?link=${text}`,
    ])
      expect((await open(bad)).status, bad).toBe(400);
    expect((await open(link.replace(/^.*\/v1\/|^.*\/pay\/v1\//, `${url}/v1/`))).status).toBe(302);
  });

  test('answer HEAD with 405, which uses no link up', async () => {
    const { url } = await serve();
    const link = (await newLink(url)).replace('/pay/', '/');
    for (const target of [link, `${url}/v1/oauth/default/callback?state=x&code=y`])
      expect(await open(target, 'HEAD')).toMatchObject({ status: 405, allow: 'GET' });
    expect((await open(link)).status).toBe(302);
  });

  test('limit the invalid requests of an address, and serve its valid ones', async () => {
    const clock = new FakeClock();
    const { url } = await serve({ PAYOUTS_API_PROXIES: '127.0.0.1' }, { clock });
    const invalid = (address: string, route = 'authorize') =>
      get(`${url}/v1/oauth/default/${route}?state=x`, { 'x-forwarded-for': address });
    for (let at = 0; at < 20; at += 1)
      expect((await invalid('203.0.113.7', at % 2 ? 'authorize' : 'callback')).status).toBe(400);
    expect(await invalid('203.0.113.7')).toMatchObject({ status: 429, headers: { 'retry-after': '3' } });
    expect((await invalid('203.0.113.8')).status).toBe(400);
    const link = (await newLink(url)).replace('/pay/', '/');
    const valid = await request(link, { headers: { 'x-forwarded-for': '203.0.113.7' } });
    await valid.body.dump();
    expect(valid.statusCode).toBe(302);
    await clock.advance(3_000);
    expect((await invalid('203.0.113.7')).status).toBe(400);
  });
});

describe('POST /v1/authorizations', () => {
  test('returns a link beside the redirect URI, and when it expires', async () => {
    const { url } = await serve();
    const { status, body, headers } = await post(`${url}/v1/authorizations`, { app: 'default' });
    expect(status).toBe(201);
    expect(headers['cache-control']).toBe('no-store');
    expect(body).toEqual({
      app: 'default',
      url: expect.stringMatching(
        /^https:\/\/payouts\.example\/pay\/v1\/oauth\/default\/authorize\?link=[\w.-]{40,}$/,
      ),
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
  });

  test('requires a key with the verb, the application and every user', async () => {
    const { url } = await serve({
      PAYOUTS_API_KEYS_FILE: keysFile([
        callerEntry('shop'),
        callerEntry('reader', { verbs: ['read'] }),
        callerEntry('other', { applications: ['other'] }),
        callerEntry('scoped', { clientIds: ['client-1'], openIds: ['user-1'], payerIds: ['payer-1'] }),
      ]),
    });
    const issue = async (headers: Record<string, string>) => {
      const { status, body } = await post(`${url}/v1/authorizations`, {}, headers);
      return [status, JSON.stringify(body)];
    };
    expect((await issue({}))[0]).toBe(401);
    expect(await issue(as('reader'))).toEqual([403, expect.stringContaining('verb-not-allowed')]);
    expect(await issue(as('other'))).toEqual([403, expect.stringContaining('application-not-allowed')]);
    expect(await issue(as('scoped'))).toEqual([403, expect.stringContaining('outside-scope')]);
    expect((await issue(as('shop')))[0]).toBe(201);
  });
});

describe('H159 a stranger who holds a connection open', () => {
  async function bare(url: string): Promise<Socket> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    cleanUps.push(() => socket.destroy());
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }

  test('without a request, with half of its headers or half of its body: closed after the deadline', async () => {
    const { url } = await serve({}, { requestTimeoutMs: 300 });
    for (const start of [
      '',
      'GET /v1/oauth/default/authorize HTTP/1.1\r\nhost: x\r\n',
      'POST /v1/notifications/default HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{',
    ]) {
      const socket = await bare(url);
      socket.write(start);
      socket.resume();
      await once(socket, 'close');
    }
  });

  test('without reading the responses: closed after 30 seconds', async () => {
    const clock = new FakeClock();
    const { url } = await serve({}, { clock });
    const socket = await bare(url);
    socket.pause();
    let isClosed = false;
    socket.on('close', () => {
      isClosed = true;
    });
    // More than the buffers of both sides hold.
    socket.write('GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(400));
    await eventually(async () => {
      await clock.advance(30_000);
      // A paused socket sees the end of the connection when it writes.
      socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
      return isClosed || undefined;
    });
    expect((await get(`${url}/healthz`)).status).toBe(200);
  });
});

describe('H160 the keys of the API server open no token', () => {
  test('without authorization keys, it authorizes no users', async () => {
    const { url } = await serve({
      ...{ PAYMENTS_ENVIRONMENT: 'sandbox', PAYOUTS_ENCRYPTION_KEYS: newKey('k1') },
      ...{
        PAYMENTS_BASE_URL: 'https://api.provider.example',
        PAYMENTS_ALLOWED_HOSTS: 'api.provider.example',
      },
      PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop')]),
    });
    const issued = await post(`${url}/v1/authorizations`, {}, as('shop'));
    expect(issued).toMatchObject({ status: 501, body: { type: '/problems/authorization-not-configured' } });
    expect((await open(`${url}/v1/oauth/default/authorize?link=a.b`)).status).toBe(501);
  });

  test('a user authorizes with one key ring for codes, and another for tokens', async () => {
    const keys = { PAYOUTS_AUTHORIZATION_KEYS: newKey('a1') };
    const world = await VirtualWorld.start({ env: { ...keys, PAYOUTS_TOKEN_KEYS: newKey('t1') } });
    cleanUps.push(() => world.stop());
    const server = await startApiServer(world.client, keys);
    cleanUps.push(() => server.close());
    const first = await request(await newLink(server.url));
    await first.body.dump();
    const state = new URL(String(first.headers['location'])).searchParams.get('state') ?? '';
    const { code } = world.simulator.control.authorize({ appId: 'demo-app', openId: 'olga' });
    const callback = `${server.url}/v1/oauth/default/callback?${new URLSearchParams({ state, code })}`;
    const cookie = String(first.headers['set-cookie']).split(';')[0] ?? '';
    const { statusCode, body } = await request(callback, { headers: { cookie } });
    await body.dump();
    expect(statusCode).toBe(200);
    const renewal = world.client.workflow.getHandle(tokenWorkflowId('default', 'olga'));
    const { events } = await eventually(() => renewal.fetchHistory().catch(() => undefined));
    expect(JSON.stringify(events)).not.toContain(code);
  });
});
