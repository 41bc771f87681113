/**
 * Finds or builds the programs that are Go modules: those of the production Temporal server, and for the tests, Kustomize, which
 * renders the manifests, and actionlint, which checks the workflows of GitHub. The order: the variable of the program, the project's cache folder, `go install`.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, intoCache, isExecutable, run, type SetupOptions, setupOptions } from './cache.ts';
import { SetupError } from './process.mjs';

/** The same as in docker-compose.yml. */
export const SERVER_VERSION = '1.32.0';
/** The same as in docker-compose.yml. */
export const UI_VERSION = '2.55.0';
const KUSTOMIZE_VERSION = '5.7.1';
const ACTIONLINT_VERSION = '1.7.12';

interface GoModule {
  /** `module/path@version`. */
  source: string;
  /** The name of Go's binary. */
  program: string;
  /** How long a build takes. */
  minutes: string;
  flags?: readonly string[];
  /** Dependencies with newer versions than the module's own. */
  newer?: readonly string[];
}

interface Program extends GoModule {
  /** Names the program, if somebody built it. */
  variable: string;
  /** Its name in the cache, with its version. */
  file: string;
}

type Options = SetupOptions & { build?: typeof goInstall };

const SERVER: Program = {
  variable: 'TEMPORAL_SERVER_PATH',
  file: `temporal-server-${SERVER_VERSION}`,
  source: `go.temporal.io/server/cmd/server@v${SERVER_VERSION}`,
  program: 'server',
  minutes: '6 to 12',
};
const SQL_TOOL: Program = {
  variable: 'TEMPORAL_SQL_TOOL_PATH',
  file: `temporal-sql-tool-${SERVER_VERSION}`,
  source: `go.temporal.io/server/cmd/tools/sql@v${SERVER_VERSION}`,
  program: 'sql',
  minutes: '1 to 3',
};
const UI: Program = {
  variable: 'TEMPORAL_UI_SERVER_PATH',
  file: `temporal-ui-server-${UI_VERSION}`,
  source: `github.com/temporalio/ui-server/v2/cmd/server@v${UI_VERSION}`,
  program: 'server',
  minutes: '1 to 3',
};
const KUSTOMIZE: Program = {
  variable: 'KUSTOMIZE_PATH',
  file: `kustomize-${KUSTOMIZE_VERSION}`,
  source: `sigs.k8s.io/kustomize/kustomize/v5@v${KUSTOMIZE_VERSION}`,
  program: 'kustomize',
  minutes: '1 to 3',
};

const ACTIONLINT: Program = {
  variable: 'ACTIONLINT_PATH',
  file: `actionlint-${ACTIONLINT_VERSION}`,
  source: `github.com/rhysd/actionlint/cmd/actionlint@v${ACTIONLINT_VERSION}`,
  program: 'actionlint',
  minutes: '1 to 3',
};

/** Returns the server, and its database schema tool. Throws `SetupError`, which lists what an operator can do. */
export async function findTemporalServer(options?: Options): Promise<{ server: string; sqlTool: string }> {
  return { server: await findProgram(SERVER, options), sqlTool: await findProgram(SQL_TOOL, options) };
}

export function findTemporalUi(options?: Options): Promise<string> {
  return findProgram(UI, options);
}

export function findKustomize(): Promise<string> {
  return findProgram(KUSTOMIZE);
}

export function findActionlint(): Promise<string> {
  return findProgram(ACTIONLINT);
}

/** Without symbols, a program is a third smaller. */
const FLAGS = ['-ldflags=-s -w'];

async function findProgram(program: Program, { build = goInstall, ...given }: Options = {}): Promise<string> {
  const options = setupOptions(given);
  const { variable, file, source } = program;
  const named = options.env[variable];
  if (named) {
    if (isExecutable(named)) return named;
    throw new SetupError(`${variable}: ${named} is not a program`);
  }
  const target = join(cacheFolder(options.env), 'bin', file);
  const make = (folder: string) => build({ ...program, flags: FLAGS }, folder, options);
  if (await intoCache(target, () => isExecutable(target), options.say, make)) return target;
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
const BEAT_MS = 15_000;

/**
 * Builds a Go program from its module, on machines with Go and a reachable module proxy. Returns the path of the binary in
 * `folder`; undefined, after a message, if it can't be built.
 */
export async function goInstall(
  { source, program, minutes, flags = [], newer = [] }: GoModule,
  folder: string,
  { env, say }: Required<SetupOptions>,
): Promise<string | undefined> {
  if ((await run('go', ['version'], { timeoutMs: 30_000, env })).problem !== undefined) {
    say(`go is not installed, so ${source} cannot be built`);
    return undefined;
  }
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
  // With the caller's GOOS or GOARCH, Go would build for another platform and refuse GOBIN.
  const goEnv = { ...env, GOBIN: folder, GOOS: undefined, GOARCH: undefined };
  say(`go install ${source} (${minutes} minutes, once)`);
  const beat = setInterval(() => say('  still building'), BEAT_MS);
  try {
    for (const step of steps) {
      const { problem } = await run('go', step, { timeoutMs: BUILD_LIMIT_MS, env: goEnv, cwd });
      if (problem === undefined) continue;
      say(`  not possible: ${problem}`);
      return undefined;
    }
    return target;
  } finally {
    clearInterval(beat);
  }
}
