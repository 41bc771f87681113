/** The log lines of refused notifications, through real sockets, by a clock that stands still. */
import { createHmac, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { standInClient } from '../../fuzz/temporal.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { post, startApiServer, type TestApiServer } from '../support/http.ts';

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

function signed(secret: string, secondsAgo = 0): Record<string, string> {
  const [id, seconds] = [randomUUID(), Math.floor(Date.now() / 1_000) - secondsAgo];
  const content = `${id}.${seconds}.${JSON.stringify({ order_id: CANARY })}`;
  const signature = createHmac('sha256', secret).update(content).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': `${seconds}`, 'webhook-signature': `v1,${signature}` };
}

test('the first leaves a line at once, and the others one line per minute with counts by reason', async () => {
  await send('default');
  expect(lines()).toMatchObject([
    { level: 'warn', app: 'default', counts: { 'a webhook header is missing or repeated': 1 } },
  ]);
  for (let count = 0; count < 30; count += 1) await send('default');
  await send('default', signed(CANARY));
  await send('default', signed(CANARY));
  await send('default', signed(SECRET, 3_600));
  await clock.advance(MINUTE_MS - 1);
  expect(lines().length).toBe(1);
  await clock.advance(1);
  expect(lines().slice(1)).toMatchObject([
    {
      app: 'default',
      counts: {
        'a webhook header is missing or repeated': 30,
        'the signature does not match': 2,
        'the webhook-timestamp is outside the clock window': 1,
      },
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
