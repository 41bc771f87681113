/**
 * Finds the Temporal CLI, which contains the dev server, or installs it. The order is part of the public contract:
 * TEMPORAL_CLI_PATH, PATH, the project's cache folder, the SDK's own download, `go install`.
 */
import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import {
  allOnPath,
  cacheFolder,
  type Env,
  intoCache,
  isExecutable,
  run,
  type SetupOptions,
  setupOptions,
} from './cache.ts';
import { goInstall } from './go-programs.ts';
import { SetupError } from './process.mjs';

/** The newest tag that `go install` accepts: later tags have replace directives. */
const GO_PACKAGE = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';
/**
 * The CLI's own SQLite, 1.34.1, stays interrupted forever after a request is canceled at the wrong moment: the dev server
 * then finds no namespace (temporalio/temporal#9198).
 */
const NEWER_SQLITE = 'modernc.org/sqlite@v1.44.3';
/** The oldest server with task priorities is 1.28. */
const OLDEST_MINOR = 28;
const DOWNLOAD_LIMIT_MS = 90_000;
const FILE = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

/** Puts the binary under `folder` and returns its path, or says why it can't and returns undefined. */
type Source = (folder: string, options: Required<SetupOptions>) => Promise<string | undefined>;

/** Returns the path of a working CLI. Throws `SetupError`, which lists what an operator can do. */
export async function findTemporalCli({
  sources = [download, build],
  ...given
}: SetupOptions & { sources?: readonly Source[] } = {}): Promise<string> {
  const options = setupOptions(given);
  const { env, say } = options;
  const target = join(cacheFolder(env), 'bin', FILE);
  const named = env['TEMPORAL_CLI_PATH'];
  const candidates = [
    ...(named ? [{ path: named, from: 'TEMPORAL_CLI_PATH' }] : []),
    ...allOnPath(FILE, env).map((path) => ({ path, from: 'PATH' })),
    ...(isExecutable(target) ? [{ path: target, from: 'the cache folder' }] : []),
  ];
  for (const { path, from } of candidates) {
    const problem = await problemOf(path, env);
    if (problem === undefined) return path;
    say(`skipping ${shown(path)} (from ${from}): ${problem}`);
  }
  const isReady = async () => (await problemOf(target, env)) === undefined;
  const made = await intoCache(target, isReady, say, async (folder) => {
    say('no Temporal CLI is installed; getting one, once');
    for (const source of sources) {
      const path = await source(folder, options);
      const problem = path && (await problemOf(path, env));
      if (problem !== undefined) say(`the result cannot be used: ${problem}`);
      else if (path !== undefined) return path;
    }
    return undefined;
  });
  if (!made) throw new SetupError(remedies(target));
  say(`the Temporal CLI is at ${shown(target)}`);
  return target;
}

/** Why the program can't be used; undefined if it can. */
async function problemOf(path: string, env: Env): Promise<string | undefined> {
  if (!isExecutable(path)) return 'no such program';
  const { output, problem } = await run(path, ['--version'], { timeoutMs: 30_000, env });
  if (problem !== undefined) return `--version ${problem}`;
  const [, major, minor] = /^temporal version .*Server (\d+)\.(\d+)/m.exec(output) ?? [];
  if (major === undefined) return 'it is not the Temporal CLI';
  const isNew = Number(major) > 1 || (major === '1' && Number(minor) >= OLDEST_MINOR);
  return isNew ? undefined : `its server ${major}.${minor} is older than 1.${OLDEST_MINOR}`;
}

async function download(folder: string, { env, say }: Required<SetupOptions>): Promise<string | undefined> {
  say(`asking the Temporal SDK to download it (at most ${DOWNLOAD_LIMIT_MS / 1_000} s)`);
  const program = join(import.meta.dirname, 'sdk-download.mjs');
  const { problem } = await run(process.execPath, [program, folder], { timeoutMs: DOWNLOAD_LIMIT_MS, env });
  if (problem === undefined)
    return readdirSync(folder)
      .map((file) => join(folder, file))
      .find(isExecutable);
  say(`  not possible: ${problem}`);
  return undefined;
}

function build(folder: string, options: Required<SetupOptions>): Promise<string | undefined> {
  const what = { source: GO_PACKAGE, program: FILE, minutes: '3 to 6', newer: [NEWER_SQLITE] };
  return goInstall(what, folder, options);
}

function remedies(target: string): string {
  return [
    'No Temporal CLI was found, and none could be installed. Any one of these helps:',
    '  - install it (https://docs.temporal.io/cli) so that `temporal` is on PATH',
    '  - set TEMPORAL_CLI_PATH to the binary',
    `  - put the binary at ${shown(target)}`,
    '  - install Go, with a reachable module proxy, and run this command again',
    '  - set TEMPORAL_ADDRESS (host:port) to use a running Temporal server',
  ].join('\n');
}

function shown(path: string): string {
  const inHome = relative(homedir(), path);
  return inHome.startsWith('..') ? path : join('~', inHome);
}
