/** Floods of notifications, through real sockets. The stand-in for Temporal has a payout `…1`, and none `…4`. */
import { createHmac, randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { standInClient } from '../../fuzz/temporal.ts';
import type { Environment } from '../../src/config/environment.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { get, type HttpResponse, post, startApiServer, type TestApiServer } from '../support/http.ts';

const SECRET = 'secret-of-the-provider';
const HMAC = { PAYMENTS_NOTIFICATION_VERIFIER: 'hmac-sha256', PAYMENTS_NOTIFICATION_SECRETS: SECRET };
const BEHIND_PROXY = { PAYOUTS_API_PROXIES: '127.0.0.0/8' };
/** The burst of an address and of an order. */
const [ADDRESS_BURST, ORDER_BURST] = [1_000, 20];

let clock: FakeClock;
let server: TestApiServer;
afterEach(() => server.close());

async function start(environment: Environment = {}): Promise<void> {
  clock = new FakeClock();
  const client = standInClient({ ends: {}, states: [], queries: {}, argumentOf: () => null });
  server = await startApiServer(client, environment, { clock });
}

const from = (address: string) => ({ 'x-forwarded-for': address });
const notify = (body: object, headers: Record<string, string> = {}) =>
  post(`${server.url}/v1/notifications/default`, body, headers);

function signed(body: object): Promise<HttpResponse> {
  const [id, seconds] = [randomUUID(), Math.floor(Date.now() / 1_000)];
  const content = `${id}.${seconds}.${JSON.stringify(body)}`;
  const signature = createHmac('sha256', SECRET).update(content).digest('base64');
  return notify(body, {
    ...{ 'webhook-id': id, 'webhook-timestamp': `${seconds}`, 'webhook-signature': `v1,${signature}` },
  });
}

const unknownOrder = (at: number) => ({ partner_order_id: `no-such-payout-${at}-4` });
const ORDER = { partner_order_id: 'payout-with-a-long-id-1' };

/** Sends this many at the same time; returns how often each status was answered. */
async function flood(count: number, send: (at: number) => Promise<HttpResponse>) {
  const counts: Record<number, number> = {};
  for (const { status } of await Promise.all(Array.from({ length: count }, (_, at) => send(at))))
    counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** One signal per call: the time between two signals passes first. */
async function signal(send: () => Promise<HttpResponse> = () => notify(ORDER)): Promise<HttpResponse> {
  await clock.advance(1_000);
  return send();
}

describe('H158 a flood of notifications', () => {
  test('from one address: accepted up to a burst, then refused with 429; other addresses are served', async () => {
    await start(BEHIND_PROXY);
    let accepted = 0;
    // In parts, so that no lookup limit of the server is reached.
    for (let part = 0; part < 50; part += 1) {
      const counts = await flood(40, (at) =>
        notify(unknownOrder(part * 40 + at), from(`2001:db8:0:7::${at + 1}`)),
      );
      accepted += counts[202] ?? 0;
      expect((counts[202] ?? 0) + (counts[429] ?? 0)).toBe(40);
    }
    expect(accepted).toBe(ADDRESS_BURST);
    const refused = await notify(ORDER, from('2001:db8:0:7::ffff'));
    expect(refused).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
      body: { type: '/problems/too-many-requests' },
    });
    expect(await notify(ORDER, from('2001:db8:0:8::1'))).toMatchObject({ body: { received: 'unverified' } });
    const { body: metrics } = await get(`${server.url}/metrics`);
    expect(metrics).toContain('payouts_notifications_total{result="limited"} 1001');
    await clock.advance(1_000);
    expect(await notify(ORDER, from('2001:db8:0:7::1'))).toMatchObject({ status: 202 });
  });

  test('a client without a proxy cannot choose its address', async () => {
    await start();
    for (let part = 0; part < 25; part += 1)
      await flood(40, (at) => notify(unknownOrder(part * 40 + at), from(`203.0.113.${at}`)));
    expect((await notify(ORDER, from('198.51.100.1'))).status).toBe(429);
  });

  test('about one order: a bounded number of signals, then one per minute', async () => {
    await start(HMAC);
    const about = () => signal(() => signed(ORDER));
    for (let at = 0; at < ORDER_BURST; at += 1) expect((await about()).status).toBe(202);
    const refused = await about();
    expect(refused).toMatchObject({ status: 429, body: { type: '/problems/too-many-requests' } });
    const { 'retry-after': seconds } = refused.headers;
    expect(Number(seconds)).toBeGreaterThan(0);
    expect(await signed({ partner_order_id: 'payout-with-a-long-id-2' })).toMatchObject({ status: 202 });
    await clock.advance(Number(seconds) * 1_000);
    expect((await about()).status).toBe(202);
    expect((await about()).status).toBe(429);
  });

  test('unverified ones get the same response whether or not there is such an order', async () => {
    await start();
    const same = { status: 202, body: { received: 'unverified' } };
    for (let at = 0; at < ORDER_BURST + 5; at += 1) {
      expect(await signal()).toMatchObject(same);
      expect(await signal(() => notify(unknownOrder(0)))).toMatchObject(same);
    }
    // What exceeded the limit is kept until the payout may get another signal.
    const { body: before } = await get(`${server.url}/metrics`);
    expect(before).toContain('payouts_notifications_waiting 2');
    await clock.advance(61_000);
    await eventually(
      async () =>
        String((await get(`${server.url}/metrics`)).body).includes('payouts_notifications_waiting 1') ||
        undefined,
    );
  });

  test('verified notifications are not limited by address', async () => {
    await start(HMAC);
    for (let part = 0; part < 30; part += 1)
      expect(await flood(40, (at) => signed(unknownOrder(part * 40 + at)))).toEqual({ 202: 40 });
    expect(await signed(ORDER)).toMatchObject({ status: 202, body: { received: 'delivered' } });
  });

  test('a flood of forged ones takes nothing from verified ones from the same address about the same order', async () => {
    await start(HMAC);
    for (let part = 0; part < 30; part += 1)
      expect(await flood(40, () => notify(ORDER, { 'webhook-signature': 'v1,AAAA' }))).toEqual({ 401: 40 });
    expect(await signed(ORDER)).toMatchObject({ status: 202, body: { received: 'delivered' } });
  });
});
