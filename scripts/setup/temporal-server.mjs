/**
 * Finds or builds the programs of the production Temporal server: the server, its database schema tool, and the Temporal
 * UI. The order: TEMPORAL_SERVER_PATH, TEMPORAL_SQL_TOOL_PATH and TEMPORAL_UI_SERVER_PATH, the project's cache folder,
 * `go install`.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError, say as sayToStderr } from './console.mjs';
import { goInstall } from './go-install.mjs';
import { withLock } from './lock.mjs';
import { cacheFolder, isExecutable } from './paths.mjs';

/** The same as in docker-compose.yml. */
export const SERVER_VERSION = '1.32.0';
/** The same as in docker-compose.yml. */
export const UI_VERSION = '2.55.0';

const MODULE = 'go.temporal.io/server/cmd';
const SERVER = {
  variable: 'TEMPORAL_SERVER_PATH',
  file: `temporal-server-${SERVER_VERSION}`,
  source: `${MODULE}/server@v${SERVER_VERSION}`,
  program: 'server',
  minutes: '6 to 12',
};
const SQL_TOOL = {
  variable: 'TEMPORAL_SQL_TOOL_PATH',
  file: `temporal-sql-tool-${SERVER_VERSION}`,
  source: `${MODULE}/tools/sql@v${SERVER_VERSION}`,
  program: 'sql',
  minutes: '1 to 3',
};
const UI_SERVER = {
  variable: 'TEMPORAL_UI_SERVER_PATH',
  file: `temporal-ui-server-${UI_VERSION}`,
  source: `github.com/temporalio/ui-server/v2/cmd/server@v${UI_VERSION}`,
  program: 'server',
  minutes: '1 to 3',
};
/** Without symbols, the server is a third smaller. */
const FLAGS = ['-ldflags=-s -w'];

/**
 * @typedef {typeof SERVER} Program
 * @typedef {import('./paths.mjs').Env} Env
 * @typedef {import('./console.mjs').Say} Say
 * @typedef {typeof goInstall} Build
 */

/**
 * @param {{ env?: Env, say?: Say, build?: Build }} [options]
 * @returns {Promise<{ server: string, sqlTool: string }>} the paths of both programs
 * @throws {SetupError} that lists what a person can do
 */
export async function findTemporalServer({ env = process.env, say = sayToStderr, build = goInstall } = {}) {
  /** @param {Program} program */
  const find = (program) => findProgram(program, env, say, build);
  return { server: await find(SERVER), sqlTool: await find(SQL_TOOL) };
}

/**
 * @param {{ env?: Env, say?: Say, build?: Build }} [options]
 * @returns {Promise<string>} the path of the program that serves the Temporal UI
 * @throws {SetupError} that lists what a person can do
 */
export function findTemporalUi({ env = process.env, say = sayToStderr, build = goInstall } = {}) {
  return findProgram(UI_SERVER, env, say, build);
}

/**
 * @param {Program} program
 * @param {Env} env
 * @param {Say} say
 * @param {Build} build
 */
async function findProgram(program, env, say, build) {
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
