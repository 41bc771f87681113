import { readFileSync } from 'node:fs';
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
  return jsonIn(readBytes(file), file);
}

/** `which` says whose bytes they are, such as `line 3 of FILE`. */
export function jsonIn(bytes: Buffer, which: string): unknown {
  try {
    return readPlainJson(bytes);
  } catch (error) {
    if (error instanceof NotJsonError) throw new UsageError(`${which} is not usable: ${error.message}`);
    throw error;
  }
}
