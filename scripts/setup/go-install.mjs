/** Builds a Go program from its module, for machines that have Go and a module proxy in reach. */
import { join } from 'node:path';
import { lastLines, run } from './child.mjs';

const BUILD_LIMIT_MS = 20 * 60_000;

/**
 * @param {{ source: string, program: string, minutes: string, flags?: string[] }} what
 *   `source`: `module/path@version`; `program`: the name under which Go leaves it
 * @param {string} folder
 * @param {{ env: import('./paths.mjs').Env, say: import('./console.mjs').Say }} options
 * @returns {Promise<string | undefined>} where it lies; nothing, with the reason said, if it cannot be built
 */
export async function goInstall({ source, program, minutes, flags = [] }, folder, { env, say }) {
  if (!(await run('go', ['version'], { timeoutMs: 30_000, env })).ok) {
    say(`go is not installed, so ${source} cannot be built`);
    return undefined;
  }
  say(`go install ${source} (${minutes} minutes, once)`);
  const ended = await run('go', ['install', ...flags, source], {
    timeoutMs: BUILD_LIMIT_MS,
    // A GOOS or GOARCH of the caller's would build for another machine, and refuses GOBIN.
    env: { ...env, GOBIN: folder, GOOS: undefined, GOARCH: undefined },
    onBeat: (seconds) => say(`  go install: ${seconds} s`),
  });
  if (ended.ok) return join(folder, program);
  say(`  not possible: ${ended.reason}\n${lastLines(ended)}`);
  return undefined;
}
