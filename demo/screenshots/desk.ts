/** Takes the screenshots of the desk. */
import type { Browser } from 'playwright-core';
import { type Camera, camera } from './camera.ts';
import { payoutRequest } from './payouts.ts';

/** The last row of the second file has an error. */
const BATCH = ['invoice-3001', 'invoice-3002', 'invoice-3003'];

export async function takeDesk(browser: Browser, apiUrl: string): Promise<void> {
  const light = await camera(browser, {}, { colorScheme: 'light' });
  const dark = await camera(browser, {}, { colorScheme: 'dark' });
  for (const { page } of [light, dark]) {
    await page.goto(`${apiUrl}/desk`);
    await page.getByRole('heading', { name: 'invoice-2048' }).first().waitFor();
  }
  await light.take('desk-inbox', 1_000);
  await dark.take('desk-inbox-dark', 1_000);
  await light.page.goto(`${apiUrl}/desk/payout?partnerOrderId=invoice-2042`);
  await light.take('desk-story', 1_180);
  await light.page.goto(`${apiUrl}/desk/payout?partnerOrderId=invoice-2048`);
  await light.take('desk-review', 900);
  await light.page.goto(`${apiUrl}/desk/today`);
  await light.take('desk-today', 1_240);
  await dark.page.goto(`${apiUrl}/desk/today`);
  await dark.take('desk-today-dark', 1_240);
  await takeBatch(light, apiUrl);
}

async function takeBatch({ page, take }: Camera, apiUrl: string): Promise<void> {
  const rows = BATCH.map((number, at) => ({
    ...payoutRequest({ number, cny: `${at + 1}250.00`, scenario: 'success' }),
    ...(at === 2 && { instructedAmount: { currency: 'CNY', amount: '3250.005' } }),
  }));
  for (const [name, shown, height] of [
    ['desk-batch-preview', rows.slice(0, 2), 560],
    ['desk-batch-errors', rows, 420],
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
