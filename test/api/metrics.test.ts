import { afterAll, beforeAll, expect, test } from 'vitest';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const keys = {
  PAYOUTS_API_KEYS_FILE: keysFile([
    callerEntry('shop', { verbs: ['start', 'read'] }),
    callerEntry('prometheus', { verbs: ['metrics'] }),
  ]),
};

let world: VirtualWorld;
let service: TestApiServer;

beforeAll(async () => {
  world = await VirtualWorld.start({ idle: true });
  service = await startApiServer(world.client, keys);
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

const scrape = async ({ url } = service) => String((await get(`${url}/metrics`, as('prometheus'))).body);
const value = (text: string, name: string): number => {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
};

test('counts requests by route and status, without any text of the caller', async () => {
  const request = payoutRequest(newPartnerOrderId());
  const at = `${service.url}/v1/payouts`;
  await post(at, request, as('shop'));
  await post(at, request);
  await get(`${at}/nobody-${request.partnerOrderId}`, as('shop'));
  await get(`${service.url}/no-such-route/${request.partnerOrderId}`);
  const text = await scrape();
  const count = (method: string, route: string, status: number) =>
    value(text, `payouts_http_requests_total{method="${method}",route="${route}",status="${status}"}`);
  expect(count('POST', '/v1/payouts', 202)).toBe(1);
  expect(count('POST', '/v1/payouts', 401)).toBe(1);
  expect(count('GET', '/v1/payouts/{partnerOrderId}', 404)).toBe(1);
  expect(count('GET', 'none', 404)).toBe(1);
  const durations = 'payouts_http_request_duration_seconds_count{method="POST",route="/v1/payouts"}';
  expect(value(text, durations)).toBe(2);
  for (const written of [request.partnerOrderId, request.clientId, 'shop', 'default'])
    expect(text).not.toContain(written);
});

test('counts notifications by result', async () => {
  const { partnerOrderId } = payoutRequest(newPartnerOrderId());
  await post(`${service.url}/v1/payouts`, payoutRequest(partnerOrderId), as('shop'));
  const before = await scrape();
  const at = `${service.url}/v1/notifications/default`;
  await post(at, { partner_order_id: partnerOrderId });
  await post(at, { partner_order_id: newPartnerOrderId() });
  await post(at, 'no json');
  const after = await scrape();
  const more = (result: string) => {
    const name = `payouts_notifications_total{result="${result}"}`;
    return value(after, name) - value(before, name);
  };
  expect([more('delivered'), more('unknown'), more('unusable'), more('refused')]).toEqual([1, 1, 1, 0]);
  expect(value(after, 'payouts_notifications_waiting')).toBe(1);
});

test('counts an unverified notification as refused', async () => {
  const verifying = await startApiServer(world.client, {
    ...keys,
    PAYMENTS_NOTIFICATION_VERIFIER: 'hmac-sha256',
    PAYMENTS_NOTIFICATION_SECRETS: SECRET,
  });
  const answer = await post(`${verifying.url}/v1/notifications/default`, { partner_order_id: 'x' });
  expect(answer.status).toBe(401);
  expect(value(await scrape(verifying), 'payouts_notifications_total{result="refused"}')).toBe(1);
  await verifying.close();
});

test('reports whether Temporal is reachable, also when it is not', async () => {
  expect(value(await scrape(), 'payouts_temporal_reachable')).toBe(1);
  const lost = await startApiServer(world.client, keys);
  world.system.service.isUnavailable = true;
  expect(value(await scrape(lost), 'payouts_temporal_reachable')).toBe(0);
  world.system.service.isUnavailable = false;
  await lost.close();
});

test('requires a key with the permission metrics', async () => {
  const at = `${service.url}/metrics`;
  expect((await get(at)).status).toBe(401);
  expect((await get(at, as('shop'))).status).toBe(403);
  const answer = await get(at, as('prometheus'));
  expect(answer).toMatchObject({ status: 200 });
  expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
});
