/** Requests that name the same thing twice, or name something that the route ignores. Nothing here reaches Temporal. */
import { connect } from 'node:net';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { operationsOf } from '../support/operations.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

/** Without the interceptor that tries again. */
const nowhere = Connection.lazy({ address: '127.0.0.1:9', interceptors: [] });
const client = new Client({ connection: nowhere });
const OPERATIONS = await operationsOf(client);
let service: TestApiServer;

beforeAll(async () => {
  const applications = ['default', 'shop2'];
  const callers = [callerEntry('shop', { applications }), callerEntry('other')];
  service = await startApiServer(client, { PAYOUTS_API_KEYS_FILE: keysFile(callers) });
});

afterAll(async () => {
  await service.close();
  await nowhere.close();
});

const urlOf = (path: string, query: string) => `${service.url}${path.replaceAll(/\{\w+\}/g, 'USD')}?${query}`;
const withoutEffect = (path: string) => ({
  status: 400,
  body: { errors: expect.arrayContaining([expect.objectContaining({ path })]) },
});

/** Over a socket, because HTTP clients merge repeated headers. Returns the status. */
function sent(...lines: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
    socket.once('error', reject);
    socket.once('data', (chunk) => {
      socket.destroy();
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(String(chunk))?.[1]));
    });
    socket.write(lines.join('\r\n'));
  });
}

test('two Host headers', async () => {
  expect(await sent('GET /healthz HTTP/1.1', 'Host: a', 'Connection: close', '', '')).toBe(200);
  expect(await sent('GET /healthz HTTP/1.1', 'Host: a', 'Host: b', 'Connection: close', '', '')).toBe(400);
});

describe('the body names the application, the query another one', () => {
  const row = payoutRequest(newPartnerOrderId());
  test.each<[string, object]>([
    ['payout-batches', { batchId: 'one', payouts: [row] }],
    ['payout-batches', { app: 'default', batchId: 'one', payouts: [row] }],
    ['payouts', row],
    ['quotes', row],
    ['receiving-accounts', { requestId: 'one', payerId: 'payer-1', currency: 'USD' }],
  ])('POST /v1/%s is refused', async (path, body) => {
    const answer = await post(`${service.url}/v1/${path}?app=shop2`, body, as('shop'));
    expect(answer).toMatchObject(withoutEffect('app'));
  });

  test('a batch in JSON takes no batchId from the query', async () => {
    const body = { batchId: 'one', payouts: [row] };
    const answer = await post(`${service.url}/v1/payout-batches?batchId=two`, body, as('shop'));
    expect(answer).toMatchObject(withoutEffect('batchId'));
  });

  test('a notification and an authorization take the application from the path only', async () => {
    const notified = await post(`${service.url}/v1/notifications/default?app=shop2`, { order_id: '1' });
    expect(notified).toMatchObject({ status: 400, body: { detail: expect.stringContaining('app') } });
    const begun = await get(`${service.url}/v1/oauth/default/authorize?app=shop2`);
    expect(begun).toMatchObject({ status: 400, body: { detail: expect.stringContaining('app') } });
  });
});

describe.each(OPERATIONS.map(({ method, path }) => [method, path] as const))('%s %s', (method, path) => {
  const send = (query: string) =>
    method === 'GET' ? get(urlOf(path, query), as('shop')) : post(urlOf(path, query), '{}', as('shop'));

  test('refuses an unknown query parameter', async () => {
    expect(await send('application=shop2')).toMatchObject(withoutEffect('application'));
  });

  test('refuses a repeated query parameter', async () => {
    expect(await send('app=default&app=shop2')).toMatchObject(withoutEffect('app'));
  });
});

describe('headers', () => {
  const body = JSON.stringify({ batchId: 'one', payouts: [payoutRequest(newPartnerOrderId())] });
  const start = ['POST /v1/payout-batches HTTP/1.1', 'Host: x', `Content-Length: ${body.length}`];
  const KEY = 'Authorization: Bearer key-of-shop';

  test('two authorization headers are refused, also if the first key is known', async () => {
    const type = 'Content-Type: application/json';
    const other = 'Authorization: Bearer key-of-other';
    expect(await sent(...start, type, KEY, other, '', body)).toBe(400);
    expect(await sent('GET /metrics HTTP/1.1', 'Host: x', KEY, other, '', '')).toBe(400);
    expect(await sent('GET /metrics HTTP/1.1', 'Host: x', KEY, '', '')).toBe(200);
  });

  test('two content types are refused', async () => {
    const types = ['Content-Type: application/x-ndjson', 'Content-Type: application/json'];
    expect(
      await sent(...start.with(0, 'POST /v1/payout-batches?batchId=two HTTP/1.1'), ...types, KEY, '', body),
    ).toBe(400);
  });
});

test('a GET with a body is refused, because the body would have no effect', async () => {
  const text = '{"app":"shop2"}';
  const start = ['GET /v1/accounts?clientId=c HTTP/1.1', 'Host: x', 'Authorization: Bearer key-of-shop'];
  expect(
    await sent(...start, 'Content-Type: application/json', `Content-Length: ${text.length}`, '', text),
  ).toBe(400);
  expect(await sent(...start, 'Transfer-Encoding: chunked', '', '1', 'x', '0', '', '')).toBe(400);
  expect(await sent(...start, 'Content-Length: 0', '', '')).toBe(503);
});
