/** Batches on the desk: a file is shown before anything starts, in a real browser without JavaScript. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { manyRows, rowsOf, untilBatch } from '../support/batches.ts';
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
  await page.getByLabel('Batch ID').fill(batchId);
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
    expect(text).toMatch(/3\s+instructedAmount\.amount\s+1\.234\s+must have at most two decimals/);
    expect(text).toMatch(/4\s+partnerOrderId\s+\S+\s+is the same as in line 2/);
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
    await page.getByRole('status').filter({ hasText: '3 paid' }).waitFor();
    for (const partnerOrderId of ids)
      expect((await stage.world.payouts.startDetails({ partnerOrderId })).startedBy).toBe('desk');
    // Visibility lags. The rows lead to the payouts.
    await eventually(async () => {
      await page.goto(`/desk/batch?batchId=${batchId}`);
      const paid = page.getByRole('row').filter({ hasText: /10\.00 CNY\s*Paid/ });
      return (await paid.count()) === 3 || undefined;
    });
    await page.getByText('30.00 of 30.00 CNY paid').waitFor();
    expect(await textOf(page.getByRole('list', { name: 'Rows by state' }))).toMatch(/Paid\s+3\s+30\.00 CNY/);
    expect(await page.getByRole('link', { name: ids[0] ?? '', exact: true }).count()).toBe(1);
    await eventually(async () => {
      await page.goto('/desk/batches');
      const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: batchId }) });
      return /\s3\s+30\.00 CNY\s+3 paid\s+Finished/.test(await textOf(row)) || undefined;
    });
  });

  test('under an id of another batch cannot start; the same file again joins its batch', async () => {
    const [page, batchId] = [await stage.signedIn(), newBatchId()];
    const [first, second] = [csv([{ id: newPartnerOrderId() }]), csv([{ id: newPartnerOrderId() }])];
    const main = page.getByRole('main');
    await upload(page, batchId, 'payouts.csv', first);
    await page.getByRole('button', { name: 'Start 1 payout' }).click();
    await page.getByRole('heading', { name: `Batch ${batchId}` }).waitFor();
    await upload(page, batchId, 'payouts.csv', second);
    await page
      .getByRole('alert')
      .filter({ hasText: `Batch ${batchId} exists already. Choose another ID.` })
      .waitFor();
    expect(await page.getByRole('button', { name: /^Start/ }).count()).toBe(0);
    expect(await page.getByLabel('Batch ID').inputValue()).toMatch(/^batch-\d{4}-\d\d-\d\d-\d{6}$/);
    const shop = await stage.signedIn('shop');
    await upload(shop, batchId, 'payouts.csv', first);
    await shop.getByRole('alert').filter({ hasText: 'exists already' }).waitFor();
    await upload(page, batchId, 'payouts.csv', first);
    const text = await textOf(main);
    expect(text).toContain('This batch has been started already, with the same rows.');
    expect(text).not.toContain('Nothing has started yet');
    expect(await page.getByRole('button', { name: /^Start/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'See its progress' }).click();
    await page.getByRole('heading', { name: `Batch ${batchId}` }).waitFor();
  });

  test('its page says what waits for people and, when it has finished, that not everything is paid', async () => {
    const [page, batchId] = [await stage.signedIn(), newBatchId()];
    const rows = [
      payoutRequest(newPartnerOrderId(), { platform: 'sim:success', approval: 'required' }),
      ...rowsOf('success', 'partial splits=2 failed=1', 'failure'),
    ];
    const [waiting] = rows;
    if (!waiting) throw new Error('a row');
    await batches.start({ batchId, payouts: rows, startedBy: 'shop' });
    const main = page.getByRole('main');
    await eventually(async () => {
      await page.goto(`/desk/batch?batchId=${batchId}&live=off`);
      return (
        /150\.00 of 400\.00 CNY paid\s+3 of 4 rows have finished[\s\S]*Awaiting approval\s+1\s+100\.00 CNY[\s\S]*Paid in part\s+1\s+50\.00 of 100\.00 CNY/.test(
          await textOf(main),
        ) || undefined
      );
    });
    expect(await textOf(main)).not.toContain('None');
    await page.getByRole('link', { name: '1 payout awaits approval' }).click();
    await page.getByRole('checkbox', { name: `Choose ${waiting.partnerOrderId}` }).waitFor();
    await stage.world.payouts.approve(waiting, { by: 'desk' });
    await batches.result({ batchId });
    await page.goto(`/desk/batch?batchId=${batchId}`);
    await page.getByRole('status').filter({ hasText: '2 paid · 1 paid in part · 1 failed' }).waitFor();
    await page.getByRole('img', { name: '4 of 4 have finished, 2 of them paid in full' }).waitFor();
    await eventually(async () => {
      await page.goto('/desk/batches');
      const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: batchId }) });
      return (
        /2 paid · 1 paid in part · 1 failed\s+Finished\s+2 not paid in full/.test(await textOf(row)) ||
        undefined
      );
    });
  });

  test('H347 a row that is not paid is listed with its amount and what differs, and counts in the sum', async () => {
    const [page, batchId] = [await stage.signedIn(), newBatchId()];
    const of = (amount: string) =>
      payoutRequest(newPartnerOrderId(), {
        platform: 'sim:success',
        instructedAmount: { currency: 'CNY', amount },
      });
    const [joined, taken, fresh] = [of('50.00'), of('999.00'), of('30.00')];
    await stage.world.payouts.start(joined);
    await stage.world.payouts.start({ ...taken, instructedAmount: { currency: 'CNY', amount: '1.00' } });
    await batches.start({ batchId, payouts: [joined, taken, fresh], startedBy: 'shop' });
    await batches.result({ batchId });
    const main = page.getByRole('main');
    // Lists lag: until then, the page is loaded again.
    const text = await eventually(async () => {
      await page.goto(`/desk/batch?batchId=${batchId}`);
      const shown = await textOf(main);
      return shown.includes('2 paid · 1 conflict') ? shown : undefined;
    });
    expect(text).toContain('30.00 of 1,029.00 CNY paid');
    expect(text).toContain('1 row joined an earlier payout, and pays nothing: 50.00 CNY');
    expect(text).toMatch(/1 row didn't become a payout: 999\.00 CNY/);
    expect(text).toMatch(
      new RegExp(
        `${taken.partnerOrderId}\\s+2\\s+Zhang San.*\\s+999\\.00 CNY\\s+Conflict[\\s\\S]*instructedAmount\\.amount: 999\\.00 in this row, 1\\.00 in the payout`,
      ),
    );
    expect(text).toMatch(/Joined an existing payout\s+1/);
    const states = await textOf(page.getByRole('list', { name: 'Rows by state' }));
    expect(states).toMatch(/Paid\s+2\s+80\.00 CNY[\s\S]*Conflict\s+1\s+999\.00 CNY/);
    await page.getByRole('row').filter({ hasText: joined.partnerOrderId }).waitFor();
  });

  test('a key that cannot list sees the counts of its batch, and the numbers of the rows that are not paid', async () => {
    const [page, batchId] = [await stage.signedIn('scoped'), newBatchId()];
    const own = { clientId: 'client-2', platform: 'sim:success' };
    const taken = payoutRequest(newPartnerOrderId(), own);
    await stage.world.payouts.start({ ...taken, instructedAmount: { currency: 'CNY', amount: '1.00' } });
    const payouts = [payoutRequest(newPartnerOrderId(), own), taken];
    await batches.start({ batchId, payouts, startedBy: 'scoped' });
    await batches.result({ batchId });
    await page.goto(`/desk/batch?batchId=${batchId}`);
    const text = await textOf(page.getByRole('main'));
    expect(text).toMatch(/^1 paid · 1 conflict$/m);
    expect(text).toMatch(/Conflict in rows\s+2 \(the first row is 1\)/);
    expect(text).not.toContain(taken.partnerOrderId);
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

  test('H375 a canceled batch says that it was canceled, and how many rows have finished', async () => {
    const own = await DeskStage.start({ env: { PAYOUTS_BATCH_WINDOW: '2' } });
    try {
      const [page, batchId] = [await own.signedIn(), newBatchId()];
      const ownBatches = new Batches({ client: own.world.client, environment: 'test' });
      const held = own.world.hold({ operation: 'fee' }, 'before');
      await ownBatches.start({ batchId, payouts: manyRows(6), startedBy: 'desk' });
      await untilBatch(ownBatches, { batchId }, ({ started }) => started === 2);
      await ownBatches.cancel({ batchId });
      held.release();
      await ownBatches.result({ batchId });
      // Lists lag.
      const text = await eventually(async () => {
        await page.goto(`/desk/batch?batchId=${batchId}`);
        const shown = await textOf(page.getByRole('main'));
        return /Canceled: 2 of 6 rows have finished\./.test(shown) ? shown : undefined;
      });
      expect(text).toContain('To pay the other rows, send them in a new batch.');
      await page.getByRole('img', { name: '2 of 6 have finished, 2 of them paid in full' }).waitFor();
      const states = await textOf(page.getByRole('list', { name: 'Rows by state' }));
      expect(states).toMatch(/Paid\s+2[\s\S]*Not started\s+4/);
    } finally {
      await own.stop();
    }
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
