/** A person authorizes the application in a real browser. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { tokenStateQuery } from '../../src/contract/workflows.ts';
import { launchBrowser, patient } from '../support/browser.ts';
import { newLink, startApiServer, type TestApiServer } from '../support/http.ts';
import { PayoutWorld } from '../support/payout-world.ts';

let world: PayoutWorld;
let service: TestApiServer;
let base: string;

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  // A code works once, so an exchange must not time out.
  world = await PayoutWorld.start({ idle: true, env: { PAYMENTS_CALL_TIMEOUT: '1m' } });
  service = await startApiServer(world.client, { PORT: `${port}` });
  base = `${service.url}/v1/oauth/default`;
  world.simulator.control.changeApp('demo-app', { redirectUri: `${base}/callback` });
  await world.startWorkers({ PAYMENTS_REDIRECT_URI: `${base}/callback` });
});
afterAll(async () => {
  await service.close();
  await world.stop();
});
const exchanges = () =>
  world.simulator.control.calls().filter(({ operation }) => operation === 'oauthToken').length;
const tokenOf = (openId: string) =>
  world.client.workflow.getHandle(tokenWorkflowId('default', openId)).query(tokenStateQuery);

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

test('grants access: the page says so, and the renewal runs', async () => {
  const page = await patient(browser.newPage());
  await page.goto(await newLink(service.url));
  await page.getByLabel('Sign in as').fill('seller-7');
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByRole('heading', { name: 'Access granted' }).waitFor();
  expect(await tokenOf('seller-7')).toMatchObject({ kind: 'user', renewals: 1, needsAttention: false });
  // Going back and reloading is a replay: the code is not sent again.
  const before = exchanges();
  await page.reload();
  await page.getByRole('heading', { name: 'This link does not work' }).waitFor();
  expect(exchanges()).toBe(before);
});

test('denies access: the page says so, and no code is exchanged', async () => {
  const before = exchanges();
  const page = await patient(browser.newPage());
  await page.goto(await newLink(service.url));
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByRole('heading', { name: 'Access not granted' }).waitFor();
  expect(exchanges()).toBe(before);
});
