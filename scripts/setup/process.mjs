/**
 * What a launcher needs before the npm packages are installed. Messages go to standard error, because standard output belongs
 * to the program that runs after the setup, perhaps with `--json`.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** @param {string} line */
export function say(line) {
  process.stderr.write(`[setup] ${line}\n`);
}

/** An error that an operator can fix: only its message is printed. */
export class SetupError extends Error {
  /** @override */
  name = 'SetupError';
}

/**
 * Runs a program's main function and prints only the message of a `SetupError`.
 * @param {() => Promise<number>} main   returns the exit code
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
 * Runs a command with our standard streams, forwards signals to it, and returns its exit code.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} [options]
 * @returns {Promise<number>}
 */
export function runAttached(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', ...options });
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
      resolve(code ?? 128 + (signal ? constants.signals[signal] : 0));
    });
  });
}
