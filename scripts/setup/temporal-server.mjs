/**
 * Finds or builds the programs of the production Temporal server: the server, its database schema tool, and the Temporal
 * UI. The order: TEMPORAL_SERVER_PATH, TEMPORAL_SQL_TOOL_PATH and TEMPORAL_UI_SERVER_PATH, the project's cache folder,
 * `go install`.
 */
import { say as sayToStderr } from './console.mjs';
import { goInstall } from './go-install.mjs';
import { findProgram } from './go-program.mjs';

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
/**
 * @typedef {import('./go-program.mjs').Program} Program
 * @typedef {import('./paths.mjs').Env} Env
 * @typedef {import('./console.mjs').Say} Say
 * @typedef {import('./go-program.mjs').Build} Build
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
