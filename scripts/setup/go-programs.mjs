/**
 * Finds or builds the programs that are Go modules: those of the production Temporal server, and Kustomize, which renders the
 * manifests in the tests. The order: the variable of the program, the project's cache folder, `go install`.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { intoCache } from './lock.mjs';
import { cacheFolder, isExecutable, lastLines, run, SetupError, say as sayToStderr } from './process.mjs';

/** The same as in docker-compose.yml. */
export const SERVER_VERSION = '1.32.0';
/** The same as in docker-compose.yml. */
export const UI_VERSION = '2.55.0';
const KUSTOMIZE_VERSION = '5.7.1';

/**
 * @typedef {object} Program
 * @property {string} variable   names the program, if somebody built it
 * @property {string} file       its name in the cache, with its version
 * @property {string} source     `module/path@version`
 * @property {string} program    the name of Go's binary
 * @property {string} minutes    how long a build takes
 *
 * @typedef {import('./process.mjs').Env} Env
 * @typedef {import('./process.mjs').Say} Say
 * @typedef {{ env?: Env, say?: Say, build?: typeof goInstall }} Options
 */

/** @satisfies {Record<string, Program>} */
const PROGRAMS = {
  server: {
    variable: 'TEMPORAL_SERVER_PATH',
    file: `temporal-server-${SERVER_VERSION}`,
    source: `go.temporal.io/server/cmd/server@v${SERVER_VERSION}`,
    program: 'server',
    minutes: '6 to 12',
  },
  sqlTool: {
    variable: 'TEMPORAL_SQL_TOOL_PATH',
    file: `temporal-sql-tool-${SERVER_VERSION}`,
    source: `go.temporal.io/server/cmd/tools/sql@v${SERVER_VERSION}`,
    program: 'sql',
    minutes: '1 to 3',
  },
  ui: {
    variable: 'TEMPORAL_UI_SERVER_PATH',
    file: `temporal-ui-server-${UI_VERSION}`,
    source: `github.com/temporalio/ui-server/v2/cmd/server@v${UI_VERSION}`,
    program: 'server',
    minutes: '1 to 3',
  },
  kustomize: {
    variable: 'KUSTOMIZE_PATH',
    file: `kustomize-${KUSTOMIZE_VERSION}`,
    source: `sigs.k8s.io/kustomize/kustomize/v5@v${KUSTOMIZE_VERSION}`,
    program: 'kustomize',
    minutes: '1 to 3',
  },
};

/**
 * @param {Options} [options]
 * @returns {Promise<{ server: string, sqlTool: string }>} the server, and its database schema tool
 * @throws {SetupError} that lists what a person can do
 */
export async function findTemporalServer(options) {
  return {
    server: await findProgram(PROGRAMS.server, options),
    sqlTool: await findProgram(PROGRAMS.sqlTool, options),
  };
}

/** @param {Options} [options] */
export function findTemporalUi(options) {
  return findProgram(PROGRAMS.ui, options);
}

export function findKustomize() {
  return findProgram(PROGRAMS.kustomize);
}

/** Without symbols, a program is a third smaller. */
const FLAGS = ['-ldflags=-s -w'];

/**
 * @param {Program} program
 * @param {Options} [options]
 * @returns {Promise<string>} the path of the program
 */
async function findProgram(program, { env = process.env, say = sayToStderr, build = goInstall } = {}) {
  const { variable, file, source } = program;
  const named = env[variable];
  if (named) {
    if (isExecutable(named)) return named;
    throw new SetupError(`${variable}: ${named} is not a program`);
  }
  const target = join(cacheFolder(env), 'bin', file);
  const isReady = async () => isExecutable(target);
  const made = await intoCache(target, { isReady, say }, (folder) =>
    build({ ...program, flags: FLAGS }, folder, { env, say }),
  );
  if (made) return target;
  throw new SetupError(
    [
      `${source} was not found and could not be built. Any one of these helps:`,
      `  - set ${variable} to the binary`,
      `  - put the binary at ${target}`,
      '  - install Go, with a reachable module proxy, and run this command again',
    ].join('\n'),
  );
}

/** Stops only a build that hangs: on a busy machine, an honest one has taken more than 20 minutes. */
const BUILD_LIMIT_MS = 60 * 60_000;

/**
 * Builds a Go program from its module, on machines with Go and a reachable module proxy.
 * @param {{ source: string, program: string, minutes: string, flags?: string[], newer?: readonly string[] }} what
 *   `source`: `module/path@version`; `program`: the name of Go's binary; `newer`: dependencies with newer versions than
 *   the module's own
 * @param {string} folder
 * @param {{ env: Env, say: Say }} options
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
