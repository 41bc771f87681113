/** Runs a TypeScript program of the project as if it had been started directly. */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from './paths.mjs';

/**
 * Answers the exit code of a command that has our standard streams and gets our signals.
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<number>}
 */
export function attached(command, args, env = process.env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', env });
    /** @param {NodeJS.Signals} signal */
    const pass = (signal) => {
      // A terminal's Ctrl-C reaches the program too, and a second one would mean "at once".
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

/**
 * @param {string} program   from the project's root
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
export function runProgram(program, args, env) {
  // By its full address: the caller may stand in any folder.
  const tsx = pathToFileURL(createRequire(join(projectRoot, 'package.json')).resolve('tsx')).href;
  return attached(process.execPath, ['--import', tsx, join(projectRoot, program), ...args], env);
}
