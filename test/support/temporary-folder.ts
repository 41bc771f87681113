/** Removes the temporary files of tests and their processes when the run ends. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const PREFIX = 'payouts-tests-';

/** Every project of the run sets it up; the first one creates the folder for all. */
export default function setUp(): () => void {
  if (basename(tmpdir()).startsWith(PREFIX)) return () => undefined;
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  // PostgreSQL, which runs as another user, must reach its part of the folder.
  chmodSync(folder, 0o711);
  process.env['TMPDIR'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
