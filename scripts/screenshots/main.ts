/**
 * `npm run screenshots`: pays invented payouts on real processes, and takes the pictures in `docs/ui` with a real
 * browser that looks at the real Temporal UI.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { type Stage, setStage } from '../../demo/stage.ts';
import { Payouts } from '../../src/client/payouts.ts';
import { encryptionKeys } from '../../src/config/encryption.ts';
import { dataConverter } from '../../src/encryption/data-converter.ts';
import { PROCESS_SURROUNDINGS } from '../../src/surroundings/process.ts';
import { clientInterceptors } from '../../src/temporal/queries.ts';
import { filterLink, SAVED_FILTERS } from '../../src/temporal/saved-filters.ts';
import { launchBrowser } from '../browser.ts';
import { type Camera, camera, currentDetails } from './camera.ts';
import { operatorsStorage } from './operators-storage.ts';
import { type Paid, payThem } from './payouts.ts';

/** The UI's own name of the tab that shows current details. */
const DETAILS = 'user-metadata';
const FOLDER = join(import.meta.dirname, '../../docs/ui');

async function main(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const stage = await setStage((line) => console.log(line));
  const browser = await launchBrowser();
  try {
    console.log('paying …');
    const paid = await payAll(stage);
    const { engine, codecUrl } = stage;
    const taken = await camera(browser, operatorsStorage(engine.namespace, codecUrl));
    await takeAll(taken, stage, paid);
    console.log('the pictures are in docs/ui');
  } finally {
    await browser.close();
    await stage.stop();
  }
}

async function payAll({ engine, environment, simulatorUrl }: Stage): Promise<Paid> {
  const connection = await Connection.connect({ address: engine.address });
  const { namespace } = engine;
  const converter = dataConverter(encryptionKeys(environment).payloads, PROCESS_SURROUNDINGS.random);
  const client = new Client({
    connection,
    namespace,
    dataConverter: converter,
    interceptors: clientInterceptors(PROCESS_SURROUNDINGS.clock),
  });
  try {
    return await payThem(new Payouts({ client, environment: 'test' }), simulatorUrl);
  } finally {
    await connection.close();
  }
}

async function takeAll(taken: Camera, stage: Stage, paid: Paid): Promise<void> {
  await takeLists(taken, stage);
  await takeStory(taken, (tab) => address(stage, paid, 'invoice-2042', tab));
  await takeDetails(taken, 'awaiting-approval', address(stage, paid, 'invoice-2046', DETAILS));
  await takeDetails(taken, 'in-review', address(stage, paid, 'invoice-2048', DETAILS));
  await authorize(taken, stage);
}

function address({ engine }: Stage, paid: Paid, number: string, tab: string): string {
  const { workflowId = '', runId = '' } = paid.get(number) ?? {};
  return `${engine.uiUrl}/namespaces/${engine.namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/${tab}`;
}

async function takeLists({ page, take }: Camera, { engine }: Stage): Promise<void> {
  const { uiUrl, namespace } = engine;
  const [needsSomebody] = SAVED_FILTERS;
  if (!needsSomebody) throw new Error('there are no saved filters');
  await page.goto(filterLink(uiUrl, namespace, { name: 'All payouts', query: 'WorkflowType="payout"' }));
  await page.getByText('NEEDS_REVIEW').first().waitFor();
  await take('list', 700);
  await page.goto(filterLink(uiUrl, namespace, needsSomebody));
  await page.getByText('invoice-2048').first().waitFor();
  await take('needs-somebody', 460);
}

/** The story at a glance, then one step opened: its input and its result, decoded by the codec server. */
async function takeStory({ page, take }: Camera, tab: (name: string) => string): Promise<void> {
  await page.goto(tab('history'));
  const step = page.getByText('which payments were made?').first();
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

/** What a user sees at the end of an authorization. */
async function authorize({ page, take }: Camera, { serviceUrl }: Stage): Promise<void> {
  await page.goto(`${serviceUrl}/v1/oauth/default/authorize`);
  await page.getByLabel('Sign in as').fill('seller-7');
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByRole('heading', { name: 'Access granted' }).waitFor();
  await take('authorized', 420);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
