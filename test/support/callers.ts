/** Callers of the API server for tests, each with its key. */
import { createHash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERBS } from '../../src/config/callers.ts';

const sha256 = (key: string) => createHash('sha256').update(key).digest('hex');

export function callerEntry(name: string, over: object = {}): object {
  return {
    name,
    keySha256: [sha256(`key-of-${name}`)],
    applications: ['default'],
    verbs: VERBS,
    largestAmount: { CNY: '100.00' },
    ...over,
  };
}

/** Its path. By default, a new file. */
export function keysFile(
  content: unknown,
  file = join(mkdtempSync(join(tmpdir(), 'payouts-keys-')), 'callers.json'),
): string {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

export function as(name: string): { authorization: string } {
  return { authorization: `Bearer key-of-${name}` };
}
