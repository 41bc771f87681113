/**
 * Finds Prometheus and promtool for the tests of the alerts, or unpacks them from Debian's package `prometheus`, without
 * installing it.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines, run } from './child.mjs';
import { say as sayToStderr } from './console.mjs';
import { withLock } from './lock.mjs';
import { allOnPath, cacheFolder, isExecutable } from './paths.mjs';

/** @typedef {{ prometheus: string, promtool: string }} Prometheus */

const FETCH_LIMIT_MS = 5 * 60_000;

/**
 * Undefined if there is none and this is not a Debian with a package list: its tests are skipped then.
 * @param {{ env?: import('./paths.mjs').Env, say?: import('./console.mjs').Say }} [options]
 * @returns {Promise<Prometheus | undefined>}
 */
export async function findPrometheus({ env = process.env, say = sayToStderr } = {}) {
  const [promtool] = allOnPath('promtool', env);
  const [prometheus] = allOnPath('prometheus', env);
  if (promtool !== undefined && prometheus !== undefined) return { prometheus, promtool };
  const cache = cacheFolder(env);
  const onWait = () => say('another command is getting Prometheus; waiting for it');
  return withLock(join(cache, 'prometheus.lock'), { onWait }, async () => {
    const folder = join(cache, 'prometheus');
    const unpacked = unpackedIn(folder);
    if (isExecutable(unpacked.promtool)) return unpacked;
    const problem = await fromDebian(cache, folder, env, say);
    if (problem === undefined && isExecutable(unpacked.promtool)) return unpacked;
    say(
      `no Prometheus: ${problem ?? 'the package does not contain it'}. Install it so that promtool is on PATH.`,
    );
    return undefined;
  });
}

/** @param {string} folder */
function unpackedIn(folder) {
  const bin = join(folder, 'usr', 'bin');
  return { prometheus: join(bin, 'prometheus'), promtool: join(bin, 'promtool') };
}

/**
 * Returns what prevented it.
 * @param {string} cache
 * @param {string} folder
 * @param {import('./paths.mjs').Env} env
 * @param {import('./console.mjs').Say} say
 * @returns {Promise<string | undefined>}
 */
async function fromDebian(cache, folder, env, say) {
  if (allOnPath('apt-get', env).length === 0) return 'apt-get is missing';
  say("getting Prometheus from Debian's package, once");
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'prometheus-'));
  try {
    const options = { timeoutMs: FETCH_LIMIT_MS, env, cwd: work };
    // A machine without a package list gets one, if it may.
    let fetched = await run('apt-get', ['download', 'prometheus'], options);
    if (!fetched.ok && (await run('apt-get', ['update'], options)).ok)
      fetched = await run('apt-get', ['download', 'prometheus'], options);
    if (!fetched.ok) return `apt-get download prometheus ${fetched.reason}: ${lastLines(fetched, 2)}`;
    const archive = readdirSync(work).find((name) => name.endsWith('.deb')) ?? '';
    const unpacked = await run('dpkg-deb', ['-x', archive, 'unpacked'], options);
    if (!unpacked.ok) return `dpkg-deb ${unpacked.reason}: ${lastLines(unpacked, 2)}`;
    rmSync(folder, { recursive: true, force: true });
    renameSync(join(work, 'unpacked'), folder);
    return undefined;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
