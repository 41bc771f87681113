/** `npm run simulate` with these arguments. Rejects if its exit code is not 0. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');
/** A violation is printed with its timeline, which is long. */
const MAX_BYTES = 1e9;

export function simulate(...args: readonly string[]) {
  return promisify(execFile)(process.execPath, ['--import', 'tsx', 'worlds/main.ts', ...args], {
    ...{ cwd: ROOT, maxBuffer: MAX_BYTES },
  });
}
