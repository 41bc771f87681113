/**
 * Finds Prometheus and promtool for the tests of the alerts, or unpacks them from Debian's package `prometheus`, without
 * installing it.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { intoCache } from './lock.mjs';
import { allOnPath, cacheFolder, isExecutable, lastLines, run, say as sayToStderr } from './process.mjs';

/** @typedef {{ prometheus: string, promtool: string }} Prometheus */

const FETCH_LIMIT_MS = 5 * 60_000;

/**
 * Undefined if there is none and this is not a Debian with a package list: its tests are skipped then.
 * @param {{ env?: import('./process.mjs').Env, say?: import('./process.mjs').Say }} [options]
 * @returns {Promise<Prometheus | undefined>}
 */
export async function findPrometheus({ env = process.env, say = sayToStderr } = {}) {
  const [promtool] = allOnPath('promtool', env);
  const [prometheus] = allOnPath('prometheus', env);
  if (promtool !== undefined && prometheus !== undefined) return { prometheus, promtool };
  const folder = join(cacheFolder(env), 'prometheus');
  const bin = join(folder, 'usr', 'bin');
  const unpacked = { prometheus: join(bin, 'prometheus'), promtool: join(bin, 'promtool') };
  const isReady = async () => isExecutable(unpacked.promtool);
  if (await intoCache(folder, { isReady, say }, (work) => fromDebian(work, env, say))) return unpacked;
  say('no Prometheus. Install it so that promtool is on PATH.');
  return undefined;
}

/**
 * @param {string} work
 * @param {import('./process.mjs').Env} env
 * @param {import('./process.mjs').Say} say
 * @returns {Promise<string | undefined>} the folder of the unpacked package
 */
async function fromDebian(work, env, say) {
  if (allOnPath('apt-get', env).length === 0) {
    say('  not possible: apt-get is missing');
    return undefined;
  }
  say("getting Prometheus from Debian's package, once");
  const options = { timeoutMs: FETCH_LIMIT_MS, env, cwd: work };
  // A machine without a package list gets one, if it may.
  let ended = await run('apt-get', ['download', 'prometheus'], options);
  if (!ended.ok && (await run('apt-get', ['update'], options)).ok)
    ended = await run('apt-get', ['download', 'prometheus'], options);
  const archive = readdirSync(work).find((name) => name.endsWith('.deb')) ?? '';
  if (ended.ok) ended = await run('dpkg-deb', ['-x', archive, 'unpacked'], options);
  if (ended.ok) return join(work, 'unpacked');
  say(`  not possible: ${ended.reason}: ${lastLines(ended, 2)}`);
  return undefined;
}
