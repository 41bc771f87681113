/** Daily limits on the desk: over HTTP as a browser without scripts uses it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Allowances } from '../../src/client/allowances.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { BEHIND_IDENTITY_PROXY, DeskBrowser, fromProxy, startDesk, uploadBatch } from '../support/desk.ts';
import type { TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let server: TestApiServer;

beforeAll(async () => {
  world = await VirtualWorld.start();
  server = await startDesk(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      callerEntry('finance', { users: ['olga', 'piet'], dailyCount: 3, dailyAmount: { CNY: '9000.00' } }),
    ]),
    ...BEHIND_IDENTITY_PROXY,
  });
});
afterAll(async () => {
  await server.close();
  await world.stop();
});

const notBefore = new Date(Date.now() + 86_400_000).toISOString();

/** Uploads a batch and starts it from its preview. */
async function start(user: string, rows: number): Promise<{ status: number; html: string; preview: string }> {
  const browser = new DeskBrowser(server.url, fromProxy(user));
  const payouts = Array.from({ length: rows }, () => payoutRequest(newPartnerOrderId(), { notBefore }));
  const { preview, start: confirm } = await uploadBatch(browser, server.url, payouts);
  return { ...(await confirm()), preview };
}

/** The cells of the table of daily limits. */
const limits = (html: string) =>
  [...html.slice(html.indexOf('<caption>Daily limits')).matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)]
    .map(([, cell = '']) => cell.replace(/<[^>]+>/g, ''))
    .filter((cell) => /^[\d,.]+ (payouts|CNY)$/.test(cell));

test('H176 an uploaded batch counts for the caller, whoever of its users starts it', async () => {
  const first = await start('olga', 2);
  expect(first.status).toBe(303);
  expect(limits(first.preview).slice(0, 6)).toEqual([
    ...['3 payouts', '0 payouts', '2 payouts'],
    ...['9,000.00 CNY', '0.00 CNY', '200.00 CNY'],
  ]);
  const refused = await start('piet', 2);
  expect(refused.status).toBe(403);
  expect(limits(refused.preview).slice(0, 3)).toEqual(['3 payouts', '2 payouts', '2 payouts']);
  expect(refused.preview).toContain('The batch exceeds a daily limit');
  expect(refused.html).toContain('at most 3 payouts per day (UTC): 2 are reserved, and 2 more are requested');
  expect((await start('piet', 1)).status).toBe(303);
  const allowances = new Allowances(world.client, 'test', PROCESS_RUNTIME.clock);
  expect((await allowances.state('finance')).count).toBe(3);
});
