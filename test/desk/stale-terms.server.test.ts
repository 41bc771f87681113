/** A page that was loaded while no worker ran has no quote: its decision must not apply to one. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectClient } from '../../src/temporal/connection.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { DeskBrowser, startDesk } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import type { TestApiServer } from '../support/http.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let world: PayoutWorld;
let server: TestApiServer;
let close: () => Promise<void>;
beforeAll(async () => {
  world = await PayoutWorld.start();
  const connected = await connectClient({ environment: world.workerEnvironment });
  close = () => connected.connection.close();
  server = await startDesk(connected.client, { PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('boss')]) });
});
afterAll(async () => {
  await server.close();
  await close();
  await world.stop();
});

test('H360 a page without a worker offers no decision', async () => {
  const body = payoutRequest(newPartnerOrderId(), { approval: 'required', platform: 'sim:slow final=1h' });
  await world.payouts.start(body);
  await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
  const browser = new DeskBrowser(server.url);
  await browser.signIn('key-of-boss');
  const pages = () =>
    Promise.all(
      [
        '/desk',
        '/desk/payouts/confirm-approve?all=on',
        `/desk/payout?partnerOrderId=${body.partnerOrderId}`,
      ].map(async (path) => (await browser.get(path)).html),
    );
  // Lists lag.
  await eventually(async () =>
    (await pages()).every((html) => html.includes('lockRateId')) ? true : undefined,
  );
  await world.stopWorkers();
  // A status that a worker has just answered is shown for a second.
  const [inbox = '', confirm = '', page = ''] = await eventually(async () => {
    const now = await pages();
    return now.some((html) => html.includes('lockRateId')) ? undefined : now;
  });
  expect(page).toContain('no worker is running');
  expect(inbox).toContain('could not be read now');
  expect(confirm).toContain('Nothing to approve');
  expect(page).toContain('Awaiting approval');
  for (const html of [inbox, confirm, page]) {
    expect(html).not.toMatch(/name="pick-|action="\/desk\/payouts\/|name="lockRateId"/);
    expect(html).toContain(body.partnerOrderId);
  }
});
