/** The log lines of refused notifications, through real sockets, by a clock that stands still. */
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { standInClient } from '../../fuzz/temporal.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';

const SECRET = 'secret-of-the-provider';
const CANARY = 'canary-of-the-sender';
const MINUTE_MS = 60_000;
const lineSchema = z.looseObject({
  level: z.string(),
  event: z.string(),
  app: z.string(),
  since: z.iso.datetime(),
  counts: z.record(z.string(), z.number()),
});

let clock: FakeClock;
let server: TestApiServer;
let written: string[];
const write = process.stderr.write;

beforeEach(async () => {
  clock = new FakeClock();
  written = [];
  process.stderr.write = (chunk: string | Uint8Array) => written.push(String(chunk)) > 0;
  const client = standInClient({ ends: {}, states: [], queries: {}, argumentOf: () => null });
  server = await startApiServer(
    client,
    {
      ...{ PAYMENTS_NOTIFICATION_VERIFIER: 'hmac-sha256', PAYMENTS_NOTIFICATION_SECRETS: SECRET },
      PAYOUTS_LOG_LEVEL: 'info',
      PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop', { applications: ['default', 'payroll'] })]),
    },
    { clock },
  );
});
afterEach(async () => {
  await server.close();
  process.stderr.write = write;
});

const lines = () =>
  written
    .flatMap((chunk) => chunk.split('\n'))
    .filter((line) => line.includes('notifications.refused'))
    .map((line) => lineSchema.parse(JSON.parse(line)));

async function send(app: string, headers: Record<string, string> = {}): Promise<void> {
  const { status } = await post(`${server.url}/v1/notifications/${app}`, { order_id: CANARY }, headers);
  expect(status).toBe(401);
}

function signed(
  secret: string,
  secondsAgo = 0,
  body = JSON.stringify({ order_id: CANARY }),
): Record<string, string> {
  const [id, seconds] = [randomUUID(), Math.floor(Date.now() / 1_000) - secondsAgo];
  const content = `${id}.${seconds}.${body}`;
  const signature = createHmac('sha256', secret).update(content).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': `${seconds}`, 'webhook-signature': `v1,${signature}` };
}

test('the first of each reason leaves a line at once, and the others one line per minute with counts', async () => {
  await send('default');
  expect(lines()).toMatchObject([
    { level: 'warn', app: 'default', counts: { 'a webhook header is missing or repeated': 1 } },
  ]);
  for (let count = 0; count < 30; count += 1) await send('default');
  await send('default', signed(CANARY));
  await send('default', signed(CANARY));
  await send('default', signed(SECRET, 3_600));
  await clock.advance(MINUTE_MS - 1);
  expect(lines().slice(1)).toMatchObject([
    { app: 'default', counts: { 'the signature does not match': 1 } },
    { app: 'default', counts: { 'the webhook-timestamp is outside the clock window': 1 } },
  ]);
  await clock.advance(1);
  expect(lines().slice(3)).toMatchObject([
    {
      app: 'default',
      counts: { 'a webhook header is missing or repeated': 30, 'the signature does not match': 1 },
    },
  ]);
});

test('a minute without any leaves no line, and the next one leaves a line at once', async () => {
  await send('default');
  await clock.advance(3 * MINUTE_MS);
  expect(lines().length).toBe(1);
  await send('default');
  expect(lines().length).toBe(2);
});

test('each application has its lines; those that no key names share one', async () => {
  for (let count = 0; count < 30; count += 1) await send(`${CANARY}-${count}`);
  await send('payroll');
  expect(lines().map(({ app }) => app)).toEqual(['other', 'payroll']);
  await clock.advance(MINUTE_MS);
  expect(lines().slice(2)).toMatchObject([{ app: 'other', counts: expect.any(Object) }]);
});

test('no line has anything of a notification; what is left is written at the end', async () => {
  await send('default', { 'webhook-id': CANARY, 'x-request-id': CANARY, 'user-agent': CANARY });
  await send(CANARY, signed(CANARY));
  await send('default', signed(CANARY));
  await server.close();
  expect(lines().length).toBe(3);
  expect(written.join('')).not.toContain(CANARY);
});

/** The notifications by result, as the metrics show them. */
async function counted(): Promise<Record<string, string>> {
  const { body } = await get(`${server.url}/metrics`, as('shop'));
  const lines = String(body).matchAll(/^payouts_notifications_total\{result="(\w+)"\} ([1-9]\d*)$/gm);
  return Object.fromEntries([...lines].map(([, result, count]) => [result, count]));
}

test('H202 every refusal is counted and leaves a line, also that of a body which is not read', async () => {
  const at = (app: string) => `${server.url}/v1/notifications/${app}`;
  const large = JSON.stringify({ order_id: CANARY, note: 'x'.repeat(64 * 1024) });
  expect((await post(at('default'), large)).status).toBe(413);
  expect((await post(at('payroll?app=default'), '{}', signed(SECRET, 0, '{}'))).status).toBe(400);
  expect((await post(at('payroll'), '{}', signed(SECRET, 0, '{}'))).status).toBe(400);
  expect((await post(at('payroll'), CANARY, signed(SECRET, 0, CANARY))).status).toBe(400);
  expect((await post(at('NO_APP'), '{}')).status).toBe(404);
  await send('default');
  await server.close();
  expect(lines().map(({ app, counts }) => [app, counts])).toEqual([
    ['default', { 'Content too large': 1 }],
    ['payroll', { 'the path names the application: the query must not contain app': 1 }],
    ['payroll', { 'contains no order ID; see PAYMENTS_NOTIFICATION_FIELDS': 1 }],
    ['payroll', { 'not JSON': 1 }],
    ['other', { 'no such application': 1 }],
    ['default', { 'a webhook header is missing or repeated': 1 }],
  ]);
  expect(written.join('')).not.toContain(CANARY);
});

test.each([
  ['application/json,application/json'],
  ['json'],
  [''],
  ['application/json charset=utf-8'],
  ['application/json; charset=utf-16'],
  ['text/plain'],
  [undefined],
])('H202 the content type %j does not matter', async (type) => {
  const body = JSON.stringify({ order_id: CANARY });
  const headers = { ...signed(SECRET), ...(type !== undefined && { 'content-type': type }) };
  const sent = request(`${server.url}/v1/notifications/default`, { method: 'POST', headers });
  const [answer] = await Promise.all([once(sent, 'response'), sent.end(body)]);
  const [response] = answer;
  response.resume();
  expect(response.statusCode).toBe(202);
  expect(await counted()).toEqual({ delivered: '1' });
});

test.each([
  [undefined, 202, '{"received":"unverified"}', 'application/json; charset=utf-8'],
  ['200 SUCCESS', 200, 'SUCCESS', 'text/plain; charset=utf-8'],
  [
    '200 {"code": 0, "message": "OK"}',
    200,
    '{"code": 0, "message": "OK"}',
    'application/json; charset=utf-8',
  ],
  ['200 "OK"', 200, '"OK"', 'application/json; charset=utf-8'],
  ['200', 200, '', 'text/plain; charset=utf-8'],
  ['204', 204, '', undefined],
])(
  'H202 PAYMENTS_NOTIFICATION_RECEIPT=%s is the response to an accepted notification',
  async (receipt, status, body, type) => {
    const client = standInClient({ ends: {}, states: [], queries: {}, argumentOf: () => null });
    const own = await startApiServer(
      client,
      receipt === undefined ? {} : { PAYMENTS_NOTIFICATION_RECEIPT: receipt },
    );
    const response = await fetch(`${own.url}/v1/notifications/default`, {
      method: 'POST',
      body: '{"order_id":"1"}',
    });
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(body);
    if (type !== undefined) expect(response.headers.get('content-type')).toBe(type);
    const refused = await fetch(`${own.url}/v1/notifications/default`, { method: 'POST', body: '{}' });
    expect(refused.status).toBe(400);
    await own.close();
  },
);

test('accepted notifications are not counted', async () => {
  const { status } = await post(
    `${server.url}/v1/notifications/default`,
    { order_id: CANARY },
    signed(SECRET),
  );
  expect(status).toBe(202);
  await clock.advance(MINUTE_MS);
  expect(lines()).toEqual([]);
});
