import { randomBytes } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { type DevServer, startDevServer } from '../../scripts/dev-server.ts';
import { Payouts } from '../../src/client/payouts.ts';
import { buildCodecServer } from '../../src/codec-server/server.ts';
import { codecConfig } from '../../src/config/codec-config.ts';
import { encryptionKeys } from '../../src/config/keys.ts';
import { dataConverter } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { launchBrowser, patient } from '../support/browser.ts';
import { newKey } from '../support/keys.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let temporal: DevServer;
let connection: Connection;
let browser: Browser;
let codec: Awaited<ReturnType<typeof buildCodecServer>>;
let url: string;
let codecUrl: string;
const BEARER = randomBytes(24).toString('base64url');

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  codecUrl = `http://127.0.0.1:${port}`;
  temporal = await startDevServer({ always: true, codecEndpoint: codecUrl });
  const keys = { PAYOUTS_ENCRYPTION_KEYS: newKey('k1') };
  codec = await buildCodecServer(
    codecConfig({ ...keys, PAYOUTS_CODEC_KEYS: `operator:${BEARER}`, PAYOUTS_CODEC_ORIGINS: temporal.uiUrl }),
  );
  await codec.listen({ host: '127.0.0.1', port });
  connection = await Connection.connect({ address: temporal.address });
  const client = new Client({
    connection,
    dataConverter: dataConverter(encryptionKeys(keys).payloads, PROCESS_RUNTIME.random),
  });
  const { workflowId, runId } = await new Payouts({ client }).start(payoutRequest(newPartnerOrderId()));
  url = `${temporal.uiUrl}/namespaces/default/workflows/${encodeURIComponent(workflowId)}/${runId}`;
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await codec?.close();
  await connection?.close();
  await temporal?.stop();
});

test('H47 the Temporal UI shows payloads only to an operator who signed in at the codec server', async () => {
  const context = await browser.newContext();
  // The operator's choices in the UI's codec dialog: this server, and to send its cookies.
  await context.addInitScript(`
    localStorage.setItem('overrideRemoteCodecConfiguration', 'true');
    localStorage.setItem('endpoint', '"${codecUrl}"');
    localStorage.setItem('includeCredentials', 'true');
  `);
  const page = await patient(context.newPage());
  const asked = page.waitForResponse((answer) => answer.url().endsWith('/decode'));
  await page.goto(url);
  expect((await asked).status()).toBe(401);
  expect(await page.getByText('Zhang San').count()).toBe(0);

  await page.goto(codecUrl);
  await page.getByLabel('Key').fill(BEARER);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Signed in').waitFor();
  await page.goto(url);
  await page.getByText('Zhang San').first().waitFor();

  await page.goto(codecUrl);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('Signed out').waitFor();
  const refused = page.waitForResponse((answer) => answer.url().endsWith('/decode'));
  await page.goto(url);
  expect((await refused).status()).toBe(401);
});
