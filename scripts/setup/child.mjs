/** Runs other programs to their end, with a time limit and progress messages. */
import { spawn } from 'node:child_process';

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
