/**
 * Finds the Temporal CLI, which contains the dev server, or installs it. The order is part of the public contract:
 * TEMPORAL_CLI_PATH, PATH, the project's cache folder, the SDK's own download, `go install`.
 */
import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { goInstall } from './go-programs.mjs';
import { intoCache } from './lock.mjs';
import {
  allOnPath,
  cacheFolder,
  isExecutable,
  lastLines,
  run,
  SetupError,
  say as sayToStderr,
} from './process.mjs';

/** The newest tag that `go install` accepts: later tags have replace directives. */
export const GO_PACKAGE = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';
/**
 * The CLI's own SQLite, 1.34.1, stays interrupted forever after a request is canceled at the wrong moment: the dev server
 * then finds no namespace (temporalio/temporal#9198).
 */
const NEWER_SQLITE = 'modernc.org/sqlite@v1.44.3';
/** The oldest server with task priorities. */
const OLDEST_SERVER = [1, 28];
const DOWNLOAD_LIMIT_MS = 90_000;
const FILE = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

/**
 * @typedef {import('./process.mjs').Say} Say
 * @typedef {import('./process.mjs').Env} Env
 * @typedef {(folder: string, options: { env: Env, say: Say }) => Promise<string | undefined>} Source
 *   puts the binary under `folder` and returns its path, or says why not and returns undefined
 */

/**
 * @param {{ env?: Env, say?: Say, sources?: Source[] }} [options]
 * @returns {Promise<string>} the path of a working CLI
 * @throws {SetupError} that lists what a person can do
 */
export async function findTemporalCli(options = {}) {
  const { env = process.env, say = sayToStderr, sources = [download, build] } = options;
  const ready = await findInstalled(env, say);
  if (ready !== undefined) return ready;
  const target = join(cacheFolder(env), 'bin', FILE);
  const isReady = async () => (await problemOf(target, env)) === undefined;
  const made = await intoCache(target, { isReady, say }, async (folder) => {
    say('no Temporal CLI is installed; getting one, once');
    for (const source of sources) {
      const path = await source(folder, { env, say });
      const problem = path && (await problemOf(path, env));
      if (problem !== undefined) say(`the result cannot be used: ${problem}`);
      else if (path !== undefined) return path;
    }
    return undefined;
  });
  if (!made) throw new SetupError(remedies(env));
  say(`the Temporal CLI is at ${shown(target)}`);
  return target;
}

/**
 * @param {Env} env
 * @param {Say} say
 */
async function findInstalled(env, say) {
  const named = env['TEMPORAL_CLI_PATH'];
  const cached = join(cacheFolder(env), 'bin', FILE);
  const candidates = [
    ...(named ? [{ path: named, from: 'TEMPORAL_CLI_PATH' }] : []),
    ...allOnPath(FILE, env).map((path) => ({ path, from: 'PATH' })),
    ...(isExecutable(cached) ? [{ path: cached, from: 'the cache folder' }] : []),
  ];
  for (const { path, from } of candidates) {
    const problem = await problemOf(path, env);
    if (problem === undefined) return path;
    say(`skipping ${shown(path)} (from ${from}): ${problem}`);
  }
  return undefined;
}

/**
 * Why a candidate cannot be used; undefined if it can.
 * @param {string} path
 * @param {Env} env
 * @returns {Promise<string | undefined>}
 */
async function problemOf(path, env) {
  if (!isExecutable(path)) return 'no such program';
  const ended = await run(path, ['--version'], { timeoutMs: 30_000, env });
  if (!ended.ok) return `--version ${ended.reason}`;
  const [, major, minor] = /^temporal version .*Server (\d+)\.(\d+)/m.exec(ended.output) ?? [];
  if (major === undefined || minor === undefined) return 'it is not the Temporal CLI';
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_SERVER;
  const isNew =
    Number(major) > oldestMajor || (Number(major) === oldestMajor && Number(minor) >= oldestMinor);
  return isNew ? undefined : `its server ${major}.${minor} is older than ${OLDEST_SERVER.join('.')}`;
}

/** @type {Source} */
async function download(folder, { env, say }) {
  say(`asking the Temporal SDK to download it (at most ${DOWNLOAD_LIMIT_MS / 1000} s)`);
  const program = fileURLToPath(new URL('sdk-download.mjs', import.meta.url));
  const ended = await run(process.execPath, [program, folder], { timeoutMs: DOWNLOAD_LIMIT_MS, env });
  if (!ended.ok) {
    say(`  not possible: ${lastLines(ended, 1) || ended.reason}`);
    return undefined;
  }
  const name = readdirSync(folder).find((file) => isExecutable(join(folder, file)));
  return name && join(folder, name);
}

/** @type {Source} */
async function build(folder, options) {
  const what = { source: GO_PACKAGE, program: FILE, minutes: '3 to 6', newer: [NEWER_SQLITE] };
  return goInstall(what, folder, options);
}

/** @param {Env} env */
function remedies(env) {
  return [
    'No Temporal CLI was found, and none could be installed. Any one of these helps:',
    '  - install it (https://docs.temporal.io/cli) so that `temporal` is on PATH',
    '  - set TEMPORAL_CLI_PATH to the binary',
    `  - put the binary at ${shown(join(cacheFolder(env), 'bin', FILE))}`,
    '  - install Go, with a reachable module proxy, and run this command again',
    '  - set TEMPORAL_ADDRESS (host:port) to use a running Temporal server',
  ].join('\n');
}

/** @param {string} path */
function shown(path) {
  const inHome = relative(homedir(), path);
  return inHome.startsWith('..') ? path : join('~', inHome);
}
