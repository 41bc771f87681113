/** A checkout of the released version, beside this one. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** 1.0.0. The commit, because a clone may have no tags. */
const COMMIT = 'e65bdad0be2654fc1e567cbe11b7ec65a7f4fb4a';
const ROOT = join(import.meta.dirname, '../..');
const MODULES = 'node_modules';

let folder: string | undefined;

/** Undefined if this is no clone, or a shallow one. The folder is deleted when this process exits. */
export function releasedCheckout(): string | undefined {
  if (folder !== undefined || git('rev-parse', '--verify', '--quiet', `${COMMIT}^{tree}`) === '')
    return folder;
  folder = mkdtempSync(join(tmpdir(), 'payouts-released-'));
  const created = folder;
  process.once('exit', () => rmSync(created, { recursive: true, force: true }));
  const archive = execFileSync('git', ['archive', COMMIT], { cwd: ROOT, maxBuffer: 1 << 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  installPackages(folder);
  return folder;
}

/** Our packages, if the release has the same. */
function installPackages(checkout: string): void {
  const [released, ours] = [checkout, ROOT].map((root) =>
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  );
  if (released === ours && existsSync(join(ROOT, MODULES))) {
    symlinkSync(join(ROOT, MODULES), join(checkout, MODULES));
    return;
  }
  execFileSync('npm', ['ci', '--ignore-scripts', '--omit=dev'], { cwd: checkout, stdio: 'pipe' });
}

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    // A copy of the sources without a repository.
    return '';
  }
}
