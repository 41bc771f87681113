/** Takes the screenshots of the desk. */
import type { Browser } from 'playwright-core';
import { type Camera, camera } from './camera.ts';
import { payoutRequest } from './payouts.ts';

/** The last row of the second file has an error. */
const BATCH = ['invoice-3001', 'invoice-3002', 'invoice-3003'];

const PHONE = { width: 360, height: 900 };

export async function takeDesk(browser: Browser, apiUrl: string): Promise<void> {
  const light = await camera(browser, {}, { colorScheme: 'light' });
  const dark = await camera(browser, {}, { colorScheme: 'dark' });
  const phone = await camera(browser, {}, { viewport: PHONE });
  for (const { page } of [light, dark, phone]) {
    await page.goto(`${apiUrl}/desk`);
    await page.getByRole('link', { name: 'invoice-2048' }).first().waitFor();
  }
  for (const id of ['invoice-2050', 'invoice-2052']) await light.page.getByLabel(`Choose ${id}`).check();
  await light.take('desk-inbox', 1_100);
  await dark.take('desk-inbox-dark', 1_100);
  await phone.take('desk-inbox-phone', PHONE.height);
  await light.page.getByRole('button', { name: 'Approve chosen' }).click();
  await light.page.getByRole('heading', { name: 'Approve 2 payouts?' }).waitFor();
  await light.take('desk-confirm', 620);
  for (const [name, path, height] of [
    ['desk-payouts', 'payouts', 860],
    ['desk-search', 'find?q=Lotus', 420],
    ['desk-story', 'payout?partnerOrderId=invoice-2042', 1_160],
    ['desk-approval', 'payout?partnerOrderId=invoice-2046', 1_100],
    ['desk-review', 'payout?partnerOrderId=invoice-2048', 1_140],
    ['desk-today', 'today', 1_060],
    ['desk-events', 'events', 420],
    ['desk-statements', 'statement', 860],
  ] as const) {
    await light.page.goto(`${apiUrl}/desk/${path}`);
    await light.take(name, height);
  }
  await takeUploads(light, apiUrl);
  await takeBatches(light, apiUrl);
}

async function takeUploads({ page, take }: Camera, apiUrl: string): Promise<void> {
  const rows = BATCH.map((number, at) => ({
    ...payoutRequest({ number, cny: `${at + 1}250.00`, scenario: 'success' }),
    ...(at === 2 && { instructedAmount: { currency: 'CNY', amount: '3250.005' } }),
  }));
  for (const [name, shown, height] of [
    ['desk-batch-errors', rows, 440],
    ['desk-batch-preview', rows.slice(0, 2), 680],
  ] as const) {
    await page.goto(`${apiUrl}/desk/batches`);
    await page.getByLabel('Batch id').fill('invoices-of-november');
    const content = shown.map((row) => JSON.stringify(row)).join('\n');
    const file = { name: 'invoices.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from(content) };
    await page.getByLabel('File').setInputFiles(file);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('heading', { name: 'Preview' }).waitFor();
    await take(name, height);
  }
}

/** After the preview of the upload. */
async function takeBatches({ page, take }: Camera, apiUrl: string): Promise<void> {
  await page.getByRole('button', { name: 'Start 2 payouts' }).click();
  await page.getByRole('status').filter({ hasText: '2 paid' }).waitFor();
  // Lists lag.
  do await page.goto(`${apiUrl}/desk/batches`);
  while ((await page.getByText('2 paid').count()) === 0);
  await take('desk-batches', 640);
}
