import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  checkedRequests,
  openingOf,
  readJson,
  requestsOf,
  withPayouts,
} from '../../src/starters/cli/files.ts';
import { cli } from '../support/cli.ts';
import { encoded } from '../support/encodings.ts';
import { payoutRequest } from '../support/requests.ts';
import { sheetOf } from '../support/spreadsheets.ts';

const valid = JSON.stringify(payoutRequest('p-1'));
const twice = valid.replace('"amount":"100.00"', '"amount":"100.00","amount":"900.00"');
const latin1 = Buffer.from(valid.replace('Zhang San', 'Müller'), 'latin1');

function file(content: string | Buffer): string {
  const path = join(mkdtempSync(join(tmpdir(), 'payouts-files-')), 'payouts.json');
  writeFileSync(path, content);
  return path;
}

function rowsIn(path: string): Promise<unknown[]> {
  return withPayouts(path, async (payouts) => {
    const rows: unknown[] = [];
    for await (const row of payouts) rows.push(row);
    return rows;
  });
}

describe('H135 ambiguous files', () => {
  test.each([
    ['a repeated amount', twice, /a key is repeated/],
    ['a list of such', `[${twice}]`, /a key is repeated/],
    ['a name in another encoding', latin1, /not UTF-8/],
    ['no payout', '[]', /contains no payouts/],
    ['no JSON', '{', /not JSON/],
  ])('rejects a payout file with %s', async (_what, content, said) => {
    await expect(withPayouts(file(content), checkedRequests, 'json')).rejects.toThrow(said);
  });

  test('H376 rejects a payout file with two payouts of one ID, which a person may mean as two payments', async () => {
    const listed = `[${valid},\n${valid}]`;
    await expect(withPayouts(file(listed), checkedRequests, 'json')).rejects.toMatchObject({
      fields: [{ path: '1.partnerOrderId', message: 'is the same as in line 1', line: 2 }],
    });
  });

  test.each([
    ['a repeated amount', `${valid}\n${twice}`, /payouts\.json: line 2 .* a key is repeated/],
    ['such a list', `[${twice}]`, /a key is repeated/],
    ['a name in another encoding', latin1, /not UTF-8.*CSV UTF-8/],
  ])('rejects a batch file with %s', async (_what, content, said) => {
    await expect(rowsIn(file(content))).rejects.toThrow(said);
  });

  test('ignores a UTF-8 byte order mark and empty lines', async () => {
    const path = file(`\ufeff${valid}\r\n\n${valid}\n`);
    expect(await rowsIn(path)).toEqual([JSON.parse(valid), JSON.parse(valid)]);
    expect(readJson(file(`\ufeff${valid}`))).toEqual(JSON.parse(valid));
  });
});

describe('the command line, with a file of a spreadsheet', () => {
  const row = payoutRequest('p-1');
  const named = (bankAccountName: string) => ({ ...row, receiver: { ...row.receiver, bankAccountName } });

  test('H194 refuses GBK with one error', async () => {
    const path = file(encoded(sheetOf([named('张伟')]), 'gbk'));
    const answer = await cli({}, ['batch', path]);
    expect([answer.code, answer.stdout]).toEqual([2, '']);
    expect(answer.stderr).toMatch(/payouts\.json: the encoding of the file is not UTF-8.*"CSV UTF-8"/);
  });

  test('H195 names each damaged field by the line of its row', async () => {
    const damaged = { ...row, receiver: { ...row.receiver, bankAccountNumber: '6.22202E+18' } };
    const path = file(encoded(`\ufeff${sheetOf([named('Zhang\nSan'), damaged, row])}`, 'utf-16le'));
    const answer = await cli({}, ['batch', path, '--json']);
    expect(answer.code).toBe(2);
    const fields = [
      { path: '0.receiver.bankAccountName', line: 2 },
      { path: '1.receiver.bankAccountNumber', line: 4 },
    ];
    expect(answer.json()).toMatchObject({ error: { code: 'INVALID_PAYOUT_REQUEST', fields } });
    const { stderr } = await cli({}, ['start', file(JSON.stringify([row, damaged], null, 1))]);
    expect(stderr).toMatch(/ {2}line 24: receiver\.bankAccountNumber is in scientific notation/);
  });
});

describe('--app', () => {
  const paying = (fields: object) => file(JSON.stringify({ ...payoutRequest('p-1'), ...fields }));

  test('is the application of payouts that name none', async () => {
    expect(await requestsOf(paying({ app: undefined }), 'east')).toMatchObject([{ app: 'east' }]);
    expect(await requestsOf(paying({ app: undefined }))).toMatchObject([{ app: 'default' }]);
    expect(await requestsOf(paying({ app: 'east' }), 'east')).toMatchObject([{ app: 'east' }]);
  });

  test('a payout of another application is refused', async () => {
    await expect(requestsOf(paying({ app: 'west' }), 'east')).rejects.toThrow(
      'app is west, and --app is east',
    );
    const account = file(
      JSON.stringify({ requestId: 'r-1', payerId: 'payer-1', currency: 'USD', app: 'west' }),
    );
    expect(() => openingOf(account, 'east')).toThrow('app is west, and --app is east');
  });
});
