/** A checkout of the released version, beside this one. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The commit that cut 1.0.0, because a clone may have no tags. */
const COMMIT = 'd618a652b15c73cccb4b257475e12d7605d02a41';
const ROOT = join(import.meta.dirname, '../..');
const MODULES = 'node_modules';

interface Checkout {
  folder: string;
  /** The workflows of the release, bundled once for all its workers. */
  workflowBundle: string;
}

let checkout: Checkout | undefined;

/** Undefined if this is no clone, or a shallow one. The folder is deleted when this process exits. */
export function releasedCheckout(): Checkout | undefined {
  if (checkout !== undefined || git('rev-parse', '--verify', '--quiet', `${COMMIT}^{tree}`) === '')
    return checkout;
  const folder = mkdtempSync(join(tmpdir(), 'payouts-released-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const archive = execFileSync('git', ['archive', COMMIT], { cwd: ROOT, maxBuffer: 1 << 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  installPackages(folder);
  const workflowBundle = join(folder, 'bundle.js');
  const program = ['--import', 'tsx', 'src/workers/bundle-workflows.ts', workflowBundle];
  execFileSync(process.execPath, program, { cwd: folder, stdio: 'pipe' });
  checkout = { folder, workflowBundle };
  return checkout;
}

/** Our packages if the release has the same. The development dependencies run its sources. */
function installPackages(folder: string): void {
  const [released, ours] = [folder, ROOT].map((root) =>
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  );
  if (released === ours && existsSync(join(ROOT, MODULES))) {
    symlinkSync(join(ROOT, MODULES), join(folder, MODULES));
    return;
  }
  execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: folder, stdio: 'pipe' });
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
