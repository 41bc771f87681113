/** Batches on the desk: a file is shown before anything starts, in a real browser without JavaScript. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { DeskStage, textOf } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let stage: DeskStage;
let batches: Batches;

beforeAll(async () => {
  stage = await DeskStage.start();
  batches = new Batches({ client: stage.world.client, environment: 'test' });
});
afterAll(() => stage?.stop());

const COLUMNS = [
  ...[
    'partnerOrderId',
    'clientId',
    'payerId',
    'type',
    'instructedAmount.currency',
    'instructedAmount.amount',
  ],
  ...['originCurrency', 'targetCurrency', 'remittancePurposeCode', 'platform', 'notBefore'],
  ...[
    'receiver.bankCountry',
    'receiver.bankName',
    'receiver.bankAccountCurrency',
    'receiver.bankAccountNumber',
  ],
  ...['receiver.bankAccountName', 'receiver.idCardNumber', 'receiver.cardHoldType'],
];

interface Row {
  id: string;
  amount?: string;
  name?: string;
  notBefore?: string;
}

/** As a spreadsheet saves it: with a byte order mark, CR LF, and quoted cells. */
function csv(rows: readonly Row[]): string {
  const lines = rows.map(({ id, amount = '10.00', name = 'Zhang, "San"', notBefore = '' }) => [
    ...[
      id,
      'client-1',
      'payer-1',
      'WITHDRAW',
      'CNY',
      amount,
      'USD',
      'CNY',
      'GOODS',
      'sim:success',
      notBefore,
    ],
    ...['CN', 'Example Bank', 'CNY', '6222020000000000', `"${name.replaceAll('"', '""')}"`],
    ...['110101199003070000', 'Personal'],
  ]);
  return `\uFEFF${[COLUMNS, ...lines].map((line) => `${line.join(',')}\r\n`).join('')}`;
}

const newBatchId = () => `b-${newPartnerOrderId()}`;
const payoutIds = (count: number) => Array.from({ length: count }, newPartnerOrderId);

async function upload(page: Page, batchId: string, name: string, content: string): Promise<void> {
  await page.goto('/desk/batches');
  await page.getByLabel('Batch id').fill(batchId);
  const file = { name, mimeType: 'text/csv', buffer: Buffer.from(content) };
  await page.getByLabel('File').setInputFiles(file);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('heading', { name: `Preview of batch ${batchId}` }).waitFor();
}

const isStarted = (batchId: string) =>
  batches.state({ batchId }).then(
    () => true,
    () => false,
  );

describe('the upload of a batch', () => {
  test('with errors lists each with its line and field, and starts nothing', async () => {
    const [page, batchId, ids] = [await stage.signedIn(), newBatchId(), payoutIds(2)];
    const [first = '', second = ''] = ids;
    const rows = [
      { id: first },
      { id: second, amount: '1.234' },
      { id: first },
      { id: 'one more', name: '' },
    ];
    await upload(page, batchId, 'payouts.csv', csv(rows));
    const text = await textOf(page.getByRole('main'));
    expect(text).toContain('Nothing was started: the file has 3 errors.');
    expect(text).toMatch(/3\s+instructedAmount\.amount\s+must be digits with at most two decimals/);
    expect(text).toMatch(/4\s+partnerOrderId\s+is the same as in line 2/);
    expect(text).toMatch(/5\s+receiver\.bankAccountName/);
    expect(await page.getByRole('button', { name: /^Start/ }).count()).toBe(0);
    expect(await isStarted(batchId)).toBe(false);
  });

  test('without errors shows the rows and the sum, starts once confirmed, and shows the progress', async () => {
    const [page, batchId, ids] = [await stage.signedIn(), newBatchId(), payoutIds(3)];
    await upload(page, batchId, 'payouts.csv', csv(ids.map((id) => ({ id }))));
    const text = await textOf(page.getByRole('main'));
    expect(text).toContain('3 payouts, 30.00 CNY');
    expect(text).toContain('Zhang, "San"');
    expect(await isStarted(batchId)).toBe(false);
    await page.getByRole('button', { name: 'Start 3 payouts' }).click();
    await page.getByRole('heading', { name: `Batch ${batchId}` }).waitFor();
    await batches.result({ batchId });
    // The page loads itself again until the end.
    await page.getByText('All 3 rows have finished.').waitFor();
    expect(await textOf(page.getByRole('main'))).toMatch(/Finished: Paid\s+3/);
    for (const partnerOrderId of ids)
      expect((await stage.world.payouts.startDetails({ partnerOrderId })).startedBy).toBe('desk');
    // Visibility lags. The rows lead to the payouts.
    await eventually(async () => {
      await page.goto(`/desk/batch?batchId=${batchId}`);
      return (
        (await page
          .getByRole('row')
          .filter({ hasText: /10\.00 CNY\s*Paid/ })
          .count()) === 3 || undefined
      );
    });
    expect(await page.getByRole('link', { name: ids[0] ?? '', exact: true }).count()).toBe(1);
    await eventually(async () => {
      await page.goto('/desk/batches');
      const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: batchId }) });
      return /\s3\s+30\.00 CNY\s+3 paid\s+Finished/.test(await textOf(row)) || undefined;
    });
  });

  test('takes the template that the page offers', async () => {
    const page = await stage.signedIn();
    const template = await page.request.get('/desk/batches/template.csv');
    const text = (await template.text()).replace('1250.00', '12.50');
    await upload(page, newBatchId(), 'template.csv', text);
    expect(await textOf(page.getByRole('main'))).toContain('1 payout, 12.50 CNY');
  });

  test('takes NDJSON; a batch that waits is canceled', async () => {
    const [page, batchId] = [await stage.signedIn(), newBatchId()];
    const notBefore = new Date(stage.world.clock.wallMs() + 3_600_000).toISOString();
    const rows = payoutIds(2).map((id) => JSON.stringify(payoutRequest(id, { notBefore })));
    await upload(page, batchId, 'payouts.ndjson', rows.join('\n\n'));
    await page.getByRole('button', { name: 'Start 2 payouts' }).click();
    await page.getByText('Refreshing every 3 seconds').waitFor();
    await page.getByRole('link', { name: 'Pause' }).click();
    await page.getByRole('link', { name: 'Follow the progress' }).waitFor();
    await page.getByRole('button', { name: 'Cancel the batch' }).click();
    await page
      .getByRole('status')
      .filter({ hasText: `Canceled ${batchId}` })
      .waitFor();
    expect((await batches.state({ batchId })).canceled).toBe(true);
  });

  test('with a row outside the scope, or above the largest amount, starts nothing', async () => {
    const [scoped, desk] = [await stage.signedIn('scoped'), await stage.signedIn()];
    await upload(scoped, newBatchId(), 'payouts.csv', csv([{ id: newPartnerOrderId() }]));
    await scoped
      .getByRole('alert')
      .filter({ hasText: 'line 2: this key does not include that clientId' })
      .waitFor();
    await upload(desk, newBatchId(), 'payouts.csv', csv([{ id: newPartnerOrderId(), amount: '100.01' }]));
    await desk.getByRole('alert').filter({ hasText: 'line 2: this key allows at most 100.00 CNY' }).waitFor();
  });
});
