/** Downloads of statements on the desk, in a real browser without JavaScript. */
import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { batchesOf, rowsOf } from '../support/batches.ts';
import { DeskStage } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';

const DAY_MS = 24 * 3_600_000;

let stage: DeskStage;
beforeAll(async () => {
  stage = await DeskStage.start();
});
afterAll(() => stage?.stop());

async function downloaded(page: Page, by: Locator): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([page.waitForEvent('download'), by.click()]);
  return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') };
}

test('H304 a person downloads the payouts of a day, and the results of a batch, as CSV', async () => {
  const batchId = 'payday';
  const rows = rowsOf('success', 'failure');
  const batches = batchesOf(stage.world);
  await batches.start({ batchId, payouts: rows, startedBy: 'desk' });
  await batches.result({ batchId });
  const [from, to] = [0, DAY_MS].map((ms) =>
    new Date(stage.world.clock.wallMs() + ms).toISOString().slice(0, 10),
  );
  const page = await stage.signedIn();
  const statement = await eventually(async () => {
    await page.goto('/desk/payouts');
    await page.getByRole('link', { name: 'Download a statement' }).click();
    await page.getByLabel('From (UTC)').fill(from ?? '');
    await page.getByLabel('Before (UTC)').fill(to ?? '');
    const file = await downloaded(page, page.getByRole('button', { name: 'Download' }));
    return rows.every(({ partnerOrderId }) => file.text.includes(partnerOrderId)) ? file : undefined;
  });
  expect(statement.name).toBe(`statement-${from}-${to}.csv`);
  await page.goto('/desk/statement');
  const ofToday = await downloaded(page, page.getByRole('main').getByRole('link', { name: 'Today' }));
  expect(ofToday.name).toMatch(/^statement-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
  expect(ofToday.text).toMatch(/\r\nend,/);
  expect(statement.text).toMatch(/\r\nend,.*,2,0,false\r\n$/);
  await page.goto(`/desk/batch?batchId=${batchId}`);
  const results = await downloaded(page, page.getByRole('link', { name: 'Download the results' }));
  expect(results.name).toBe('batch-payday.csv');
  expect(results.text).toMatch(/\r\nend,.*,2,0,true\r\n$/);
});

test('a key that is limited to clients gets a page that says so, not a file', async () => {
  const page = await stage.signedIn('scoped');
  await page.goto('/desk/statement/file?from=2026-01-01&to=2026-01-02&format=csv');
  await page.getByRole('alert').filter({ hasText: 'cannot list' }).waitFor();
});
