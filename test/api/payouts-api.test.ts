import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, type HttpResponse, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;
let at: string;

beforeAll(async () => {
  world = await VirtualWorld.start();
  service = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      callerEntry('shop'),
      callerEntry('desk'),
      callerEntry('small', { largestAmount: { CNY: '99.99' } }),
      callerEntry('dollars', { largestAmount: { USD: '1000000.00' } }),
      callerEntry('other', { applications: ['another'] }),
      callerEntry('reader', { verbs: ['read'] }),
    ]),
  });
  at = `${service.url}/v1/payouts`;
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

const ofSim = (scenario = 'success', over: object = {}) =>
  payoutRequest(newPartnerOrderId(), { platform: `sim:${scenario}`, ...over });
const started = async (over: object = {}, scenario = 'slow final=1h') => {
  const body = ofSim(scenario, over);
  expect((await post(at, body, as('shop'))).status).toBe(202);
  return body.partnerOrderId;
};
const until = (partnerOrderId: string, text: string): Promise<HttpResponse> =>
  eventually(async () => {
    const answer = await get(`${at}/${partnerOrderId}`, as('reader'));
    return JSON.stringify(answer.body).includes(text) ? answer : undefined;
  });

describe('a payout over HTTP', () => {
  test('starts, runs to its end, and returns state and result', async () => {
    const body = ofSim();
    const { partnerOrderId } = body;
    const answer = await post(at, body, as('shop'));
    const workflowId = `payout:default:${partnerOrderId}`;
    expect(answer).toMatchObject({
      status: 202,
      body: { workflowId, runId: expect.any(String), app: 'default', partnerOrderId },
    });
    const ended = await until(partnerOrderId, '"outcome":"SUCCESS"');
    expect(ended.body).toMatchObject({
      state: { phase: 'DONE' },
      result: { partnerOrderId, outcome: 'SUCCESS', received: { currency: 'CNY', amount: '100.00' } },
    });
    expect(await post(at, body, as('shop'))).toMatchObject({ status: 202, body: answer.body });
  });

  test('returns the same response for an equal body in another spelling, and 409 for another body', async () => {
    const body = ofSim('slow final=1h');
    const { body: first } = await post(at, body, as('shop'));
    const again = { approval: 'none', ...body, instructedAmount: { amount: '100', currency: 'CNY' } };
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(at, again, as('desk'))));
    for (const answer of answers) expect(answer).toMatchObject({ status: 202, body: first });
    const other = { ...body, instructedAmount: { currency: 'CNY', amount: '99.00' } };
    expect(await post(at, other, as('shop'))).toMatchObject({
      status: 409,
      body: {
        status: 409,
        type: '/problems/id-conflict',
        title: 'Id conflict',
        detail: expect.stringContaining('another body'),
      },
    });
    expect(world.simulator.control.ledgerOf(body.partnerOrderId).debits).toBeLessThanOrEqual(1);
  });

  test('names every bad field and quotes no value', async () => {
    const answer = await post(
      at,
      {
        ...ofSim(),
        clientId: '',
        instructedAmount: { currency: 'CNY', amount: 100.5 },
        canary: 'secret',
        limits: 5,
      },
      as('shop'),
    );
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toMatch('application/problem+json');
    expect(answer.body).toMatchObject({
      errors: expect.arrayContaining([
        { path: 'clientId', message: 'must not be empty' },
        { path: 'instructedAmount.amount', message: expect.stringContaining('not a number') },
        { path: 'canary', message: 'is not a field' },
        { path: 'limits', message: 'must be an object' },
      ]),
    });
    expect(JSON.stringify(answer.body)).not.toContain('secret');
  });

  test.each([
    ['a body that is not JSON', '{"a"', 400],
    ['a repeated key', '{"app":"default","app":"other"}', 400],
    ['too deep', `${'['.repeat(40)}${']'.repeat(40)}`, 400],
    ['nothing', '', 400],
    ['over 64 KiB', `"${'x'.repeat(64 * 1024)}"`, 413],
  ])('rejects %s', async (_what, body, status) => {
    expect((await post(at, body, as('shop'))).status).toBe(status);
  });

  test('returns 415 for another media type', async () => {
    const answer = await post(at, '{}', { ...as('shop'), 'content-type': 'text/plain' });
    expect(answer.status).toBe(415);
  });

  test('returns 404 on every route for an unknown payout', async () => {
    const unknown = `${at}/${newPartnerOrderId()}`;
    expect((await get(unknown, as('shop'))).status).toBe(404);
    for (const verb of ['approve', 'refuse', 'cancel', 'poll'])
      expect((await post(`${unknown}/${verb}`, '', as('shop'))).status).toBe(404);
  });

  test.each(['\u0440ayday-1', 'payday\u200b-1', 'payde\u0301-1'])(
    'H155 names the field of the partnerOrderId %j in a body, a batch and a path',
    async (partnerOrderId) => {
      const message = expect.stringContaining('must be 1 to 64 printable ASCII characters');
      const errors = [{ path: 'partnerOrderId', message }];
      const body = { ...ofSim(), partnerOrderId };
      expect(await post(at, body, as('shop'))).toMatchObject({ status: 400, body: { errors } });
      const batch = { batchId: 'look-alikes', payouts: [ofSim(), body] };
      expect(await post(`${service.url}/v1/payout-batches`, batch, as('shop'))).toMatchObject({
        status: 400,
        body: { errors: [{ path: expect.stringMatching(/1\.partnerOrderId$/), message }] },
      });
      const path = `${at}/${encodeURIComponent(partnerOrderId)}`;
      expect(await get(path, as('shop'))).toMatchObject({ status: 400, body: { errors } });
      expect(await post(`${path}/cancel`, '', as('shop'))).toMatchObject({ status: 400, body: { errors } });
    },
  );

  test('accepts a partnerOrderId with slashes, spaces and punctuation unchanged', async () => {
    const partnerOrderId = `payday/1 ?#%:${newPartnerOrderId()}`.slice(0, 45);
    await started({ partnerOrderId });
    const answer = await get(`${at}/${encodeURIComponent(partnerOrderId)}?app=default`, as('shop'));
    expect(answer).toMatchObject({ status: 200, body: { state: { needsAttention: false } } });
  });

  test('reports on read that workers rejected the start as bad input', async () => {
    const body = { ...ofSim(), app: 'another' };
    expect((await post(at, body, as('other'))).status).toBe(202);
    const address = `${at}/${body.partnerOrderId}?app=another`;
    const answer = await eventually(async () => {
      const seen = await get(address, as('other'));
      return seen.status === 409 ? seen : undefined;
    });
    expect(answer.body).toMatchObject({ errors: [{ path: 'app', message: expect.any(String) }] });
  });
});

describe('decisions', () => {
  test('cancel ends the payout before the create, with the name of the key; afterwards another caller gets 409', async () => {
    const notBefore = new Date(Date.now() + 3_600_000).toISOString();
    const early = await started({ notBefore });
    const answer = await post(`${at}/${early}/cancel`, { reason: 'not needed' }, as('desk'));
    expect(answer.status).toBe(200);
    const { body } = await until(early, '"CANCELLED"');
    expect(body).toMatchObject({ result: { outcome: 'NOT_CREATED', reason: { code: 'CANCELLED' } } });
    expect(JSON.stringify(body)).toContain('desk');
    expect((await post(`${at}/${early}/cancel`, '', as('desk'))).status).toBe(200);
    expect((await post(`${at}/${early}/cancel`, '', as('shop'))).status).toBe(409);

    const late = await started();
    await until(late, '"PROCESSING"');
    const refused = await post(`${at}/${late}/cancel`, '', as('desk'));
    expect(refused).toMatchObject({ status: 409, body: { detail: expect.any(String) } });
  });

  test('poll queries immediately; resolve returns 409 outside review', async () => {
    const id = await started();
    await until(id, '"PROCESSING"');
    expect(await post(`${at}/${id}/poll`, '', as('desk'))).toMatchObject({
      status: 200,
      body: { phase: 'PROCESSING', lastAskedAt: expect.any(String) },
    });
    const end = { created: false, then: 'end' };
    expect((await post(`${at}/${id}/resolve`, end, as('desk'))).status).toBe(409);
    expect((await post(`${at}/${id}/resolve`, { ...end, sends: 1 }, as('desk'))).status).toBe(409);
    for (const bad of [
      { created: true },
      { ...end, sends: '1' },
      { ...end, sends: 0.5 },
      { ...end, sends: -1 },
    ])
      expect((await post(`${at}/${id}/resolve`, bad, as('desk'))).status).toBe(400);
  });

  test('the name of the key is recorded as decider, whatever the body says', async () => {
    const id = await started({ approval: 'required' });
    await until(id, '"AWAITING_APPROVAL"');
    const answer = await post(`${at}/${id}/approve`, { by: 'the boss' }, as('desk'));
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'by' }] } });
    expect((await post(`${at}/${id}/refuse`, { note: 'no' }, as('desk'))).status).toBe(200);
    expect(JSON.stringify((await until(id, '"APPROVAL_REFUSED"')).body)).toContain('desk');
  });
});

describe('H51 permissions of keys', () => {
  test('the key that started a payout cannot approve it; another key can', async () => {
    const id = await started({ approval: 'required' }, 'success');
    await until(id, '"AWAITING_APPROVAL"');
    const own = await post(`${at}/${id}/approve`, '', as('shop'));
    expect(own).toMatchObject({ status: 403, body: { detail: expect.stringContaining('started') } });
    expect((await post(`${at}/${id}/approve`, '', as('small'))).status).toBe(403);
    expect(await get(`${at}/${id}`, as('shop'))).toMatchObject({
      body: { state: { phase: 'AWAITING_APPROVAL' } },
    });
    expect((await post(`${at}/${id}/approve`, { note: 'ok' }, as('desk'))).status).toBe(200);
    await until(id, '"outcome":"SUCCESS"');
  });

  test('starting a payout again with another key does not change its starter', async () => {
    const body = ofSim('success', { approval: 'required' });
    await post(at, body, as('shop'));
    await post(at, body, as('desk'));
    await until(body.partnerOrderId, '"AWAITING_APPROVAL"');
    const approve = `${at}/${body.partnerOrderId}/approve`;
    expect((await post(approve, '', as('shop'))).status).toBe(403);
    expect((await post(approve, '', as('desk'))).status).toBe(200);
  });

  test.each([
    ['without a key', {}, 401],
    ['with a wrong key', as('nobody'), 401],
    ['with another scheme', { authorization: 'Basic key-of-shop' }, 401],
    ['over its largest amount', as('small'), 403],
    ['in a currency without an amount', as('dollars'), 403],
    ['for another application', as('other'), 403],
    ['for a verb it does not have', as('reader'), 403],
  ])('rejects a start %s, and starts nothing', async (_what, headers, status) => {
    const body = ofSim();
    const answer = await post(at, body, headers);
    expect(answer).toMatchObject({ status, body: { status } });
    if (status === 401) expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect((await get(`${at}/${body.partnerOrderId}`, as('reader'))).status).toBe(404);
  });

  test('every route requires a key', async () => {
    const id = newPartnerOrderId();
    for (const path of [`payouts/${id}`, `payout-batches/x`, 'accounts?clientId=c'])
      expect((await get(`${service.url}/v1/${path}`)).status).toBe(401);
    const posted = ['approve', 'refuse', 'cancel', 'resolve', 'poll'].map((verb) => `payouts/${id}/${verb}`);
    for (const path of ['payouts', 'quotes', 'payout-batches', ...posted])
      expect((await post(`${service.url}/v1/${path}`, '')).status).toBe(401);
    expect((await get(`${at}/${id}?app=default`, as('other'))).status).toBe(403);
    expect((await post(`${at}/${id}/cancel`, '', as('other'))).status).toBe(403);
    expect((await get(`${service.url}/healthz`)).status).toBe(200);
  });
});
