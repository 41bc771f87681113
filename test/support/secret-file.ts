/** Files that hold secrets, as Docker and Kubernetes mount them. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Its path. */
export function secretFile(content: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'payouts-secret-')), 'secret');
  writeFileSync(file, content);
  return file;
}
