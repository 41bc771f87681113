/**
 * `npm run screenshots`: runs invented payouts on real processes and takes the screenshots in `docs/ui` from the real
 * Temporal UI and the desk with a real browser.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { z } from 'zod';
import { launchBrowser } from '../../scripts/browser.ts';
import { Payouts } from '../../src/client/payouts.ts';
import { encryptionKeys } from '../../src/config/keys.ts';
import { dataConverter } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { clientInterceptors } from '../../src/temporal/queries.ts';
import { type Stage, startStage } from '../stage.ts';
import { type Camera, camera, currentDetails } from './camera.ts';
import { takeDesk } from './desk.ts';
import { operatorsStorage } from './operators-storage.ts';
import { type Paid, startAndWait } from './payouts.ts';
import { startReceiver } from './receiver.ts';
import { filterLink, SAVED_FILTERS } from './saved-filters.ts';

/** The UI's path of the tab that shows current details. */
const DETAILS = 'user-metadata';
const FOLDER = join(import.meta.dirname, '../../docs/ui');

async function main(): Promise<void> {
  // Never show a server with real payouts.
  delete process.env['TEMPORAL_ADDRESS'];
  mkdirSync(FOLDER, { recursive: true });
  const receiver = await startReceiver();
  process.env['PAYOUTS_EVENTS_FILE'] = receiver.file;
  const stage = await startStage((line) => console.log(line));
  const browser = await launchBrowser();
  try {
    console.log('paying …');
    const paid = await payAll(stage);
    const { temporal, codecUrl } = stage;
    const shots = await camera(browser, operatorsStorage(temporal.namespace, codecUrl));
    await takeAll(shots, stage, paid);
    await takeDesk(browser, stage.apiUrl);
    console.log('the screenshots are in docs/ui');
  } finally {
    await browser.close();
    await stage.stop();
    receiver.server.close();
  }
}

async function payAll({ temporal, environment, simulatorUrl }: Stage): Promise<Paid> {
  const connection = await Connection.connect({ address: temporal.address });
  const { namespace } = temporal;
  const converter = dataConverter(encryptionKeys(environment).payloads, PROCESS_RUNTIME.random);
  const client = new Client({
    connection,
    namespace,
    dataConverter: converter,
    interceptors: clientInterceptors(PROCESS_RUNTIME.clock),
  });
  try {
    return await startAndWait(new Payouts({ client, environment: 'test' }), simulatorUrl);
  } finally {
    await connection.close();
  }
}

async function takeAll(shots: Camera, stage: Stage, paid: Paid): Promise<void> {
  await takeLists(shots, stage);
  await takeStory(shots, (tab) => urlOf(stage, paid, 'invoice-2042', tab));
  await takeDetails(shots, 'awaiting-approval', urlOf(stage, paid, 'invoice-2046', DETAILS));
  await takeDetails(shots, 'in-review', urlOf(stage, paid, 'invoice-2048', DETAILS));
  await takeAuthorization(shots, stage);
}

function urlOf({ temporal }: Stage, paid: Paid, partnerOrderId: string, tab: string): string {
  const { workflowId = '', runId = '' } = paid.get(partnerOrderId) ?? {};
  return `${temporal.uiUrl}/namespaces/${temporal.namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/${tab}`;
}

async function takeLists({ page, take }: Camera, { temporal }: Stage): Promise<void> {
  const { uiUrl, namespace } = temporal;
  const [needsAttention] = SAVED_FILTERS;
  if (!needsAttention) throw new Error('there are no saved filters');
  await page.goto(filterLink(uiUrl, namespace, { name: 'All payouts', query: 'WorkflowType="payout"' }));
  await page.getByText('NEEDS_REVIEW').first().waitFor();
  await take('list', 700);
  await page.goto(filterLink(uiUrl, namespace, needsAttention));
  await page.getByText('invoice-2048').first().waitFor();
  await take('needs-attention', 460);
}

/** The history, then one event of it: its input and result, decoded by the codec server. */
async function takeStory({ page, take }: Camera, tab: (name: string) => string): Promise<void> {
  await page.goto(tab('history'));
  const step = page.getByText('queries the trade and its detail').first();
  await step.waitFor();
  await take('story', 1_080);
  await step.click();
  await page.getByText('partnerOrderId').nth(2).waitFor();
  await take('decoded', 820, 270);
}

async function takeDetails({ page, take }: Camera, name: string, url: string): Promise<void> {
  await page.goto(url);
  await currentDetails(page).getByText('Next:').waitFor();
  await take(name, 860);
}

/** The page at the end of an authorization. */
async function takeAuthorization({ page, take }: Camera, { apiUrl }: Stage): Promise<void> {
  const issued = await fetch(`${apiUrl}/v1/authorizations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const { url } = z.object({ url: z.url() }).parse(await issued.json());
  await page.goto(url);
  await page.getByLabel('Sign in as').fill('seller-7');
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByRole('heading', { name: 'Access granted' }).waitFor();
  await take('authorized', 420);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
