/** Reads the file of a batch: CSV, whose columns are the fields of a payout request by path, or NDJSON. */
import { Readable } from 'node:stream';
import { CsvError, type Info, parse } from 'csv-parse';
import { InvalidPayoutRequestError } from '../../../client/invalid-request.ts';
import type { FieldError } from '../../../contract/payout-request.ts';
import { MAX_ROWS_PER_BATCH } from '../../../domain/batch.ts';
import { ndjsonLines } from '../../batches.ts';
import { NdjsonRows } from '../bodies.ts';

export interface BatchFile {
  /** Payout requests, not yet validated. */
  rows: unknown[];
  /** The line of the file at which each row begins, from 1. */
  lines: number[];
}

const CHUNK_BYTES = 64 * 1024;
const MAX_RECORD_BYTES = 64 * 1024;
const MAX_METADATA_COLUMN = 256;
const METADATA = 'metadata.';
const COLUMN = /^[A-Za-z]{1,64}(\.[A-Za-z]{1,64}){0,2}$/;

/**
 * Stops after the row limit: one row more, so that the check of the batch refuses it. Throws `InvalidPayoutRequestError` or a
 * 400 `Problem` for a file that cannot be parsed.
 */
export async function readBatchFile(bytes: Buffer): Promise<BatchFile> {
  const [first] = ndjsonLines(bytes);
  if (first?.bytes.toString('utf8').trim().startsWith('{') !== true) return readCsv(bytes);
  const rows: unknown[] = [];
  for await (const row of new NdjsonRows(bytes)) {
    rows.push(row);
    if (rows.length > MAX_ROWS_PER_BATCH) break;
  }
  const lines: number[] = [];
  for (const { number } of ndjsonLines(bytes)) {
    if (lines.length === rows.length) break;
    lines.push(number);
  }
  return { rows, lines };
}

async function readCsv(bytes: Buffer): Promise<BatchFile> {
  const parser = parse({
    ...{ bom: true, trim: true, skip_empty_lines: true, info: true, max_record_size: MAX_RECORD_BYTES },
    columns: (header: string[]) => checkedColumns(header),
  });
  const file: BatchFile = { rows: [], lines: [] };
  try {
    // In chunks, so that the process does other work meanwhile.
    for await (const read of Readable.from(chunksOf(bytes)).compose(parser)) {
      const { record, info }: { record: Record<string, string>; info: Info } = read;
      file.rows.push(rowOf(record));
      // The line at which the record ends.
      file.lines.push(info.lines);
      if (file.rows.length > MAX_ROWS_PER_BATCH) break;
    }
  } catch (error) {
    if (error instanceof CsvError) throw invalid([{ path: 'file', message: `is not CSV: ${error.message}` }]);
    throw error;
  }
  return file;
}

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) yield bytes.subarray(from, from + CHUNK_BYTES);
}

function checkedColumns(header: readonly string[]): string[] {
  const errors = header.flatMap((name, at): FieldError[] => {
    const path = `column ${at + 1}`;
    // The schema of the request checks the keys of metadata, which may contain dots.
    if (!COLUMN.test(name) && !(name.startsWith(METADATA) && name.length <= MAX_METADATA_COLUMN))
      return [{ path, message: 'is not the path of a field, such as receiver.bankName' }];
    return header.indexOf(name) < at ? [{ path, message: `repeats ${name}` }] : [];
  });
  if (errors.length > 0) throw invalid(errors);
  return [...header];
}

/** `receiver.bankName` becomes a field of the object `receiver`. An empty cell is an absent field. */
function rowOf(record: Readonly<Record<string, string>>): object {
  const row = new Map<string, unknown>();
  for (const [path, value] of Object.entries(record)) if (value !== '') set(row, pathOf(path), value);
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

function invalid(errors: readonly FieldError[]): InvalidPayoutRequestError {
  return new InvalidPayoutRequestError([...errors]);
}
