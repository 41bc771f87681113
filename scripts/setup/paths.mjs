/** Paths: the project, and the cache folder that all its clones share. */
import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

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
