/** Batches on the desk: a file is shown before anything starts, in a real browser without JavaScript. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { checkedBatch } from '../../src/client/checked-batch.ts';
import type { PayoutRequest } from '../../src/domain/payout.ts';
import { BatchFile } from '../../src/starters/batch-file/batch-file.ts';
import { DeskBrowser, DeskStage, textOf } from '../support/desk.ts';
import { encoded } from '../support/encodings.ts';
import { eventually } from '../support/eventually.ts';
import { payoutRequest } from '../support/requests.ts';
import { sheetOf } from '../support/spreadsheets.ts';
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

test('H182 a file with far too many rows is read up to the row limit', async () => {
  const lines = 200_000;
  for (const text of ['{}\n'.repeat(lines), `a\n${'1\n'.repeat(lines)}`]) {
    const payouts = new BatchFile(Buffer.from(text));
    await expect(checkedBatch({ batchId: 'b', payouts, lines: payouts.lines })).rejects.toThrow();
    expect(payouts.lines.length).toBeLessThanOrEqual(50_001);
  }
});

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
    // The page loads itself again until the end.
    await page.getByText('All 3 rows have ended.').waitFor();
    expect(await textOf(page.getByRole('main'))).toMatch(/Ended: Success\s+3/);
    for (const partnerOrderId of ids)
      expect((await stage.world.payouts.startDetails({ partnerOrderId })).startedBy).toBe('desk');
    await eventually(async () => {
      await page.goto('/desk/batches');
      return (await page.getByRole('link', { name: batchId }).count()) > 0 || undefined;
    });
  });

  test('takes NDJSON; a batch that waits is canceled', async () => {
    const [page, batchId] = [await stage.signedIn(), newBatchId()];
    const notBefore = new Date(Date.now() + 3_600_000).toISOString();
    const rows = payoutIds(2).map((id) => JSON.stringify(payoutRequest(id, { notBefore })));
    await upload(page, batchId, 'payouts.ndjson', rows.join('\n\n'));
    await page.getByRole('button', { name: 'Start 2 payouts' }).click();
    await page.getByText('This page loads again').waitFor();
    await page.getByRole('link', { name: 'Stop that' }).click();
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

describe('a file', () => {
  test.each([
    ['an empty file', '', 'is missing or empty'],
    ['a line that is not JSON', '{"a":1}\n{', 'line 2 is invalid'],
    ['an unclosed quote', 'clientId\n"x', 'is not CSV'],
    ['a row with too many cells', 'clientId\n1,2', 'it has 2 instead of 1 cells'],
    ['a column that is no field', 'client id\n1', 'is not the path of a field'],
    ['a column that would change every object', '__proto__.x\n1', 'is not the path of a field'],
    ['metadata with a bad key', 'metadata.caf\u00e9\nx', '<bdi>metadata.caf\u00e9</bdi>'],
    ['metadata that would change every object', 'metadata.__proto__\nx', 'must have another name'],
    ['a column of metadata without a key', 'metadata.\nx', 'its key must be'],
    ['a repeated column', 'clientId,clientId\n1,2', 'repeats clientId'],
    ['an unknown column', 'constructor.prototype\n1', 'is not a field'],
    ['no row', 'clientId\n', 'the file contains no payouts'],
  ])('%s is refused', async (_what, content, why) => {
    const { html } = await sent(content);
    expect(html).toContain(why);
    expect(html).not.toContain('<button>Start');
  });

  test('of more than 4 MiB is refused while it arrives', async () => {
    expect((await sent('x'.repeat(4 * 1024 * 1024 + 1))).status).toBe(413);
  });

  test('is kept for its session only', async () => {
    const preview = await sent('clientId\n1');
    const path = String(preview.path);
    const other = new DeskBrowser(stage.server.url);
    await other.signIn('key-of-desk');
    expect((await other.get(path)).status).toBe(404);
    const start = { upload: new URL(path, stage.server.url).searchParams.get('upload') ?? '' };
    expect((await other.post('/desk/batches/start', start)).status).toBe(404);
  });
});

describe('a preview', () => {
  const body = (id: string, over: Partial<PayoutRequest['receiver']> = {}, amount = '10.00') => {
    const { receiver, ...rest } = payoutRequest(id, { platform: 'sim:success', metadata: { ref: 'A-1' } });
    const instructedAmount = { currency: 'CNY', amount };
    return { ...rest, instructedAmount, receiver: { ...receiver, ...over } };
  };

  test('H194 of a file in GBK is one error that says how to save it', async () => {
    const file = encoded(sheetOf([body('gbk-1', { bankAccountName: '张伟', bankName: '示例银行' })]), 'gbk');
    const { html } = await sent(file);
    expect(html).toMatch(
      /role="alert">Nothing was started: the encoding of the file is not UTF-8.*CSV UTF-8/,
    );
    expect(html).not.toContain('<button>Start');
  });

  test('H194 of UTF-16 with tabs, as a spreadsheet saves Unicode text, shows the names', async () => {
    const text = sheetOf([body('u16-1', { bankAccountName: '张伟', bankName: '示例银行' })], {
      separator: '\t',
    });
    const { html } = await sent(encoded(`\ufeff${text}`, 'utf-16le'));
    expect(html).toContain('Every row is valid');
    expect(html).toMatch(/10\.00 CNY.*张伟.*ending in 0000.*示例银行/);
  });

  test('H195 of damaged numbers names the lines and the fields', async () => {
    const rows = [
      body('sci-1', { bankAccountNumber: '6.22202E+18', idCardNumber: '1.10101E+17' }),
      body('sci-2', { bankAccountNumber: '="6222020000000004"' }),
    ];
    const { html } = await sent(sheetOf(rows));
    const cells = html.replaceAll(/<[^>]*>/g, ' ');
    expect(cells).toMatch(/2\s+receiver\.bankAccountNumber\s+is in scientific notation/);
    expect(cells).toMatch(/2\s+receiver\.idCardNumber\s+is in scientific notation/);
    expect(cells).toMatch(/3\s+receiver\.bankAccountNumber\s+must not be a formula/);
    expect(html).not.toContain('<button>Start');
  });

  test('H196 of names from right to left isolates each value', async () => {
    const { html } = await sent(sheetOf([body('rtl-1', { bankAccountName: 'דוד לוי', bankName: 'בנק 40' })]));
    const cells = ['דוד לוי', 'ending in 0000', 'בנק 40'].map((text) => `<td><bdi>${text}</bdi></td>`);
    expect(html).toContain(cells.join(''));
  });

  test('H198 shows rows that look like each other, and ids that exist already', async () => {
    const ids = payoutIds(3);
    const [one = '', two = '', three = ''] = ids;
    await stage.world.payouts.start(body(two));
    const rows = [
      body(one),
      body(two, { bankAccountName: 'ZHANG SAN' }),
      body(three, { bankAccountNumber: '6222020000000001' }),
    ];
    // Visibility lags.
    const cells = await eventually(async () => {
      const { html } = await sent(sheetOf(rows));
      return html.includes('exists already') ? html.replaceAll(/<[^>]*>/g, ' ') : undefined;
    });
    expect(cells).toMatch(/Lines 2, 3: 10\.00 CNY to\s+Zhang San\s*, account ending in 0000/);
    expect(cells).toMatch(new RegExp(`1 id exists already.*Line 3:\\s+${two}`));
    expect(cells).not.toContain(`Line 2: ${one}`);
    expect((await sent(sheetOf([rows[0] ?? {}, rows[2] ?? {}]))).html).not.toContain('look like each other');
  });

  test('H196 the page of a payout has the account in a row of its own, and isolates each value', async () => {
    const id = newPartnerOrderId();
    await stage.world.payouts.start(body(id, { bankAccountName: 'דוד לוי', bankName: 'בנק 40' }));
    const browser = new DeskBrowser(stage.server.url);
    await browser.signIn('key-of-desk');
    const { html } = await browser.get(`/desk/payout?partnerOrderId=${id}`);
    for (const [name, value] of [
      ['Beneficiary', 'דוד לוי'],
      ['Account number', 'ending in 0000'],
      ['Bank', 'בנק 40'],
    ])
      expect(html).toContain(`<dt>${name}</dt><dd><bdi>${value}</bdi></dd>`);
    expect(html).toContain('10.00 CNY to <bdi>דוד לוי</bdi>');
  });
});

/** The answer to the upload, or the preview to which it leads. */
async function sent(content: string | Buffer): Promise<{ status: number; html: string; path?: unknown }> {
  const browser = new DeskBrowser(stage.server.url);
  await browser.signIn('key-of-desk');
  await browser.get('/desk/batches');
  const form = new FormData();
  form.set('formToken', browser.formToken);
  form.set('batchId', newBatchId());
  form.set('file', new Blob([Buffer.from(content)]), 'payouts.csv');
  const multipart = new Response(form);
  const answer = await browser.send(
    'POST',
    '/desk/batches/preview',
    { 'content-type': multipart.headers.get('content-type') ?? '', origin: stage.server.url },
    new Uint8Array(await multipart.arrayBuffer()),
  );
  const path = answer.headers['location'];
  return answer.status === 303 ? { ...(await browser.get(String(path))), path } : answer;
}
