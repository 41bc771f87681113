/** Reads the file of a batch, for the desk, the API server and the CLI: CSV, NDJSON or a JSON array. */

import { BatchFileError, decoded, type FileRow, jsonRows, ndjsonRows } from './rows.ts';

const SPACE = 32;

type Format = 'csv' | 'ndjson' | 'json';

const READERS: Readonly<Record<Format, (bytes: Buffer) => AsyncIterable<FileRow> | Iterable<FileRow>>> = {
  csv: async function* (text) {
    // Loads its parser only for CSV.
    yield* (await import('./csv.ts')).csvRows(text);
  },
  ndjson: ndjsonRows,
  json: jsonRows,
};

/** The rows, read while they are iterated over. Throws `BatchFileError`. */
export class BatchFile implements AsyncIterable<unknown> {
  readonly lines: number[] = [];
  readonly #bytes: Buffer | (() => Promise<Buffer>);
  readonly #format: Format | undefined;

  /** The content tells the format, unless a caller names it. */
  constructor(bytes: Buffer | (() => Promise<Buffer>), format?: Format) {
    this.#bytes = bytes;
    this.#format = format;
  }

  /** The columns of CSV. Undefined for the other formats. */
  async columns(): Promise<string[] | undefined> {
    const text = await this.#text();
    if ((this.#format ?? formatOf(text)) !== 'csv') return undefined;
    return (await import('./csv.ts')).csvColumns(text);
  }

  async #text(): Promise<Buffer> {
    return decoded(typeof this.#bytes === 'function' ? await this.#bytes() : this.#bytes);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    this.lines.length = 0;
    const text = await this.#text();
    for await (const { line, row } of READERS[this.#format ?? formatOf(text)](text)) {
      this.lines.push(line);
      yield row;
    }
    if (this.lines.length === 0) throw new BatchFileError('the file contains no payouts');
  }
}

function formatOf(text: Buffer): Format {
  const first = String.fromCharCode(text.find((byte) => byte > SPACE) ?? SPACE);
  if (first === '{') return 'ndjson';
  return first === '[' ? 'json' : 'csv';
}
