/** The rows of CSV, whose columns are the fields of a payout request by path. A cell is read as it is, or refused. */
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { BatchFileError, type FileRow, MAX_ROW_BYTES } from './rows.ts';

const CHUNK_BYTES = 16 * 1024;
const MAX_METADATA_COLUMN = 256;
/** Far more than a request has fields. The header is compared with itself, and each row with it (H329). */
const MAX_COLUMNS = 1_000;
const MAX_COLUMNS_SHOWN = 20;
/** As many as a sheet has rows. Each takes as much time as one with text. */
const MAX_BLANK_ROWS = 1_048_576;
const METADATA = 'metadata.';
const COLUMN = /^[A-Za-z]{1,64}(\.[A-Za-z]{1,64}){0,2}$/;
const SEPARATORS: Readonly<Record<string, string>> = { ',': 'a comma', ';': 'a semicolon', '\t': 'a tab' };
const BREAK = /\r\n|\r|\n/;

interface CsvRecord {
  line: number;
  cells: string[];
}

export async function* csvRows(text: Buffer): AsyncGenerator<FileRow> {
  const form = separatorOf(text);
  let columns: string[] | undefined;
  for await (const { line, cells } of records(text, form)) {
    if (columns) yield { line, row: rowOf(columns, cells, { line, separator: form.separator }) };
    else columns = columnsOf(cells);
  }
}

/** The names in the header of a file whose rows can be read. */
export async function csvColumns(text: Buffer): Promise<string[]> {
  for await (const { cells } of records(text, separatorOf(text))) return columnsOf(cells);
  return [];
}

interface CsvForm {
  separator: string;
  /** Where the header begins. */
  from: number;
}

/** Rows without any text, such as those of separators only, are no records. */
async function* records(text: Buffer, { separator, from }: CsvForm): AsyncGenerator<CsvRecord> {
  const place = new Place(text, from);
  const lines: number[] = [];
  let blank = 0;
  const parser = parse({
    delimiter: separator,
    record_delimiter: ['\r\n', '\n', '\r'],
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: MAX_ROW_BYTES,
    // Runs while the record is parsed, so that the place is known when the next one cannot be parsed.
    on_record: (cells, { bytes }) => {
      const line = place.recordUpTo(from + bytes);
      if (cells.some((cell) => cell.trim() !== '')) {
        lines.push(line);
        return cells;
      }
      blank += 1;
      if (blank > MAX_BLANK_ROWS)
        throw new BatchFileError(`more than ${MAX_BLANK_ROWS} rows have no text: remove them`);
      return null;
    },
  });
  try {
    let at = 0;
    for await (const cells of Readable.from(chunksOf(text.subarray(from))).compose(parser)) {
      yield { line: lines[at] ?? 0, cells };
      at += 1;
    }
  } catch (error) {
    if (error instanceof CsvError)
      throw new BatchFileError(`line ${place.nextLine()} is not CSV: ${faultOf(error)}`);
    throw error;
  }
}

/** Finds the line at which a record begins, though line breaks may be quoted, and empty lines are skipped. */
class Place {
  readonly #text: Buffer;
  #at: number;
  #line: number;

  constructor(text: Buffer, from: number) {
    this.#text = text;
    this.#at = from;
    this.#line = from === 0 ? 1 : 2;
  }

  /** The line of the record that ends before this byte, and begins after the one before it. */
  recordUpTo(end: number): number {
    const line = this.nextLine();
    this.#line = line + this.#breaks(this.#at, end);
    this.#at = end;
    return line;
  }

  /** Leaves the empty lines behind. */
  nextLine(): number {
    const from = this.#at;
    while (this.#text[this.#at] === 10 || this.#text[this.#at] === 13) this.#at += 1;
    this.#line += this.#breaks(from, this.#at);
    return this.#line;
  }

  #breaks(from: number, to: number): number {
    let count = 0;
    for (let at = from; at < to; at += 1)
      if (this.#text[at] === 10 || (this.#text[at] === 13 && this.#text[at + 1] !== 10)) count += 1;
    return count;
  }
}

/** The separator of the columns: a line `sep=;` names it, or the header shows it. */
function separatorOf(text: Buffer): CsvForm {
  const head = text.toString('latin1', 0, MAX_ROW_BYTES);
  const [line = '', said] = /^"?sep=(.)"?[\t,;]*(?:\r\n|\r|\n|$)/i.exec(head) ?? [];
  if (said !== undefined && Object.hasOwn(SEPARATORS, said)) return { separator: said, from: line.length };
  const [header = ''] = head.trimStart().split(BREAK);
  const count = (separator: string) => header.split(separator).length;
  const [first = ',', ...others] = Object.keys(SEPARATORS);
  return { separator: others.reduce((best, one) => (count(one) > count(best) ? one : best), first), from: 0 };
}

/** Lets the process do other work between two chunks, even if no row begins in them (H343). */
async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
    yield bytes.subarray(from, from + CHUNK_BYTES);
    await setImmediate();
  }
}

/** By the code of csv-parse, whose messages quote the file. */
const FAULTS: Readonly<Record<string, string>> = {
  CSV_MAX_RECORD_SIZE: 'the row exceeds 64 KiB, or a quote in it is not closed',
  CSV_QUOTE_NOT_CLOSED: 'a quote is not closed',
  CSV_INVALID_CLOSING_QUOTE: 'text follows a closing quote',
  INVALID_OPENING_QUOTE: 'a quote is inside a cell that is not quoted',
};

function faultOf({ code }: CsvError): string {
  return FAULTS[code] ?? 'it cannot be parsed';
}

/** The paths of the columns. A column without a name has an empty one. */
function columnsOf(header: readonly string[]): string[] {
  if (header.length > MAX_COLUMNS)
    throw new BatchFileError(`the header has ${header.length} columns; at most ${MAX_COLUMNS} are allowed`);
  const columns = header.map((name) => name.trim());
  const noPaths = columns.flatMap((name, at) => (isPath(name) ? [] : [at + 1]));
  if (noPaths.length > 0) throw new BatchFileError(noPathsText(noPaths, columns.filter(isNamed).length));
  for (const [at, name] of columns.entries()) {
    const fault = columnFault(columns, name, at);
    if (fault !== undefined) throw new BatchFileError(`the header is invalid: column ${at + 1} ${fault}`);
  }
  return columns;
}

const isNamed = (name: string) => name !== '';

/** The schema of the request checks the keys of metadata, which may contain dots. */
function isPath(name: string): boolean {
  return (
    !isNamed(name) || COLUMN.test(name) || (name.startsWith(METADATA) && name.length <= MAX_METADATA_COLUMN)
  );
}

/** By their numbers: without a header, their texts are those of a payout. */
function noPathsText(columns: readonly number[], named: number): string {
  if (columns.length === named && named > 1)
    return 'no column is the path of a field, such as receiver.bankName: the first line must name the fields';
  const shown = columns.slice(0, MAX_COLUMNS_SHOWN).join(', ');
  const more = columns.length > MAX_COLUMNS_SHOWN ? ` and ${columns.length - MAX_COLUMNS_SHOWN} more` : '';
  const [subject, path] =
    columns.length === 1 ? ['column', 'is not the path of a field'] : ['columns', 'are not paths of fields'];
  return `the header is invalid: ${subject} ${shown}${more} ${path}, such as receiver.bankName. Separate columns by commas, semicolons or tabs`;
}

function columnFault(columns: readonly string[], name: string, at: number): string | undefined {
  if (!isNamed(name)) return undefined;
  if (columns.indexOf(name) < at) return `repeats ${name}`;
  const isMetadata = name.startsWith(METADATA);
  if (!isMetadata && columns.some((other) => other.startsWith(`${name}.`)))
    return `is ${name}, which other columns divide into fields`;
  return undefined;
}

/** `receiver.bankName` becomes a field of the object `receiver`. An empty cell is an absent field. */
function rowOf(
  columns: readonly string[],
  cells: readonly string[],
  { line, separator }: { line: number; separator: string },
): object {
  const [missing, beyond] = [columns.slice(cells.length), cells.slice(columns.length)];
  if ([...missing, ...beyond].some((text) => text !== ''))
    throw new BatchFileError(
      `line ${line} has ${cells.length} ${cells.length === 1 ? 'cell' : 'cells'} instead of ${columns.length}${
        beyond.length > 0 ? `: a value with ${SEPARATORS[separator]} needs quotes` : ''
      }`,
    );
  const row = new Map<string, unknown>();
  for (const [at, column] of columns.entries()) {
    const cell = cells[at] ?? '';
    if (cell === '') continue;
    if (column === '')
      throw new BatchFileError(
        `line ${line} is invalid: column ${at + 1} has text, and no name in the header`,
      );
    set(row, pathOf(column), cell);
  }
  return objectOf(row);
}

function pathOf(column: string): string[] {
  return column.startsWith(METADATA) ? ['metadata', column.slice(METADATA.length)] : column.split('.');
}

function set(row: Map<string, unknown>, [name = '', ...rest]: readonly string[], value: string): void {
  if (rest.length === 0) {
    row.set(name, value);
    return;
  }
  const known = row.get(name);
  const inner: Map<string, unknown> = known instanceof Map ? known : new Map();
  row.set(name, inner);
  set(inner, rest, value);
}

function objectOf(row: ReadonlyMap<string, unknown>): object {
  return Object.fromEntries(
    Array.from(row, ([name, value]) => [name, value instanceof Map ? objectOf(value) : value]),
  );
}
