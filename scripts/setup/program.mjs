/** Runs TypeScript programs of the project. */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from './paths.mjs';

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
      resolve(code ?? 128 + (signal ? constants.signals[signal] : 0));
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
