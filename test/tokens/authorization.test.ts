import { request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { tokenStateQuery } from '../../src/contract/workflows.ts';
import { newLink, startApiServer, type TestApiServer } from '../support/http.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;
let base: string;

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  // A code works once, so an exchange must not time out.
  world = await VirtualWorld.start({ idle: true, env: { PAYMENTS_CALL_TIMEOUT: '1m' } });
  service = await startApiServer(world.client, { PORT: `${port}` });
  base = `${service.url}/v1/oauth/default`;
  world.simulator.control.changeApp('demo-app', { redirectUri: `${base}/callback` });
  await world.startWorkers({ PAYMENTS_REDIRECT_URI: `${base}/callback` });
});
afterAll(async () => {
  await service.close();
  await world.stop();
});
beforeEach(() => world.simulator.control.removeFaults());

const exchanges = () =>
  world.simulator.control.calls().filter(({ operation }) => operation === 'oauthToken').length;
const tokenOf = (openId: string) =>
  world.client.workflow.getHandle(tokenWorkflowId('default', openId)).query(tokenStateQuery);

/** Starts an attempt as a browser does. Returns the redirect and the cookie. */
async function begin(cookie?: string) {
  const answer = await request(await newLink(service.url), { headers: cookie ? { cookie } : {} });
  await answer.body.dump();
  const link = new URL(String(answer.headers['location']));
  const set = String(answer.headers['set-cookie']);
  return { link, set, cookie: set.split(';')[0] ?? '', state: link.searchParams.get('state') ?? '' };
}

async function requestCallback(query: Record<string, string>, cookie?: string) {
  const url = `${base}/callback?${new URLSearchParams(query)}`;
  const answer = await request(url, { headers: cookie ? { cookie } : {} });
  return { status: answer.statusCode, headers: answer.headers, html: await answer.body.text() };
}

const code = (openId: string) => world.simulator.control.authorize({ appId: 'demo-app', openId }).code;

describe('H49 a forged or replayed callback', () => {
  test('the state is unguessable, and the cookie is limited to this flow and inaccessible to scripts', async () => {
    const [one, two] = [await begin(), await begin()];
    expect(one.state).toMatch(/^[\w-]+\.[\w-]{48,}$/);
    expect(one.state).not.toBe(two.state);
    expect(one.set).toMatch(/HttpOnly/);
    expect(one.set).toMatch(/SameSite=Lax/);
    expect(one.set).toMatch(/Path=\/v1\/oauth/);
  });

  test.each([
    ['without a cookie', async () => ({ query: { state: (await begin()).state }, cookie: undefined })],
    [
      'from another browser',
      async () => ({ query: { state: (await begin()).state }, cookie: (await begin()).cookie }),
    ],
    [
      'with a made-up state',
      async () => ({ query: { state: 'x'.repeat(43) }, cookie: (await begin()).cookie }),
    ],
    ['without a state', async () => ({ query: {}, cookie: (await begin()).cookie })],
  ])('%s: rejected, and the code is not exchanged', async (_how, make) => {
    const { query, cookie } = await make();
    const before = exchanges();
    const answer = await requestCallback({ ...query, code: code('victim') }, cookie);
    expect(answer.status).toBe(400);
    expect(answer.html).toContain('This link does not work');
    expect(exchanges()).toBe(before);
  });

  test("a callback from another browser does not use up the attempt; the right browser's works once", async () => {
    const mine = await begin();
    expect(
      (await requestCallback({ state: mine.state, code: code('mallory') }, (await begin()).cookie)).status,
    ).toBe(400);
    const granted = await requestCallback({ state: mine.state, code: code('seller-8') }, mine.cookie);
    expect(granted.status).toBe(200);
    expect(granted.headers['referrer-policy']).toBe('no-referrer');
    expect(granted.headers['cache-control']).toBe('no-store');
    expect((await requestCallback({ state: mine.state, code: code('seller-8') }, mine.cookie)).status).toBe(
      400,
    );
    await expect(tokenOf('mallory')).rejects.toThrow();
  });

  test('fifty concurrent callbacks with the same state: one exchange', async () => {
    const mine = await begin();
    const before = exchanges();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        requestCallback({ state: mine.state, code: code('seller-9') }, mine.cookie),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(exchanges() - before).toBe(1);
  });
});

describe('the exchange of the code', () => {
  test('is not repeated when its answer is lost, and the page says so', async () => {
    world.simulator.control.addFault({ operation: 'oauthToken', times: 1, fault: { kind: 'drop-after' } });
    const before = exchanges();
    const mine = await begin();
    const answer = await requestCallback({ state: mine.state, code: code('seller-10') }, mine.cookie);
    expect(answer.html).toContain('a code works only once');
    expect(exchanges() - before).toBe(1);
  });

  test('is retried when the provider certainly did not receive it', async () => {
    world.simulator.control.addFault({
      operation: 'oauthToken',
      times: 1,
      fault: { kind: 'status', status: 429 },
    });
    const mine = await begin();
    const answer = await requestCallback({ state: mine.state, code: code('seller-11') }, mine.cookie);
    expect(answer.status).toBe(200);
  });

  test('with a code that the provider rejects: the page says so, and nothing is started', async () => {
    const mine = await begin();
    const answer = await requestCallback({ state: mine.state, code: 'never-issued' }, mine.cookie);
    expect(answer.html).toContain('did not accept');
  });

  test('both spellings of the link are supported', async () => {
    expect([...(await begin()).link.searchParams.keys()]).toContain('redirect_uri');
    await world.stopWorkers();
    await world.startWorkers({ PAYMENTS_AUTH_SPELLING: 'camel' });
    // An API server caches a link for five minutes.
    await service.close();
    service = await startApiServer(world.client);
    base = `${service.url}/v1/oauth/default`;
    const { link, cookie, state } = await begin();
    expect([...link.searchParams.keys()]).toEqual(['appId', 'responseType', 'redirectUri', 'state']);
    expect((await requestCallback({ state, code: code('seller-12') }, cookie)).status).toBe(200);
  });
});
