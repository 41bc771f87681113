/**
 * What every launcher needs: messages, other programs, paths. Messages go to standard error, because standard output belongs to
 * the program that runs after the setup, perhaps with `--json`. It imports only Node's own modules.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir, constants as osConstants } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** @typedef {(line: string) => void} Say */

/** @type {Say} */
export function say(line) {
  process.stderr.write(`[setup] ${line}\n`);
}

/** An error that a person can fix: only its message is printed. */
export class SetupError extends Error {
  /** @override */
  name = 'SetupError';
}

/**
 * Runs a program's main function and prints only the message of a `SetupError`.
 * @param {() => Promise<number>} main
 */
export async function runMain(main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (error instanceof SetupError) process.stderr.write(`\n${error.message}\n`);
    else console.error(error);
    process.exitCode = 1;
  }
}

/**
 * @typedef {object} Ended
 * @property {boolean} ok         exited by itself with code 0
 * @property {string} output      standard output
 * @property {string} errors      standard error
 * @property {string} reason      why it is not ok
 */

/**
 * @typedef {object} RunOptions
 * @property {number} timeoutMs
 * @property {Readonly<Record<string, string | undefined>>} [env]
 * @property {string} [cwd]
 * @property {(seconds: number) => void} [onBeat]   called every 15 s while it runs
 * @property {boolean} [show]                       sends its output to our standard error instead
 */

/** Signals that end this process also end the child. */
const FATAL_SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * Never throws: a program that cannot be started has failed.
 * @param {string} command
 * @param {string[]} args
 * @param {RunOptions} options
 * @returns {Promise<Ended>}
 */
export function run(command, args, { timeoutMs, env = process.env, cwd, onBeat, show = false }) {
  return new Promise((resolve) => {
    const started = Date.now();
    const child = spawn(command, args, {
      env,
      stdio: ['ignore', show ? 2 : 'pipe', show ? 2 : 'pipe'],
      ...(cwd && { cwd }),
    });
    let output = '';
    let errors = '';
    let reason = '';
    child.stdout?.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      errors += chunk;
    });
    const limit = setTimeout(() => {
      reason = `did not finish within ${Math.round(timeoutMs / 1000)} s`;
      child.kill('SIGKILL');
    }, timeoutMs);
    const beat = onBeat && setInterval(() => onBeat(Math.round((Date.now() - started) / 1000)), 15_000);
    /** @param {NodeJS.Signals} signal */
    const pass = (signal) => {
      child.kill(signal);
      process.exitCode = 1;
    };
    for (const signal of FATAL_SIGNALS) process.on(signal, pass);
    /** @param {boolean} ok */
    const end = (ok) => {
      clearTimeout(limit);
      clearInterval(beat);
      for (const signal of FATAL_SIGNALS) process.off(signal, pass);
      resolve({ ok: ok && reason === '', output, errors, reason });
    };
    child.on('error', (error) => {
      reason = error.message;
      end(false);
    });
    child.on('close', (code, signal) => {
      if (reason === '' && code !== 0) reason = signal ? `ended by ${signal}` : `ended with code ${code}`;
      end(code === 0);
    });
  });
}

/**
 * The last lines of a program's output, for a message.
 * @param {Ended} ended
 * @param {number} [lines]
 */
export function lastLines({ output, errors }, lines = 5) {
  const text = errors.trim() || output.trim();
  return text.split('\n').slice(-lines).join('\n');
}

/**
 * Runs a command with our standard streams, forwards signals to it, and returns its exit code.
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<number>}
 */
export function runAttached(command, args, env = process.env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', env });
    /** @param {NodeJS.Signals} signal */
    const pass = (signal) => {
      // The terminal sends Ctrl-C to the program too. A second one would force it to stop.
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    };
    const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);
    for (const signal of signals) process.on(signal, pass);
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      for (const name of signals) process.off(name, pass);
      resolve(code ?? 128 + (signal ? osConstants.signals[signal] : 0));
    });
  });
}

/**
 * @param {string} program   relative to the project's root
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
export function runProgram(program, args, env) {
  // By its full URL, because the working directory may be any folder.
  const tsx = pathToFileURL(createRequire(join(projectRoot, 'package.json')).resolve('tsx')).href;
  return runAttached(process.execPath, ['--import', tsx, join(projectRoot, program), ...args], env);
}

/** @typedef {Readonly<Record<string, string | undefined>>} Env */

export const projectRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** TypeScript 7. `node_modules/.bin/tsc` may be the compiler of another package, which takes three times as long. */
export const tsc = join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc');

/**
 * @param {Env} env
 * @returns {string}
 */
export function cacheFolder(env) {
  const own = env['DURABLE_PAYOUTS_CACHE'];
  if (own) return resolve(own);
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'durable-payouts');
}

/**
 * Every executable of that name on PATH, in the order of PATH.
 * @param {string} name
 * @param {Env} env
 * @returns {string[]}
 */
export function allOnPath(name, env) {
  return (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .filter(isExecutable);
}

/** @param {string} path */
export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
