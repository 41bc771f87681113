/** Daily limits on the desk: over HTTP as a browser without scripts uses it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Allowances } from '../../src/client/allowances.ts';
import { PROCESS_SURROUNDINGS } from '../../src/surroundings/process.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { DeskBrowser, startDesk } from '../support/desk.ts';
import type { TestApiServer } from '../support/http.ts';
import { newPartnerOrderId, PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';

let world: PayoutWorld;
let server: TestApiServer;

beforeAll(async () => {
  world = await PayoutWorld.start();
  server = await startDesk(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('finance', { users: ['olga', 'piet'], dailyCount: 3 })]),
    PAYOUTS_DESK_USER_HEADER: 'X-Forwarded-User',
    PAYOUTS_API_PROXIES: '127.0.0.1',
  });
});
afterAll(async () => {
  await server.close();
  await world.stop();
});

const notBefore = new Date(Date.now() + 86_400_000).toISOString();

/** Uploads a batch and starts it from its preview. */
async function start(user: string, rows: number): Promise<{ status: number; html: string }> {
  const browser = new DeskBrowser(server.url, { 'x-forwarded-user': user });
  await browser.get('/desk/batches');
  const form = new FormData();
  const lines = Array.from({ length: rows }, () =>
    JSON.stringify(payoutRequest(newPartnerOrderId(), { notBefore })),
  );
  form.set('formToken', browser.formToken);
  form.set('batchId', newPartnerOrderId());
  form.set('file', new Blob([lines.join('\n')]), 'payouts.ndjson');
  const encoded = new Response(form);
  const type = { 'content-type': encoded.headers.get('content-type') ?? '', origin: server.url };
  const uploaded = await browser.send('POST', '/desk/batches/preview', type, await encoded.text());
  const preview = String(uploaded.headers['location']);
  await browser.get(preview);
  const upload = new URL(preview, server.url).searchParams.get('upload') ?? '';
  return browser.post('/desk/batches/start', { upload });
}

test('H176 an uploaded batch counts for the caller, whoever of its users starts it', async () => {
  expect((await start('olga', 2)).status).toBe(303);
  const refused = await start('piet', 2);
  expect(refused.status).toBe(403);
  expect(refused.html).toContain('at most 3 payouts per day (UTC): 2 are reserved, and 2 more are requested');
  expect((await start('piet', 1)).status).toBe(303);
  const allowances = new Allowances(world.client, 'test', PROCESS_SURROUNDINGS.clock);
  expect((await allowances.state('finance')).count).toBe(3);
});
