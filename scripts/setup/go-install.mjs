/** Builds a Go program from its module, on machines with Go and a reachable module proxy. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines, run } from './child.mjs';

/** Stops only a build that hangs: on a busy machine, an honest one has taken more than 20 minutes. */
const BUILD_LIMIT_MS = 60 * 60_000;

/**
 * @param {{ source: string, program: string, minutes: string, flags?: string[], newer?: readonly string[] }} what
 *   `source`: `module/path@version`; `program`: the name of Go's binary; `newer`: dependencies with newer versions than
 *   the module's own
 * @param {string} folder
 * @param {{ env: import('./paths.mjs').Env, say: import('./console.mjs').Say }} options
 * @returns {Promise<string | undefined>} the path of the binary; undefined, after a message, if it cannot be built
 */
export async function goInstall({ source, program, minutes, flags = [], newer = [] }, folder, { env, say }) {
  if (!(await run('go', ['version'], { timeoutMs: 30_000, env })).ok) {
    say(`go is not installed, so ${source} cannot be built`);
    return undefined;
  }
  say(`go install ${source} (${minutes} minutes, once)`);
  const target = join(folder, program);
  // `go install` uses only the module's own dependencies.
  const steps =
    newer.length === 0
      ? [['install', ...flags, source]]
      : [
          ['mod', 'init', 'setup'],
          ['get', source, ...newer],
          ['build', ...flags, '-o', target, source.slice(0, source.indexOf('@'))],
        ];
  const cwd = join(folder, 'module');
  mkdirSync(cwd);
  for (const step of steps) {
    const ended = await run('go', step, {
      timeoutMs: BUILD_LIMIT_MS,
      // With the caller's GOOS or GOARCH, Go would build for another platform and refuse GOBIN.
      env: { ...env, GOBIN: folder, GOOS: undefined, GOARCH: undefined },
      cwd,
      onBeat: (seconds) => say(`  go ${step[0]}: ${seconds} s`),
    });
    if (ended.ok) continue;
    say(`  not possible: ${ended.reason}\n${lastLines(ended)}`);
    return undefined;
  }
  return target;
}
