/** Downloads of statements on the desk, in a real browser without JavaScript. */
import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { batchesOf, rowsOf } from '../support/batches.ts';
import { DeskStage, textOf } from '../support/desk.ts';
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

test('H304 a person sees the totals of a day, and downloads its payouts, and the results of a batch, as CSV', async () => {
  const batchId = 'payday';
  const rows = rowsOf('success', 'failure');
  const batches = batchesOf(stage.world);
  await batches.start({ batchId, payouts: rows, startedBy: 'desk' });
  await batches.result({ batchId });
  const [from, to] = [0, DAY_MS].map((ms) =>
    new Date(stage.world.clock.wallMs() + ms).toISOString().slice(0, 10),
  );
  const page = await stage.signedIn();
  const main = page.getByRole('main');
  const totals = await eventually(async () => {
    await page.goto('/desk/payouts');
    await page.getByRole('link', { name: 'Download a statement' }).click();
    await page.getByText('Another period').click();
    await page.getByLabel('From (UTC)').fill(from ?? '');
    await page.getByLabel('Before (UTC)').fill(to ?? '');
    await page.getByRole('button', { name: 'Show' }).click();
    const text = await textOf(main);
    return /Payouts\s+2\s/.test(text) ? text : undefined;
  });
  // Before the download.
  expect(totals).toMatch(/Received\s+100\.00 CNY[\s\S]*Not received\s+100\.00 CNY/);
  expect(totals).toMatch(
    /Debited\s+\d+\.\d\d USD\s+For paid payouts[\s\S]*Fees\s+0\.07 USD\s+For paid payouts/,
  );
  expect(totals).toMatch(/Paid\s+1\s+100\.00 CNY[\s\S]*Failed\s+1\s+(0\.00 CNY|–)\s+100\.00 CNY/);
  const statement = await downloaded(page, page.getByRole('link', { name: 'CSV, for spreadsheets' }));
  expect(rows.every(({ partnerOrderId }) => statement.text.includes(partnerOrderId))).toBe(true);
  expect(statement.name).toBe(`statement-${from}-${to}.csv`);
  expect(statement.text).toMatch(/\r\n"End of the statement: 2 payouts; more may follow",+2,0,false\r\n$/);
  expect(statement.text).not.toContain('\r\nsplits,');
  const detailed = await downloaded(page, page.getByRole('link', { name: 'CSV with debits' }));
  expect(detailed.text).toContain('\r\nsplits,');
  for (const name of ['Today', 'Yesterday', 'Last 7 days', 'This month', 'Last month']) {
    await main.getByRole('link', { name, exact: true }).click();
    await main.getByRole('link', { name, exact: true }).and(page.locator('[aria-current]')).waitFor();
  }
  await page.getByText('No payout finished in this period').waitFor();
  await page.goto(`/desk/batch?batchId=${batchId}`);
  const results = await downloaded(page, page.getByRole('link', { name: 'Download the results' }));
  expect(results.name).toBe('batch-payday.csv');
  expect((await downloaded(page, page.getByRole('link', { name: 'with debits' }))).text).toContain(
    '\r\nsplits,',
  );
  expect(results.text).toMatch(/\r\nEnd of the statement: 2 payouts,+2,0,true\r\n$/);
});

test('a key that is limited to clients gets a page that says so, not a file', async () => {
  const page = await stage.signedIn('scoped');
  await page.goto('/desk/statement');
  await page.getByText('Your key is limited to clients').waitFor();
  await page.goto('/desk/statement/file?from=2026-01-01&to=2026-01-02&format=csv');
  await page.getByRole('alert').filter({ hasText: 'cannot list' }).waitFor();
});
