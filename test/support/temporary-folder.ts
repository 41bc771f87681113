/** What tests and their processes leave in the folder for temporary files goes when the run ends. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const PREFIX = 'payouts-tests-';

/** Every project of the run sets it up, and the first one makes the folder of all. */
export default function setUp(): () => void {
  if (basename(tmpdir()).startsWith(PREFIX)) return () => undefined;
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  // A PostgreSQL of a user of its own has to get to its part of it.
  chmodSync(folder, 0o711);
  process.env['TMPDIR'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
