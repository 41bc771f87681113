/** Runs the programs that the setup needs, and keeps what it gets or builds in the project's cache folder. */
import { execFile } from 'node:child_process';
import { accessSync, constants, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { withLock } from './lock.mjs';
import { projectRoot, SetupError, say as sayToStderr } from './process.mjs';

export type Env = Readonly<Record<string, string | undefined>>;

/** Where a search looks, and where its messages go. */
export interface SetupOptions {
  env?: Env;
  say?: (line: string) => void;
}

export function setupOptions({ env = process.env, say = sayToStderr }: SetupOptions): Required<SetupOptions> {
  return { env, say };
}

/** TypeScript 7. `node_modules/.bin/tsc` may be the compiler of another package, which takes three times as long. */
export const tsc = join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc');

interface RunOptions {
  timeoutMs: number;
  env?: Env;
  cwd?: string;
}

interface Ended {
  /** Standard output. */
  output: string;
  /** Why it failed, with the last lines of its output; undefined if it exited by itself with code 0. */
  problem?: string;
}

const failure = z.object({
  message: z.string(),
  code: z.union([z.string(), z.number()]).nullish(),
  killed: z.boolean().optional(),
  signal: z.string().nullish(),
  stdout: z.string().default(''),
  stderr: z.string().default(''),
});
const LAST_LINES = 20;

/** Never rejects: a program that can't be started has failed. */
export async function run(
  command: string,
  args: readonly string[],
  { timeoutMs, env = process.env, cwd }: RunOptions,
): Promise<Ended> {
  const options = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 2 ** 26, env, cwd } as const;
  try {
    const { stdout } = await promisify(execFile)(command, args, options);
    return { output: stdout };
  } catch (error) {
    const { message, code, killed, signal, stdout, stderr } = failure.parse(error);
    const why = killed
      ? `did not finish within ${Math.round(timeoutMs / 1_000)} s`
      : signal
        ? `ended by ${signal}`
        : typeof code === 'number'
          ? `ended with code ${code}`
          : message;
    const last = (stderr.trim() || stdout.trim()).split('\n').slice(-LAST_LINES).join('\n');
    return { output: stdout, problem: last === '' ? why : `${why}\n${last}` };
  }
}

/** The standard output. Throws `SetupError` with the reason and the last lines of the output. */
export async function runOrThrow(
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<string> {
  const { output, problem } = await run(command, args, options);
  if (problem === undefined) return output;
  throw new SetupError(`${[command, ...args].join(' ')}: ${problem}`);
}

export function cacheFolder(env: Env): string {
  const own = env['DURABLE_PAYOUTS_CACHE'];
  return own ? resolve(own) : join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'durable-payouts');
}

/** Every executable of that name on PATH, in the order of PATH. */
export function allOnPath(name: string, env: Env): string[] {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).filter(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Puts a file or a folder into the cache, once, even if several commands want it at the same time. `make` makes it in a
 * folder of its own and returns its path, or undefined, after a message, if it can't. Returns whether `target` is ready.
 */
export async function intoCache(
  target: string,
  isReady: () => boolean | Promise<boolean>,
  say: (line: string) => void,
  make: (folder: string) => Promise<string | undefined>,
): Promise<boolean> {
  if (await isReady()) return true;
  const onWait = () => say(`another command is getting ${basename(target)}; waiting for it`);
  return withLock(`${target}.lock`, { onWait }, async () => {
    if (await isReady()) return true;
    // On the same file system as the target, so that the move is atomic.
    const folder = mkdtempSync(join(dirname(target), '.new-'));
    try {
      const made = await make(folder);
      if (made === undefined) return false;
      rmSync(target, { recursive: true, force: true });
      renameSync(made, target);
      return await isReady();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
