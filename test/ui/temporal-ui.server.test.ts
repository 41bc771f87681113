import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { currentDetails } from '../../demo/screenshots/camera.ts';
import { operatorsStorage } from '../../demo/screenshots/operators-storage.ts';
import { filterLink, SAVED_FILTERS } from '../../demo/screenshots/saved-filters.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { launchBrowser, patient } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

describe('an operator uses the Temporal UI in a real browser', () => {
  let world: PayoutWorld;
  let browser: Browser;
  let inReview: PayoutRef;
  let toApprove: PayoutRef;
  let partial: PayoutRef;

  beforeAll(async () => {
    world = await PayoutWorld.start();
    browser = await launchBrowser();
    inReview = await world.payWithFault({ kind: 'drop-before' }, 'success');
    toApprove = await world.pay('success', { approval: 'required' });
    partial = await world.pay('partial splits=3 failed=1');
    await world.payouts.result(partial);
    await world.until(toApprove, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.until(inReview, ({ phase }) => phase === 'NEEDS_REVIEW');
  });
  afterAll(async () => {
    await browser?.close();
    await world?.stop();
  });

  test('filters the list by attention, phase and outcome, which are columns of the list', async () => {
    const page = await operatorsPage();
    await find(page, 'Needs attention', inReview, toApprove);
    await page.getByRole('columnheader', { name: 'PayoutPhase' }).waitFor();
    const row = page.getByRole('row').filter({ hasText: inReview.partnerOrderId });
    await row.getByText('NEEDS_REVIEW').waitFor();
    expect(await row.getByText('true').count()).toBeGreaterThan(0);
    // A named link is stored as a view of this browser.
    await page.getByText('Needs attention').first().waitFor();
    await keepPicture(page, 'needs-attention');
    await find(page, 'To approve', toApprove, inReview);
    await find(page, 'Ended, not all paid', partial, inReview);
    await page
      .getByRole('row')
      .filter({ hasText: partial.partnerOrderId })
      .getByText('PARTIAL_SUCCESS')
      .waitFor();
  });

  test('reads the phase and the story of a payout without opening a payload', async () => {
    const page = await operatorsPage();
    const url = await addressOf(partial);
    await page.goto(url);
    await page.getByText('payout of 100.00 CNY').first().waitFor();
    await page.getByText('queries the trade and its detail').first().waitFor();
    await page.goto(url.replace(/history$/, 'search-attributes'));
    await page.getByText('PayoutPhase').first().waitFor();
    await page.getByText('PARTIAL_SUCCESS').first().waitFor();
    expect(await page.getByText('DONE').count()).toBeGreaterThan(0);
    await keepPicture(page, 'payout');
  });

  test('reads the cost and the expiry of a payout that waits, and its timer by name', async () => {
    const page = await operatorsPage();
    const details = (address: string) => address.replace(/history$/, 'user-metadata');
    await page.goto(details(await addressOf(toApprove)));
    const said = currentDetails(page);
    await said.getByText('Can be approved until').waitFor();
    await said.getByText(/Pays \d+\.\d\d USD for 100\.00 CNY at .*fee/).waitFor();
    await page.getByText('approval expires').first().waitFor();
    await page.goto(details(await addressOf(inReview)));
    await said.getByText('NEEDS_REVIEW: find out whether the order exists').waitFor();
    await page.getByText('confirms again whether the order exists').first().waitFor();
    await keepPicture(page, 'in-review');
  });

  test('approves a payout that another caller started', async () => {
    const body = payoutRequest(newPartnerOrderId(), { approval: 'required', platform: 'sim:success' });
    await world.payouts.start(body, { startedBy: 'shop' });
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    // Without a codec server, which this page would ask to encrypt.
    const page = await patient(browser.newPage({ viewport: { width: 1400, height: 1600 } }));
    expect(await approve(page, body, 'shop')).toContain('who started a payout cannot approve it');
    expect((await world.payouts.state(body)).phase).toBe('AWAITING_APPROVAL');
    expect(await approve(page, body, 'olga')).toContain('"phase"');
    expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
  });

  /** As a person does it: More Actions, Send an Update. Returns Temporal's answer with decoded payloads. */
  async function approve(page: Page, ref: PayoutRef, by: string): Promise<string> {
    await page.goto(await addressOf(ref));
    await page.getByRole('button', { name: 'More Actions' }).click();
    await page.getByRole('menuitem', { name: 'Send an Update' }).click();
    const seen = { visible: true };
    await page.getByTestId('update-select-button').filter(seen).click();
    await page.getByRole('option', { name: 'approve' }).first().click();
    await page.locator('.cm-content[contenteditable=true]').filter(seen).last().click();
    await page.keyboard.type(JSON.stringify({ by }));
    const answer = page.waitForResponse((response) => response.url().includes('/update/approve'));
    await page.getByRole('button', { name: 'Submit' }).filter(seen).click();
    return (await (await answer).text()).replace(/"data":\s*"([^"]*)"/g, (_, data) => atob(data));
  }

  async function operatorsPage(): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1400, height: 1600 } });
    const storage = operatorsStorage(world.namespace, 'http://127.0.0.1:9');
    await context.addInitScript(`Object.assign(localStorage, ${JSON.stringify(storage)})`);
    return patient(context.newPage());
  }

  /** By the link of the documentation. The list shows a payout shortly after it starts. */
  async function find(page: Page, name: string, found: PayoutRef, passedOver: PayoutRef): Promise<void> {
    const filter = SAVED_FILTERS.find((one) => one.name === name);
    if (!filter) throw new Error(`no filter ${name}`);
    const { workflowId } = await world.payouts.handle(found).describe();
    await eventually(async () => {
      const query = `${filter.query} AND WorkflowId = '${workflowId}'`;
      return (await world.client.workflow.count(query)).count > 0 || undefined;
    });
    await page.goto(filterLink(inject('temporalUiUrl'), world.namespace, filter));
    await page.getByRole('row').filter({ hasText: found.partnerOrderId }).first().waitFor();
    expect(await page.getByRole('row').filter({ hasText: passedOver.partnerOrderId }).count()).toBe(0);
  }

  async function addressOf(ref: PayoutRef): Promise<string> {
    const { workflowId, runId } = await world.payouts.handle(ref).describe();
    const path = `namespaces/${world.namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/history`;
    return `${inject('temporalUiUrl')}/${path}`;
  }

  /** `UI_PICTURES=folder npm test -- test/ui` saves the screenshots. */
  async function keepPicture(page: Page, name: string): Promise<void> {
    const folder = process.env['UI_PICTURES'];
    if (!folder) return;
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}.png`) });
  }
});
