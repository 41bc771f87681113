/** Finds or builds a program that is a Go module. The order: its variable, the project's cache folder, `go install`. */
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from './console.mjs';
import { withLock } from './lock.mjs';
import { cacheFolder, isExecutable } from './paths.mjs';

/** Without symbols, a program is a third smaller. */
const FLAGS = ['-ldflags=-s -w'];

/**
 * @typedef {object} Program
 * @property {string} variable   names the program, if somebody built it
 * @property {string} file       its name in the cache, with its version
 * @property {string} source     `module/path@version`
 * @property {string} program    the name of Go's binary
 * @property {string} minutes    how long a build takes
 *
 * @typedef {import('./paths.mjs').Env} Env
 * @typedef {import('./console.mjs').Say} Say
 * @typedef {typeof import('./go-install.mjs').goInstall} Build
 */

/**
 * @param {Program} program
 * @param {Env} env
 * @param {Say} say
 * @param {Build} build
 */
export async function findProgram(program, env, say, build) {
  const named = env[program.variable];
  if (named) {
    if (isExecutable(named)) return named;
    throw new SetupError(`${program.variable}: ${named} is not a program`);
  }
  const bin = join(cacheFolder(env), 'bin');
  const target = join(bin, program.file);
  if (isExecutable(target)) return target;
  const onWait = () => say(`another command is building ${program.file}; waiting for it`);
  return withLock(join(cacheFolder(env), `${program.file}.lock`), { onWait }, async () => {
    if (isExecutable(target)) return target;
    mkdirSync(bin, { recursive: true });
    // On the same file system as the target, so that the move is atomic.
    const folder = mkdtempSync(join(bin, '.new-'));
    try {
      const built = await build({ ...program, flags: FLAGS }, folder, { env, say });
      if (built === undefined) throw new SetupError(remedies(program, target));
      renameSync(built, target);
      return target;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

/**
 * @param {Program} program
 * @param {string} target
 */
function remedies({ variable, source }, target) {
  return [
    `${source} was not found and could not be built. Any one of these helps:`,
    `  - set ${variable} to the binary`,
    `  - put the binary at ${target}`,
    '  - install Go, with a reachable module proxy, and run this command again',
  ].join('\n');
}
