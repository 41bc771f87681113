import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { eventually } from '../support/eventually.ts';
import { accepted, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { NO_POLLS, newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;
let address: string;

beforeAll(async () => {
  world = await VirtualWorld.start({ env: NO_POLLS });
  service = await startApiServer(world.client);
  address = `${service.url}/v1/notifications/default`;
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

const signals = async (ref: PayoutRef) =>
  ((await world.history(ref)).events ?? []).flatMap(
    (event) => event.workflowExecutionSignaledEventAttributes ?? [],
  );
const processing = (ref: PayoutRef) => world.until(ref, ({ phase }) => phase === 'PROCESSING');

describe('a notification reaches its payout', () => {
  test('by the orderId alone', async () => {
    const ref = await world.pay('slow final=1h notify=none');
    const { orderId } = await processing(ref);
    await eventually(async () => {
      await accepted(address, { data: { orderId } });
      return (await signals(ref)).length > 0 || undefined;
    });
  });

  test('and passes on only ids and status: the raw body does not enter the history', async () => {
    const ref = await world.pay('slow final=1h');
    await processing(ref);
    const personal = { receiver: { bankAccountName: 'Zhang San' }, status: 'SUCCESS' };
    await post(address, { ...personal, partner_order_id: ref.partnerOrderId });
    const [signal] = await eventually(async () => {
      const seen = await signals(ref);
      return seen.length > 0 ? seen : undefined;
    });
    const content: unknown = JSON.parse(
      Buffer.from(signal?.input?.payloads?.[0]?.data ?? new Uint8Array()).toString(),
    );
    expect(content).toEqual({
      receivedAt: expect.any(String),
      partnerOrderId: ref.partnerOrderId,
      status: 'SUCCESS',
    });
  });

  test('after its end: accepted, without effect', async () => {
    const ref = await world.pay('success', { limits: { maxPay: { currency: 'USD', amount: '0.01' } } });
    await world.payouts.result(ref);
    const answer = await post(address, { partner_order_id: ref.partnerOrderId });
    expect(answer).toMatchObject({ status: 202, body: { received: 'unverified' } });
  });

  test('H36 accepts 300 simultaneous notifications for one payout, which cost it a handful of signals', async () => {
    const ref = await world.pay('slow final=1h');
    await processing(ref);
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: 300 }, () => accepted(address, { partner_order_id: ref.partnerOrderId })),
    );
    // One immediately, then one per second for as long as this machine took.
    const seconds = (performance.now() - begun) / 1_000;
    expect((await signals(ref)).length).toBeLessThanOrEqual(1 + Math.ceil(seconds));
  });
});

describe('H30 a notification for an unknown order', () => {
  test('is kept and looked up again: a payout that starts later receives it', async () => {
    const partnerOrderId = newPartnerOrderId();
    const answer = await post(address, { partner_order_id: partnerOrderId });
    expect(answer).toMatchObject({ status: 202, body: { received: 'unverified' } });
    const ref = await world.pay('slow final=1h', { partnerOrderId });
    await eventually(async () => (await signals(ref)).length > 0 || undefined);
  });

  test('10,000 of them are accepted or refused as too many, and start nothing', async () => {
    const begun = new Date(world.clock.wallMs()).toISOString();
    const counts: Record<number, number> = {};
    const send = async () => {
      for (let i = 0; i < 200; i += 1) {
        const { status } = await post(address, { partner_order_id: `junk-${randomUUID()}` });
        counts[status] = (counts[status] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: 50 }, send));
    const { 202: taken = 0, 429: limited = 0 } = counts;
    // How many are too many depends on how fast this machine sends them.
    expect(taken + limited).toBe(10_000);
    // The lease of the rate limit starts new runs by itself.
    const query = `StartTime > '${begun}' AND WorkflowType != 'rateLimitLease'`;
    expect((await world.client.workflow.count(query)).count).toBe(0);
    const ref = await world.pay('slow final=1h');
    await processing(ref);
    expect(await post(address, { partner_order_id: ref.partnerOrderId })).toMatchObject({
      status: 202,
      body: { received: 'unverified' },
    });
  });
});

describe('rejects invalid notifications with the reason, quoting nothing', () => {
  test.each([
    ['not JSON', 'secret-canary{', 400],
    ['a list', '["secret-canary"]', 400],
    ['without any number', '{"note":"secret-canary"}', 400],
    ['a key twice', '{"order_id":"1","order_id":"secret-canary"}', 400],
    ['too deep', `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`, 400],
    ['over 64 KiB', `{"order_id":"${'x'.repeat(64 * 1024)}"}`, 413],
    ['empty', '', 400],
  ])('%s', async (_what, body, status) => {
    const answer = await post(address, body);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toMatch('application/problem+json');
    expect(answer.body).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) });
    expect(JSON.stringify(answer.body)).not.toContain('secret-canary');
  });

  test('an invalid application name', async () => {
    const answer = await post(`${service.url}/v1/notifications/NOT_AN_APP`, { order_id: '1' });
    expect(answer).toMatchObject({ status: 404, body: { status: 404 } });
  });

  test('a body that never completes', async () => {
    const impatient = await startApiServer(world.client, {}, { requestTimeoutMs: 300 });
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(impatient.url).port) });
    socket.write(
      'POST /v1/notifications/default HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    const [chunk] = await once(socket, 'data');
    expect(String(chunk)).toMatch(/^HTTP\/1\.1 408/);
    socket.destroy();
    await impatient.close();
  });
});

describe('H32 with a signature scheme, only notifications verified over the raw bytes pass', () => {
  const secrets = ['newer-secret-newer-secret', 'older-secret-older-secret'];
  let strict: TestApiServer;
  beforeAll(async () => {
    strict = await startApiServer(world.client, {
      PAYMENTS_NOTIFICATION_VERIFIER: 'hmac-sha256',
      PAYMENTS_NOTIFICATION_SECRETS: secrets.join(','),
      PAYMENTS_NOTIFICATION_FIELDS: 'partnerOrderId=/payload/number',
    });
  });
  afterAll(() => strict.close());

  const send = (body: string, secret: string, atSeconds = Math.floor(Date.now() / 1_000)) => {
    const id = randomUUID();
    const signature = createHmac('sha256', secret).update(`${id}.${atSeconds}.${body}`).digest('base64');
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': `${atSeconds}`,
      'webhook-signature': `v1,${signature}`,
    };
    return { headers, post: (sent: string) => post(`${strict.url}/v1/notifications/default`, sent, headers) };
  };

  test('accepts both secrets during a rotation; the JSON pointer locates the id', async () => {
    const ref = await world.pay('slow final=1h');
    await processing(ref);
    const body = JSON.stringify({ payload: { number: ref.partnerOrderId } });
    for (const secret of secrets)
      expect(await send(body, secret).post(body)).toMatchObject({
        status: 202,
        body: { received: 'delivered' },
      });
  });

  test('returns 401 for any flipped bit, a stale or future timestamp, and another secret', async () => {
    const body = JSON.stringify({ payload: { number: 'x' } });
    for (let bit = 0; bit < body.length * 8; bit += 13) {
      const bent = Buffer.from(body);
      bent.writeUInt8(bent.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const { status } = await post(
        `${strict.url}/v1/notifications/default`,
        bent,
        send(body, secrets[0] ?? '').headers,
      );
      expect(status).toBe(401);
    }
    const now = Math.floor(Date.now() / 1_000);
    expect((await send(body, secrets[0] ?? '', now - 3_600).post(body)).status).toBe(401);
    expect((await send(body, secrets[0] ?? '', now + 3_600).post(body)).status).toBe(401);
    expect((await send(body, 'some-other-secret').post(body)).status).toBe(401);
    expect((await post(`${strict.url}/v1/notifications/default`, body)).status).toBe(401);
  });
});
