/** The reader of batch files: what it reads is what the file says, and each row has the line at which it begins. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BatchFile } from '../../src/batch-file/batch-file.ts';
import { encoded } from '../support/encodings.ts';
import { payoutRequest } from '../support/requests.ts';
import { sheetOf } from '../support/spreadsheets.ts';

interface Read {
  rows: unknown[];
  lines: readonly number[];
}

async function readFile(content: string | Buffer): Promise<Read> {
  const file = new BatchFile(Buffer.from(content));
  const rows: unknown[] = [];
  for await (const row of file) rows.push(row);
  return { rows, lines: file.lines };
}

function named(id: string, bankAccountName: string) {
  const body = payoutRequest(id);
  return { ...body, receiver: { ...body.receiver, bankAccountName } };
}

describe('H194 the encoding of a file', () => {
  test.each([
    ['gbk', '张伟'],
    ['gb18030', '张伟'],
    ['big5', '張偉'],
    ['shift_jis', '田中'],
    ['euc-jp', '田中'],
    ['euc-kr', '김철수'],
    ['windows-1252', 'Jörg Müller'],
    ['windows-1251', 'Иван'],
  ])('%s is refused once for the whole file, with the way to save it', async (encoding, name) => {
    const file = encoded(sheetOf([named('p-1', 'Zhang'), named('p-2', name)]), encoding);
    await expect(readFile(file)).rejects.toThrow(/^the encoding of the file is not UTF-8.*"CSV UTF-8"/);
    const json = [named('p-1', 'Zhang'), named('p-2', name)].map((row) => JSON.stringify(row));
    await expect(readFile(encoded(json.join('\n'), encoding))).rejects.toThrow(/the encoding of the file/);
    await expect(readFile(encoded(`[${json.join()}]`, encoding))).rejects.toThrow(/the encoding of the file/);
  });

  test.each(['utf-8', 'utf-16le', 'utf-16be'])('%s with its mark is read', async (encoding) => {
    const rows = [named('p-1', '张伟'), named('p-2', '𠮷田')];
    for (const text of [sheetOf(rows), sheetOf(rows, { separator: '\t' }), JSON.stringify(rows)])
      expect((await readFile(encoded(`\ufeff${text}`, encoding))).rows).toEqual(rows);
  });

  test.each([
    ['UTF-16 without its mark', encoded(sheetOf([named('p-1', 'Zhang')]), 'utf-16le')],
    [
      'UTF-16 that is cut off',
      encoded(`\ufeff${sheetOf([named('p-1', '张伟')])}`, 'utf-16le').subarray(0, -1),
    ],
    ['UTF-8 that is cut off', encoded('clientId\n张', 'utf-8').subarray(0, -1)],
    ['UTF-8 with a zero byte', encoded('clientId\nx\0', 'utf-8')],
    [
      'half of a surrogate pair',
      Buffer.concat([encoded('\ufeffclientId\n', 'utf-16le'), Buffer.from('00d8', 'hex')]),
    ],
    ['UTF-32', Buffer.from('fffe000063000000', 'hex')],
  ])('%s is refused', async (_what, file) => {
    await expect(readFile(file)).rejects.toThrow(/^the encoding of the file/);
  });
});

/** Text that a person may enter into a cell, with all that a reader of CSV could take for something else. */
const cell = fc
  .string({
    unit: fc.constantFrom(
      ...[...'aB0 ,;\t|"\'=.-\r\n', '\r\n', '张', '伟', 'é', 'ü', '김', 'א', 'ب', '😀', '\u00a0'],
    ),
    maxLength: 12,
  })
  .map((text) => `x${text}`);

const sheets = fc.record({
  names: fc.array(cell, { minLength: 1, maxLength: 6 }),
  separator: fc.constantFrom(',', ';', '\t'),
  lineBreak: fc.constantFrom('\r\n', '\n', '\r'),
  isSaid: fc.boolean(),
  /** Columns without a name. */
  spare: fc.nat(2),
  /** The cells of rows without text, which come before every other row. */
  blanks: fc.array(fc.constantFrom('', ' '), { maxLength: 3 }),
  hasEmptyLine: fc.boolean(),
});
type Sheet = typeof sheets extends fc.Arbitrary<infer T> ? T : never;

/** The file, and the line at which each row begins. */
function written(sheet: Sheet): { text: string; lines: number[] } {
  const { separator, lineBreak, spare } = sheet;
  const lineOf = (cells: readonly string[]) => {
    const quoted = cells.map((text) => (text.trim() === '' ? text : `"${text.replaceAll('"', '""')}"`));
    return quoted.join(separator) + lineBreak;
  };
  const row = (cells: readonly string[], filler = '') => lineOf([...cells, ...Array(spare).fill(filler)]);
  const blanks = sheet.blanks.map((blank) => row([blank, blank, blank], blank)).join('');
  const between = (sheet.hasEmptyLine ? lineBreak : '') + blanks;
  const said = sheet.isSaid ? `sep=${separator}${lineBreak}` : '';
  let text = said + row(['clientId', 'receiver.bankAccountName', 'metadata.a;b,c']);
  const lines = sheet.names.map((name, at) => {
    text += at % 2 === 0 ? between : '';
    const line = text.split(/\r\n|\r|\n/).length;
    text += row([`c-${at}`, name, '']);
    return line;
  });
  return { text, lines };
}

describe('H197 a generated file', () => {
  test('is read as it was written, with the line at which each row begins', async () => {
    const encodings = fc.constantFrom('utf-8', 'utf-16le', 'utf-16be');
    await fc.assert(
      fc.asyncProperty(sheets, encodings, async (sheet, encoding) => {
        const { text, lines } = written(sheet);
        const rows = sheet.names.map((name, at) => ({
          clientId: `c-${at}`,
          receiver: { bankAccountName: name },
        }));
        expect(await readFile(encoded(`\ufeff${text}`, encoding))).toEqual({ rows, lines });
        expect(await readFile(text)).toEqual({ rows, lines });
      }),
      { numRuns: 300 },
    );
  });

  test('in another form has the same rows', async () => {
    const rows = [named('p-1', 'Zhang "San"'), named('p-2', 'a;b,c\td')];
    const texts = [',', ';', '\t'].map((separator) => sheetOf(rows, { separator }));
    const lines = rows.map((row) => JSON.stringify(row)).join('\n\n');
    for (const text of [...texts, lines, JSON.stringify(rows), JSON.stringify(rows, null, 2)])
      expect((await readFile(text)).rows).toEqual(rows);
  });
});

describe('H197 a file', () => {
  test.each([
    ['a row with too few cells', 'clientId,payerId\n1,2\n\n3\n', 'line 4 has 1 cell instead of 2'],
    [
      'a row with too many cells',
      'clientId,payerId\n"1\n",2,3',
      'line 2 has 3 cells instead of 2: a value with a comma needs quotes',
    ],
    [
      'too many cells between semicolons',
      'clientId;payerId\n1;2;3',
      'line 2 has 3 cells instead of 2: a value with a semicolon needs quotes',
    ],
    [
      'an Excel workbook',
      Buffer.from('504b030414000600', 'hex'),
      /^this is an Excel workbook\. Save it as CSV/,
    ],
    ['text without a column', 'clientId,\n1,\n1,x\n', 'line 3 is invalid: column 2 has text, and no name'],
    ['an unclosed quote', 'clientId,payerId\n1,2\n\n"3,4\n5,6\n', 'line 4 is not CSV: a quote is not closed'],
    ['text after a quote', 'clientId\n1\n"2\n"3\n', 'line 3 is not CSV: text follows a closing quote'],
    ['a quote inside a cell', 'clientId\n1\n2"3\n', 'line 3 is not CSV: a quote is inside a cell'],
    ['an endless row', `clientId\n1\n"${'x\n'.repeat(40_000)}"`, 'line 3 is not CSV: the row exceeds 64 KiB'],
    ['another separator', 'clientId|payerId\n1|2', 'column 1 is not the path of a field'],
    [
      'names of fields in other words',
      'clientId,Bank Name,Account No.,payerId',
      'columns 2, 3 are not paths of fields, such as receiver.bankName',
    ],
    ['no header', '张伟,6222020000000001', 'no column is the path of a field, such as receiver.bankName'],
    ['no header, and words', 'client-1,6222,SUPPLIER,CNY', 'columns 1, 2 are not paths of fields'],
    ['a repeated column', 'clientId,clientId\n1,2', 'column 2 repeats clientId'],
    [
      'a column that others divide',
      'receiver,receiver.bankName\n1,2',
      'column 1 is receiver, which other columns divide',
    ],
    ['only a header', 'clientId\n', 'the file contains no payouts'],
    ['only blanks', ' \n;;\n', 'the file contains no payouts'],
    ['a line that is not JSON', '{}\n\n{', 'line 3 is invalid: not JSON'],
    ['a repeated key', '{}\n{"a":1,"a":2}', 'line 2 is invalid: a key is repeated'],
    ['a long line', `{}\n{"a":"${'x'.repeat(70_000)}"}`, 'line 2 is invalid: it exceeds 64 KiB'],
    ['no list', '[', 'the file is invalid: not JSON'],
  ])('with %s is refused with one error that names the line', async (_what, content, message) => {
    await expect(readFile(content)).rejects.toThrow(message);
  });

  test('that is a JSON array has the line of each element', async () => {
    const text = '\n[ {"a": "[{\\"",\n"b": [1,\n2]},\n\n{},{}\n, {}]';
    expect((await readFile(text)).lines).toEqual([2, 6, 6, 7]);
  });
});
