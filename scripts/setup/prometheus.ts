/**
 * Finds Prometheus and promtool for the tests of the alerts, or unpacks them from Debian's package `prometheus`, without
 * installing it.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { allOnPath, cacheFolder, intoCache, isExecutable, run, runOrThrow } from './cache.ts';
import { say } from './process.mjs';

const FETCH_LIMIT_MS = 5 * 60_000;

/** Undefined if there is none and this isn't a Debian with a package list: its tests are skipped then. */
export async function findPrometheus(): Promise<{ prometheus: string; promtool: string } | undefined> {
  const { env } = process;
  const [promtool] = allOnPath('promtool', env);
  const [prometheus] = allOnPath('prometheus', env);
  if (promtool !== undefined && prometheus !== undefined) return { prometheus, promtool };
  const folder = join(cacheFolder(env), 'prometheus');
  const bin = join(folder, 'usr', 'bin');
  const unpacked = { prometheus: join(bin, 'prometheus'), promtool: join(bin, 'promtool') };
  if (await intoCache(folder, () => isExecutable(unpacked.promtool), say, fromDebian)) return unpacked;
  say('no Prometheus. Install it so that promtool is on PATH.');
  return undefined;
}

/** The folder of the unpacked package. */
async function fromDebian(work: string): Promise<string | undefined> {
  say("getting Prometheus from Debian's package, once");
  const options = { timeoutMs: FETCH_LIMIT_MS, cwd: work };
  const download = ['download', 'prometheus'];
  try {
    // A machine without a package list gets one, if it may.
    if ((await run('apt-get', download, options)).problem !== undefined) {
      await run('apt-get', ['update'], options);
      await runOrThrow('apt-get', download, options);
    }
    const archive = readdirSync(work).find((name) => name.endsWith('.deb')) ?? '';
    await runOrThrow('dpkg-deb', ['-x', archive, 'unpacked'], options);
    return join(work, 'unpacked');
  } catch (error) {
    say(`  not possible: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}
