/** The files of batches that the desk takes, and their previews, over HTTP as a browser sends them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BatchFile } from '../../src/batch-file/batch-file.ts';
import { checkedBatch } from '../../src/client/checked-batch.ts';
import { PAYOUTS_TASK_QUEUE, payoutWorkflowId } from '../../src/contract/ids.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { filledIn } from '../../src/desk/context.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { DeskBrowser, type DeskResponse, startDesk, startFields, upload } from '../support/desk.ts';
import { encoded } from '../support/encodings.ts';
import { eventually } from '../support/eventually.ts';
import type { TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { sheetOf } from '../support/spreadsheets.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let server: TestApiServer;

beforeAll(async () => {
  world = await VirtualWorld.start();
  server = await startDesk(world.client, { PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('desk')]) });
});
afterAll(async () => {
  await server?.close();
  await world?.stop();
});

test('H182 a file with far too many rows is read up to the row limit', async () => {
  const lines = 200_000;
  for (const text of ['{}\n'.repeat(lines), `a\n${'1\n'.repeat(lines)}`]) {
    const payouts = new BatchFile(Buffer.from(text));
    await expect(checkedBatch({ batchId: 'b', payouts, lines: payouts.lines })).rejects.toThrow();
    expect(payouts.lines.length).toBeLessThanOrEqual(50_001);
  }
});

test('H329 a header with very many columns is checked in seconds', async () => {
  const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const names = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)));
  const startedAt = performance.now();
  const payouts = new BatchFile(Buffer.from(`${names.slice(0, 60_000).join(',')}\n1`));
  await expect(checkedBatch({ batchId: 'b', payouts, lines: payouts.lines })).rejects.toThrow();
  // Comparing each name with all others takes minutes.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});

test('H343 rows without text leave turns of the event loop to others', async () => {
  const payouts = new BatchFile(Buffer.from(`clientId\nx\n${',\r\n'.repeat(300_000)}y\n`));
  let turns = 0;
  const count = () => {
    turns += 1;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  const rows = await collected(payouts);
  clearImmediate(immediate);
  expect(rows).toEqual([{ clientId: 'x' }, { clientId: 'y' }]);
  expect(payouts.lines).toEqual([2, 300_003]);
  expect(turns).toBeGreaterThan(20);
});

test('H343 a file with more rows without text than a sheet has is refused', async () => {
  const payouts = new BatchFile(Buffer.from(`clientId\nx\n${',\n'.repeat(1_100_000)}`));
  await expect(collected(payouts)).rejects.toThrow('more than 1048576 rows have no text');
});

test('H343 a header with much white space costs no time', async () => {
  const text = `x${' '.repeat(64_000)}x,y\n1,2\n`;
  const startedAt = performance.now();
  for (let at = 0; at < 30; at += 1)
    await expect(collected(new BatchFile(Buffer.from(text)))).rejects.toThrow();
  // The square of the length would take a minute and a half.
  expect(performance.now() - startedAt).toBeLessThan(30_000);
});

test('H343 a file of line breaks takes little memory', async () => {
  const before = process.memoryUsage.rss();
  const payouts = new BatchFile(Buffer.from(`clientId\nx\n${'\n'.repeat(20_000_000)}y\n`));
  expect(await collected(payouts)).toEqual([{ clientId: 'x' }, { clientId: 'y' }]);
  expect(payouts.lines).toEqual([2, 20_000_003]);
  expect(process.memoryUsage.rss() - before).toBeLessThan(300 * 2 ** 20);
});

async function collected(rows: AsyncIterable<unknown>): Promise<unknown[]> {
  const all = [];
  for await (const row of rows) all.push(row);
  return all;
}

test('a long field with much white space costs no time', () => {
  const spaces = ' '.repeat(2_000_000);
  const startedAt = performance.now();
  expect(filledIn({ note: `one${spaces}\r\n${spaces}two`, other: `x${spaces}x` }, 'note', 'other')).toEqual({
    note: 'one two',
    other: `x${spaces}x`,
  });
  // The square of the length would take hours.
  expect(performance.now() - startedAt).toBeLessThan(30_000);
});

describe('a file', () => {
  test.each([
    ['an empty file', '', 'is missing or empty'],
    ['a line that is not JSON', '{"a":1}\n{', 'line 2 is invalid'],
    ['an unclosed quote', 'clientId\n"x', 'is not CSV'],
    [
      'a row with too many cells',
      'clientId\n1,2',
      'has 2 cells instead of 1: a value with a comma needs quotes',
    ],
    [
      'an Excel workbook',
      'PK\u0003\u0004',
      'Nothing was started: this is an Excel workbook. Save it as CSV UTF-8.',
    ],
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
    const { status, html } = await sent('x'.repeat(4 * 1024 * 1024 + 1));
    expect([status, html]).toEqual([413, expect.stringContaining('batches of up to 4 MiB each')]);
  });

  test('starts from the preview of its own session only', async () => {
    const id = newPartnerOrderId();
    const { html } = await sent(JSON.stringify(payoutRequest(id)));
    const fields = startFields(html);
    expect(fields).toMatchObject({ formToken: expect.any(String), file: expect.stringMatching(/^[\w-]+$/) });
    const other = new DeskBrowser(server.url);
    await other.signIn('key-of-desk');
    expect((await other.post('/desk/batches/start', fields)).status).toBe(403);
  });
});

test('a batch starts with the file, the id and the application that were previewed, and no others', async () => {
  const browser = new DeskBrowser(server.url);
  await browser.signIn('key-of-desk');
  const preview = async () => {
    const file = JSON.stringify(payoutRequest(newPartnerOrderId()));
    return startFields((await upload(browser, server.url, file, 'payouts.ndjson')).html);
  };
  const [first, second] = [await preview(), await preview()];
  const { file = '', batchId = '', seal = '' } = second;
  for (const change of [{ file }, { batchId }, { app: 'other' }, { seal }, { seal: '' }]) {
    const { status, html } = await browser.post('/desk/batches/start', { ...first, ...change });
    expect([status, html]).toEqual([403, expect.stringContaining('not the one that was previewed')]);
  }
  for (const fields of [first, second])
    expect((await browser.post('/desk/batches/start', fields)).status).toBe(303);
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
    expect(wordsOf(html)).toMatch(/10\.00 CNY.*张伟.*ending in 0000.*示例银行/);
  });

  test('H195 of damaged numbers names the lines and the fields', async () => {
    const rows = [
      body('sci-1', { bankAccountNumber: '6.22202E+18', idCardNumber: '1.10101E+17' }),
      body('sci-2', { bankAccountNumber: '="6222020000000004"' }),
    ];
    const { html } = await sent(sheetOf(rows));
    const cells = html.replaceAll(/<[^>]*>/g, ' ');
    expect(cells).toMatch(/2\s+receiver\.bankAccountNumber\s+hidden\s+is in scientific notation/);
    expect(cells).toMatch(/2\s+receiver\.idCardNumber\s+hidden\s+is in scientific notation/);
    expect(cells).toMatch(/3\s+receiver\.bankAccountNumber\s+hidden\s+must not be a formula/);
    expect(html).not.toMatch(/6\.22202E|1\.10101E|6222020000000004/);
    expect(html).not.toContain('<button>Start');
  });

  test('H220 of a target currency that the provider does not take names the line and the field', async () => {
    const inEuros = {
      ...body('eur-1', { bankAccountCurrency: 'EUR' }),
      targetCurrency: 'EUR',
      instructedAmount: { currency: 'EUR', amount: '10.00' },
    };
    const { html } = await sent(sheetOf([body('cny-1'), inEuros]));
    expect(html.replaceAll(/<[^>]*>/g, ' ')).toMatch(/3\s+targetCurrency\s+EUR\s+must be/);
    expect(html).not.toContain('<button>Start');
  });

  test('of wrong values shows each beside what is wrong, but no account number in a wrong column', async () => {
    const amounts = ['1,250.00', '12.345', '1.250,00', '1 250', '6222 0200 0000 0001', '-5'];
    const { html } = await sent(sheetOf(amounts.map((amount, at) => body(`wrong-${at}`, {}, amount))));
    const cells = html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
    for (const shown of [
      '2 instructedAmount.amount 1,250.00 has a thousands separator: remove it',
      '3 instructedAmount.amount 12.345 must have at most two decimals',
      '4 instructedAmount.amount 1.250,00 must have a point before its decimals',
      '5 instructedAmount.amount 1 250 has a thousands separator',
      '6 instructedAmount.amount hidden must be digits with at most two decimals',
      '7 instructedAmount.amount -5 must be digits with at most two decimals',
    ])
      expect(cells).toContain(shown);
    const unknown = await sent('receiver.cardNumber\n12345\n');
    expect(wordsOf(unknown.html)).toContain("Column “receiver.cardNumber” isn't known");
    expect(unknown.html).not.toContain('12345<');
  });

  test('keeps the batch id, and offers the form again, if the file cannot start', async () => {
    const browser = new DeskBrowser(server.url);
    await browser.signIn('key-of-desk');
    for (const content of ['', 'clientId\n1,2', 'clientId\n1']) {
      const { html } = await upload(browser, server.url, content, 'payouts.csv', 'payday');
      expect(html).toMatch(/name="batchId" maxlength="64" value="payday"/);
    }
  });

  test('H337 warns if the balance of a payer is too low for all of its rows', async () => {
    world.simulator.control.setAccounts('poor-1', [{ currency: 'USD', available: '20.00' }]);
    const rows = [1, 2, 3].map((at) => ({
      ...body(newPartnerOrderId()),
      payerId: at === 3 ? 'payer-1' : 'poor-1',
    }));
    const short = await sent(
      sheetOf(rows.map((row) => ({ ...row, instructedAmount: { currency: 'CNY', amount: '100.00' } }))),
    );
    expect(wordsOf(short.html)).toMatch(/payer poor-1 has 20\.00 USD; these rows need about \d\d USD\./);
    expect(short.html).toContain('<button>Start');
    // Each of them alone is within the balance.
    expect((await sent(sheetOf(rows))).html).not.toContain('these rows need');
  });

  test('H196 of names from right to left isolates each value', async () => {
    const { html } = await sent(sheetOf([body('rtl-1', { bankAccountName: 'דוד לוי', bankName: 'בנק 40' })]));
    const cells = ['דוד לוי', 'ending in 0000', 'בנק 40'].map((text) => `><bdi>${text}</bdi></td>`);
    for (const cell of cells) expect(html).toContain(cell);
  });

  test('H198 shows rows that look like each other, and ids that exist already', async () => {
    const ids = [1, 2, 3].map(newPartnerOrderId);
    const [one = '', two = '', three = ''] = ids;
    await world.payouts.start(body(two));
    const rows = [
      body(one),
      body(two, { bankAccountName: 'ZHANG SAN' }),
      body(three, { bankAccountNumber: '6222020000000001' }),
    ];
    // Visibility lags.
    const cells = await eventually(async () => {
      const { html } = await sent(sheetOf(rows));
      return html.includes('exists already') ? wordsOf(html) : undefined;
    });
    expect(cells).toMatch(/Lines 2, 3: 10\.00 CNY to Zhang San, account ending in 0000/);
    expect(cells).toMatch(
      new RegExp(
        `1 ID exists already: 0 the same, 1 differs.*Line 3: ${two}: receiver.bankAccountName: ZHANG SAN in this row, Zhang San in the payout`,
      ),
    );
    expect(cells).toContain('Start 2 new payouts, 1 exists');
    expect(cells).not.toContain(`Line 2: ${one}`);
    expect((await sent(sheetOf([rows[0] ?? {}, rows[2] ?? {}]))).html).not.toContain('look like each other');
  });

  test('starts the corrected row of a payout whose input was bad', async () => {
    const row = body(newPartnerOrderId());
    const workflowId = payoutWorkflowId('default', row.partnerOrderId);
    const args: [object] = [{ ...row, clientId: '' }];
    await world.client.workflow.start('payout', { taskQueue: PAYOUTS_TASK_QUEUE, workflowId, args });
    const failed = `WorkflowId = '${workflowId}' AND ExecutionStatus = 'Failed'`;
    await eventually(async () => (await world.client.workflow.count(failed)).count === 1 || undefined);
    const { html } = await sent(sheetOf([row]));
    expect(html).toContain('Start 1 payout');
    expect(html).not.toContain('exists already');
  });

  test('of ids that all exist starts nothing', async () => {
    const rows = [body(newPartnerOrderId()), body(newPartnerOrderId())];
    for (const row of rows) await world.payouts.start(row);
    const cells = await eventually(async () => {
      const { html } = await sent(sheetOf(rows));
      return html.includes('2 IDs exist already') ? wordsOf(html) : undefined;
    });
    expect(cells).toContain('2 IDs exist already: 2 the same, 0 differ.');
    expect(cells).toContain('There is nothing to start: all 2 IDs exist already.');
    expect(cells).not.toContain('Start 2');
  });

  test('says once what is wrong with the header, beside the errors of the rows', async () => {
    const { receiver, instructedAmount, ...rest } = body('head-1');
    const sheet = sheetOf([{ ...rest, receiver, instructedAmount }, body('head-2', { bankAccountName: '' })]);
    const { html } = await sent(sheet.replace('instructedAmount.amount', 'amount'));
    const words = wordsOf(html);
    expect(words).toContain("Column “amount” isn't known; did you mean instructedAmount.amount?");
    expect(words).toContain('Missing columns: instructedAmount.amount.');
    expect(words).toContain('Nothing was started: the file has 1 error.');
    const bare = wordsOf((await sent('id,amount,name\n1,2,3')).html);
    expect(bare).toContain('Nothing was started: the header of the file is wrong.');
    expect(bare).toContain("Column “id” isn't known; did you mean partnerOrderId or clientId or payerId?");
    expect(bare.match(/Missing columns/g)).toHaveLength(1);
    expect(bare).toMatch(/Missing columns: partnerOrderId, .*receiver\.bankName/);
  });

  test('H196 the page of a payout has the account in a row of its own, and isolates each value', async () => {
    const id = newPartnerOrderId();
    await world.payouts.start(body(id, { bankAccountName: 'דוד לוי', bankName: 'בנק 40' }));
    const browser = new DeskBrowser(server.url);
    await browser.signIn('key-of-desk');
    const { html } = await browser.get(`/desk/payout?partnerOrderId=${id}`);
    for (const [name, value] of [
      ['Beneficiary', 'דוד לוי'],
      ['Account number', 'ending in 0000'],
      ['Bank', 'בנק 40'],
    ])
      expect(html).toContain(`<dt>${name}</dt><dd><bdi>${value}</bdi></dd>`);
    expect(html).toContain('to <bdi>דוד לוי</bdi>');
  });
});

const wordsOf = (html: string) => html.replaceAll(/<[^>]*>/g, '');

/** The response to the upload. */
async function sent(content: string | Buffer): Promise<DeskResponse> {
  const browser = new DeskBrowser(server.url);
  await browser.signIn('key-of-desk');
  return upload(browser, server.url, content, 'payouts.csv');
}
