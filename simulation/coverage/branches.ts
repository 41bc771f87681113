/** Which lines and branches of the workflows the worlds of a campaign have run, by V8's own counters. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const WHERE = ['src/workflows/**', 'src/domain/**'];

/** With this, a Node process writes its counters to the folder when it ends. */
export function countingInto(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, NODE_V8_COVERAGE: folder };
}

/** Prints a table of files: how much of each was run, and the lines that never were. */
export function printBranches(folder: string): void {
  const c8 = createRequire(import.meta.url).resolve('c8/bin/c8.js');
  // The processes ran a bundle: its source map says which files that was.
  const args = ['report', '--temp-directory', folder, '--exclude-after-remap', '--src', ROOT];
  const only = WHERE.flatMap((pattern) => ['--include', pattern]);
  spawnSync(process.execPath, [c8, ...args, ...only, '--reporter', 'text'], { cwd: ROOT, stdio: 'inherit' });
}
