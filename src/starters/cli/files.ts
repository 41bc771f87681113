/** Reads the files of arguments. Everything in a file is validated before anything is done. */
import { readFileSync } from 'node:fs';
import { NotJsonError, readPlainJson } from '../../payments/exact-json.ts';
import { ndjsonLines } from '../batches.ts';
import { UsageError } from './answer.ts';

/** `-` is standard input. */
export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch {
    throw new UsageError(`${file} cannot be read`);
  }
}

export function readJson(file: string): unknown {
  return parseJson(readBytes(file), file);
}

/** The rows of a batch: a JSON array, or NDJSON with one payout per line. */
export function batchRows(bytes: Buffer, file: string): unknown[] {
  const [first] = ndjsonLines(bytes);
  if (!first) throw new UsageError(`${file} contains no payouts`);
  if (!first.bytes.toString('utf8').trim().startsWith('['))
    return Array.from(ndjsonLines(bytes), (line) => parseJson(line.bytes, `line ${line.number} of ${file}`));
  const rows = parseJson(bytes, file);
  if (!Array.isArray(rows)) throw new UsageError(`${file} is neither a JSON array nor NDJSON`);
  return rows;
}

function parseJson(bytes: Buffer, what: string): unknown {
  try {
    return readPlainJson(bytes);
  } catch (error) {
    if (error instanceof NotJsonError) throw new UsageError(`${what} is invalid: ${error.message}`);
    throw error;
  }
}
