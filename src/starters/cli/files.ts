/** Reads the files of arguments. Everything in a file is validated before anything is done. */
import { readFileSync } from 'node:fs';
import { BatchFile } from '../../batch-file/batch-file.ts';
import { BatchFileError } from '../../batch-file/rows.ts';
import { NotJsonError, readPlainJson } from '../../payments/exact-json.ts';
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
  const bytes = readBytes(file);
  try {
    return readPlainJson(bytes);
  } catch (error) {
    if (error instanceof NotJsonError) throw new UsageError(`${file} is invalid: ${error.message}`);
    throw error;
  }
}

/** Calls `read` with the payouts in a file. Throws `UsageError` if the file cannot be read as a whole. */
export async function withPayouts<T>(
  file: string,
  read: (payouts: BatchFile) => Promise<T>,
  format?: 'json',
): Promise<T> {
  try {
    return await read(new BatchFile(readBytes(file), format));
  } catch (error) {
    if (error instanceof BatchFileError) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
}
