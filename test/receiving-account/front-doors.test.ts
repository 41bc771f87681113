import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { openedFor, openingRequest, sendsSeen } from '../support/openings.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;
let at: string;

beforeAll(async () => {
  world = await VirtualWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '10s' } });
  service = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      callerEntry('desk'),
      callerEntry('other', { applications: ['another'] }),
      callerEntry('shop', { verbs: ['start', 'read', 'account'] }),
    ]),
  });
  at = `${service.url}/v1/receiving-accounts`;
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

const ended = (requestId: string) =>
  eventually(async () => {
    const answer = await get(`${at}/${requestId}`, as('shop'));
    return JSON.stringify(answer.body).includes('"result"') ? answer : undefined;
  });

describe('over HTTP', () => {
  test('opens an account; balance and detail show it; the same request joins, another body gets 409', async () => {
    const request = openingRequest();
    const { requestId, payerId } = request;
    const started = await post(at, request, as('desk'));
    const workflowId = `receiving-account:default:${requestId}`;
    expect(started).toMatchObject({ status: 202, body: { workflowId, app: 'default', requestId } });
    const { body } = await ended(requestId);
    expect(body).toMatchObject({ state: { phase: 'DONE' }, result: { outcome: 'OPENED', payerId } });
    const [accountId = ''] = await openedFor(world, request);
    expect(await get(`${at}/balance/${payerId}/USD`, as('shop'))).toMatchObject({
      status: 200,
      body: { balance: { currency: 'USD', amount: '0.00' }, accountIds: [accountId] },
    });
    expect(await get(`${at}/detail/${accountId}`, as('shop'))).toMatchObject({
      status: 200,
      body: { id: accountId, payer_id: payerId },
    });
    expect(await post(at, request, as('desk'))).toMatchObject({ status: 202, body: started.body });
    expect((await post(at, { ...request, currency: 'EUR' }, as('desk'))).status).toBe(409);
    expect((await openedFor(world, request)).length).toBe(1);
  });

  test('names bad fields; returns 404 for unknown ids and 409 outside review', async () => {
    const bad = await post(at, { ...openingRequest(), currency: 'dollars', x: 1 }, as('desk'));
    expect(bad).toMatchObject({ status: 400, body: { errors: [{ path: 'currency' }, { path: 'x' }] } });
    expect((await get(`${at}/nobody`, as('shop'))).status).toBe(404);
    expect((await get(`${at}/detail/RA-nobody`, as('shop'))).status).toBe(404);
    const end = { created: false, then: 'end' };
    expect((await post(`${at}/nobody/resolve`, end, as('desk'))).status).toBe(404);
    const request = openingRequest();
    await post(at, request, as('desk'));
    await ended(request.requestId);
    expect((await post(`${at}/${request.requestId}/resolve`, end, as('desk'))).status).toBe(409);
  });

  test('H51 a key opens and reads accounts only with permission', async () => {
    const before = sendsSeen(world);
    expect((await post(at, openingRequest())).status).toBe(401);
    expect((await post(at, openingRequest(), as('shop'))).status).toBe(403);
    expect((await post(at, openingRequest(), as('other'))).status).toBe(403);
    for (const path of ['any', 'balance/any/USD', 'detail/any']) {
      expect((await get(`${at}/${path}`)).status).toBe(401);
      expect((await get(`${at}/${path}`, as('other'))).status).toBe(403);
    }
    expect((await post(`${at}/any/resolve`, '', as('shop'))).status).toBe(403);
    expect(sendsSeen(world)).toBe(before);
  });
});
