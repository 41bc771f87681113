/** Which lines and branches of the workflows a campaign executed, counted by V8. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const WHERE = ['src/workflows/**', 'src/domain/**'];

/** An environment in which a Node process writes its coverage counters to `folder` when it exits. */
export function countingInto(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, NODE_V8_COVERAGE: folder };
}

/** Prints a table of files: how much of each file ran, and the lines that never ran. */
export function printBranches(folder: string): void {
  const c8 = createRequire(import.meta.url).resolve('c8/bin/c8.js');
  // The processes run a bundle. Its source map names the original files.
  const args = ['report', '--temp-directory', folder, '--exclude-after-remap', '--src', ROOT];
  const only = WHERE.flatMap((pattern) => ['--include', pattern]);
  spawnSync(process.execPath, [c8, ...args, ...only, '--reporter', 'text'], { cwd: ROOT, stdio: 'inherit' });
}
