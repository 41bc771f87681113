import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { launchBrowser } from '../support/browser.ts';
import { PayoutWorld } from '../support/payout-world.ts';

describe('an operator opens the Temporal UI in a real browser', () => {
  let world: PayoutWorld;
  let browser: Browser;
  beforeAll(async () => {
    world = await PayoutWorld.start();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await world?.stop();
  });

  test('and reads the phase and the story of a payout without opening a payload', async () => {
    const ref = await world.pay('partial splits=3 failed=1');
    await world.payouts.result(ref);
    const { workflowId, runId } = await world.payouts.handle(ref).describe();
    const page = await browser.newPage({ viewport: { width: 1400, height: 1600 } });
    const url = `${inject('temporalUiUrl')}/namespaces/${world.namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/history`;
    await page.goto(url);
    await page.getByText(workflowId).first().waitFor();
    await page.getByText('payout of 100.00 CNY').first().waitFor();
    await page.getByText('how is the order?').first().waitFor();
    await page.getByText('which payments were made?').first().waitFor();
    await page.goto(url.replace(/history$/, 'search-attributes'));
    await page.getByText('PayoutPhase').first().waitFor();
    await page.getByText('PARTIAL_SUCCESS').first().waitFor();
    expect(await page.getByText('DONE').count()).toBeGreaterThan(0);
    await keepPicture(page, 'payout');
  });

  /** `UI_PICTURES=folder npm test -- test/ui` keeps what the browser saw. */
  async function keepPicture(page: Awaited<ReturnType<Browser['newPage']>>, name: string): Promise<void> {
    const folder = process.env['UI_PICTURES'];
    if (!folder) return;
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}.png`) });
  }
});
