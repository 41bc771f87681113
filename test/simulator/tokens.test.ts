import { request } from 'undici';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { newPartnerOrderId, SimulatorClient, textAt, valueAt } from './support/simulator-client.ts';

const APP = { app_id: 'demo-app', app_secret: 'demo-secret' };
const CALLBACK = 'http://127.0.0.1:9/callback';

let service: SimulatorClient | undefined;
async function started(settings: object = {}): Promise<SimulatorClient> {
  await service?.close();
  service = await SimulatorClient.start({ settings });
  return service;
}
afterAll(() => service?.close());

const exchange = (sim: SimulatorClient, body: object) =>
  sim.post('/v3/b2b/oauth/token', { ...APP, ...body }, { authorization: '' });

describe('the application token', () => {
  test('expires as announced, and is granted only for the right secret', async () => {
    const sim = await started({ applicationTokenSeconds: 1 });
    const got = await sim.get('/v2/token/get?app_id=demo-app&app_secret=demo-secret', { authorization: '' });
    expect(got.json).toMatchObject({ code: 0, data: { expires_in: 1 } });
    const wrong = await sim.get('/v2/token/get?app_id=demo-app&app_secret=no', { authorization: '' });
    expect(wrong.json).toMatchObject({ code: 40101, data: null });
  });

  test('missing, invalid and expired tokens get 401 and differ in the call log', async () => {
    const sim = await started();
    const none = await sim.get('/v2/httpbin/get', { authorization: '' });
    const odd = await sim.get('/v2/httpbin/get', { authorization: 'Bearer nonsense' });
    expect(sim.control.expireTokens({ kind: 'application' })).toEqual({ expired: 1 });
    const late = await sim.get('/v2/httpbin/get');
    for (const reply of [none, odd, late]) expect(reply).toMatchObject({ status: 401, json: { code: 401 } });
    expect(sim.control.calls().map((call) => call.token)).toEqual(['missing', 'invalid', 'expired']);
  });

  test('a rejection can be an envelope with HTTP 200', async () => {
    const sim = await started({ unauthorizedStyle: 'envelope' });
    expect(await sim.get('/v2/httpbin/get', { authorization: '' })).toMatchObject({
      status: 200,
      json: { code: 401 },
    });
  });

  test.each([
    ['any', [900004, 900004]],
    ['bearer', [900004, 401]],
    ['bare', [401, 900004]],
  ] as const)('trade endpoints with the scheme %s accept the forms %j', async (tradeAuthScheme, codes) => {
    const sim = await started({ tradeAuthScheme });
    const replies = await Promise.all(
      [`Bearer ${sim.token}`, sim.token].map((authorization) =>
        sim.post(
          '/v1/mid-open-api/trade/payout/queryResult',
          { client_id: 'c', partner_order_id: 'none' },
          { authorization },
        ),
      ),
    );
    expect(replies.map((reply) => valueAt(reply.json, 'code'))).toEqual(codes);
  });

  test('endpoints configured for user tokens reject the application token', async () => {
    const sim = await started({ tradeToken: 'user' });
    expect((await sim.result(newPartnerOrderId())).status).toBe(401);
    expect((await sim.get('/v2/httpbin/get')).status).toBe(200);
  });
});

describe('the user authorization', () => {
  let sim: SimulatorClient;
  beforeEach(async () => {
    sim = await started();
  });
  const query = (style: 'snake' | 'camel', over: Record<string, string> = {}) =>
    new URLSearchParams(
      style === 'snake'
        ? { app_id: 'demo-app', response_type: 'code', redirect_uri: CALLBACK, state: 's&1', ...over }
        : { appId: 'demo-app', responseType: 'code', redirectUri: CALLBACK, state: 's&1', ...over },
    );

  const decide = async (decision: string): Promise<URL> => {
    const form = query('snake', { decision, open_id: 'olga' });
    const answer = await request(`${sim.simulator.url}/entrance/authorization`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    });
    await answer.body.dump();
    expect(answer.statusCode).toBe(302);
    return new URL(String(answer.headers['location']));
  };

  test.each(['snake', 'camel'] as const)('shows its page for the %s_case spelling', async (style) => {
    const page = await sim.get(`/entrance/authorization?${query(style)}`);
    expect(page.status).toBe(200);
    expect(page.text).toMatch(/value="allow".*[\s\S]*value="deny"/);
    expect(page.text).toContain('value="s&amp;1"');
  });

  test('allowing redirects with a code and the state; the code works once', async () => {
    const target = await decide('allow');
    expect(target.searchParams.get('state')).toBe('s&1');
    const code = target.searchParams.get('code');
    const first = await exchange(sim, { grant_type: 'authorization_code', code });
    expect(first.json).toMatchObject({
      code: 0,
      data: { open_id: 'olga', expires_in: 2592000, refresh_token_expires_in: 15552000 },
    });
    const again = await exchange(sim, { grant_type: 'authorization_code', code });
    expect(again.json).toMatchObject({ code: 40102 });
    const access = textAt(first.json, 'data.access_token');
    expect((await sim.get('/v2/httpbin/get', { authorization: `Bearer ${access}` })).status).toBe(200);
  });

  test('denying redirects with access_denied and the state', async () => {
    const target = await decide('deny');
    expect(Object.fromEntries(target.searchParams)).toEqual({ error: 'access_denied', state: 's&1' });
  });

  test('an unknown application or an unregistered redirect URI does not redirect', async () => {
    sim.control.changeApp('demo-app', { redirectUri: 'https://registered.example/cb' });
    for (const over of [{ app_id: 'other' }, {}, { redirect_uri: 'javascript:alert(1)' }]) {
      const page = await sim.get(`/entrance/authorization?${query('snake', over)}`);
      expect(page.status).toBe(400);
    }
  });

  test('refuses an expired code', async () => {
    sim.control.changeSettings({ codeSeconds: 0 });
    const { code } = sim.control.authorize({ appId: 'demo-app' });
    const reply = await exchange(sim, { grant_type: 'authorization_code', code });
    expect(reply.json).toMatchObject({ code: 40102 });
  });

  test.each([
    { grant_type: 'password' },
    { grant_type: 'refresh_token' },
    { grant_type: 'authorization_code' },
  ])('refuses the token request %j as an illegal parameter', async (body) => {
    expect((await exchange(sim, body)).json).toMatchObject({ code: 900002 });
  });
});

describe('refreshing a user token', () => {
  const granted = async (sim: SimulatorClient): Promise<string> => {
    const { code } = sim.control.authorize({ appId: 'demo-app', openId: 'olga' });
    return textAt(
      (await exchange(sim, { grant_type: 'authorization_code', code })).json,
      'data.refresh_token',
    );
  };
  const refresh = (sim: SimulatorClient, refresh_token: string) =>
    exchange(sim, { grant_type: 'refresh_token', refresh_token });

  test.each([
    ['valid', 200],
    ['revoked', 401],
  ] as const)('earlier access tokens: %s', async (earlierAccessTokens, status) => {
    const sim = await started({ tradeToken: 'user', earlierAccessTokens });
    const { code } = sim.control.authorize({ appId: 'demo-app', openId: 'olga' });
    const { json } = await exchange(sim, { grant_type: 'authorization_code', code });
    await refresh(sim, textAt(json, 'data.refresh_token'));
    const path = '/v1/mid-open-api/trade/payout/queryResult';
    const authorization = `Bearer ${textAt(json, 'data.access_token')}`;
    const body = { client_id: 'c', partner_order_id: 'none' };
    expect((await sim.post(path, body, { authorization })).status).toBe(status);
  });

  test('gives a new pair; the previous refresh token works exactly once more', async () => {
    const sim = await started();
    const first = await granted(sim);
    const second = textAt((await refresh(sim, first)).json, 'data.refresh_token');
    expect(second).not.toBe(first);
    expect((await refresh(sim, first)).json).toMatchObject({ code: 0, data: { open_id: 'olga' } });
    expect((await refresh(sim, first)).json).toMatchObject({ code: 40103 });
    expect((await refresh(sim, second)).json).toMatchObject({ code: 0 });
  });

  test('can refuse the previous refresh token at once', async () => {
    const sim = await started({ previousRefreshTokenValid: false });
    const first = await granted(sim);
    await refresh(sim, first);
    expect((await refresh(sim, first)).json).toMatchObject({ code: 40103 });
  });

  test('can keep the same refresh token', async () => {
    const sim = await started({ refreshRotation: 'keep' });
    const first = await granted(sim);
    expect(valueAt((await refresh(sim, first)).json, 'data.refresh_token')).toBe(first);
    expect((await refresh(sim, first)).json).toMatchObject({ code: 0 });
  });

  test('refuses an expired refresh token', async () => {
    const sim = await started();
    const first = await granted(sim);
    expect(sim.control.expireTokens({ refresh: true })).toEqual({ expired: 1 });
    expect((await refresh(sim, first)).json).toMatchObject({ code: 40103 });
  });
});
