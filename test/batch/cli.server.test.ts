import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emptyTally } from '../../src/domain/batch.ts';
import { progressLine } from '../../src/starters/cli/batches.ts';
import { debitsByRow, manyRows, rowsOf } from '../support/batches.ts';
import { cli } from '../support/cli.ts';
import { sheetOf } from '../support/spreadsheets.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let folder: string;
const run = (...args: string[]) => cli(world.workerEnvironment, args);

beforeAll(async () => {
  world = await VirtualWorld.start();
  folder = mkdtempSync(join(tmpdir(), 'payouts-batch-cli-'));
});

afterAll(async () => {
  await world.stop();
  rmSync(folder, { recursive: true, force: true });
});

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe('batch', () => {
  test('watches an NDJSON batch to its end; the same file joins the same batch', async () => {
    const rows = manyRows(3);
    const path = file('rows.ndjson', `${rows.map((row) => JSON.stringify(row)).join('\n')}\n\n`);
    const first = await run('batch', path, '--watch', '--json');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.json()).toMatchObject({ count: 3, started: 3, outcomes: { SUCCESS: 3 } });
    const again = await run('batch', path, '--json');
    expect(again.json()).toMatchObject({ phase: 'DONE', started: 3 });
    expect(debitsByRow(world, rows)).toEqual([1, 1, 1]);
  });

  test('a JSON array with a conflict: exits 5 and names the row', async () => {
    const rows = rowsOf('success', 'success');
    const [taken] = rows;
    if (!taken) throw new Error('two rows');
    await world.payouts.start({ ...taken, clientId: 'client-2' });
    const answer = await run('batch', file('conflict.json', JSON.stringify(rows)), '--watch');
    expect(answer.code).toBe(5);
    expect(answer.stdout).toMatch(new RegExp(`1 +│ ${taken.partnerOrderId} +│ conflict`));
    expect(answer.stdout).toMatch(/SUCCESS +1/);
  });

  test('names bad rows by row and field, exits 2, and starts nothing', async () => {
    const [good, bad] = rowsOf('success', 'success');
    const path = file('bad.json', JSON.stringify([good, { ...bad, payerId: '' }, { ...good }]));
    const answer = await run('batch', path, '--json');
    expect(answer.code).toBe(2);
    expect(answer.json()).toMatchObject({
      error: {
        code: 'INVALID_PAYOUT_REQUEST',
        fields: [{ path: '1.payerId' }, { path: '2.partnerOrderId' }],
      },
    });
    expect((await run('status', good?.partnerOrderId ?? '')).code).toBe(3);
  });

  test.each([
    ['NDJSON', (rows: object[]) => rows.map((row) => JSON.stringify(row)).join('\n'), 2],
    ['CSV', sheetOf, 3],
  ])('H220 refuses a target currency that the provider does not take, in %s', async (name, write, line) => {
    const [paid, other] = rowsOf('success', 'success');
    if (!paid || !other) throw new Error('two rows');
    const inEuros = {
      ...other,
      targetCurrency: 'EUR',
      instructedAmount: { currency: 'EUR', amount: '10.00' },
      receiver: { ...other.receiver, bankAccountCurrency: 'EUR' },
    };
    const answer = await run('batch', file(`euros.${name}`, write([paid, inEuros])), '--json');
    expect(answer.code).toBe(2);
    expect(answer.json()).toMatchObject({
      error: { code: 'INVALID_PAYOUT_REQUEST', fields: [{ path: '1.targetCurrency', line }] },
    });
    const single = await run('start', file('euro.json', JSON.stringify(inEuros)), '--json');
    expect(single.code).toBe(2);
    expect(single.json()).toMatchObject({
      error: { code: 'INVALID_PAYOUT_REQUEST', fields: [{ path: 'targetCurrency' }] },
    });
    for (const { partnerOrderId } of [paid, other])
      expect((await run('status', partnerOrderId)).code).toBe(3);
  });

  test('rejects other rows under the same batchId, and exits 4', async () => {
    const name = ['--batch-id', 'payday', '--json'];
    await run('batch', file('payday.json', JSON.stringify(manyRows(2))), ...name);
    const other = await run('batch', file('other.json', JSON.stringify(manyRows(2))), ...name);
    expect(other.code).toBe(4);
    expect(other.json()).toMatchObject({ error: { code: 'CONFLICT' } });
  });

  test.each([
    ['empty.json', '', /contains no payouts/],
    ['one.json', '{"clientId":1}\n{oops', /line 2/],
    ['broken.json', '[{]', /not JSON/],
  ])('%s is bad input', async (name, content, message) => {
    const answer = await run('batch', file(name, content));
    expect(answer.code).toBe(2);
    expect(answer.stderr).toMatch(message);
  });

  test('the progress bar shows the share of ended rows', () => {
    const state = { ...emptyTally(), app: 'default', batchId: 'b', count: 10, added: 10, canceled: false };
    const said = { sentence: '', nextStep: '', missing: [], started: 9, done: 5, rejected: 1 };
    const line = progressLine({ ...state, ...said, phase: 'PAYING' });
    expect(line).toMatch(/█{15}░{15}.*5 of 10 rows finished, 5 open, .*1 rejected/);
  });
});
