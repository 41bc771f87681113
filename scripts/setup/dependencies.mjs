/**
 * Installs the npm packages if they are missing or differ from package-lock.json. It imports only Node's own modules,
 * because it runs first in a fresh clone.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock.mjs';
import { lastLines, projectRoot, run, SetupError, say } from './process.mjs';

const OLDEST_NODE = [20, 19];

/**
 * @param {string} [version]
 * @throws {SetupError} if Node is too old
 */
export function checkNode(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new SetupError(
    `This project needs Node ${OLDEST_NODE.join('.')} or newer; this is Node ${version}.\n` +
      'Install a newer one (nodejs.org, or your version manager) and run the same command again.',
  );
}

/**
 * Compares with npm's own record of the installed packages. npm writes that record last, so an interrupted install
 * does not count, and a manual `npm ci` or `npm install` does.
 * @param {string} root
 * @param {boolean} [production]   ignore packages that only development needs
 * @returns {boolean}
 */
export function dependenciesMatch(root, production = process.env['NODE_ENV'] === 'production') {
  const wanted = readPackages(join(root, 'package-lock.json'));
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'));
  if (wanted === undefined) throw new SetupError(`package-lock.json cannot be read in ${root}`);
  if (installed === undefined) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    // The lock file also lists packages of other platforms, which npm does not install.
    if (found === undefined) return Boolean(entry.optional || (production && entry.dev));
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

/**
 * @param {{ root?: string }} [options]
 * @returns {Promise<boolean>} whether anything was installed
 */
export async function ensureDependencies({ root = projectRoot } = {}) {
  checkNode();
  if (dependenciesMatch(root)) return false;
  // Not inside node_modules, which `npm ci` deletes.
  const lock = join(root, '.cache', 'npm-ci.lock');
  const onWait = () => say('another command is installing the npm packages; waiting for it');
  return withLock(lock, { onWait }, async () => {
    if (dependenciesMatch(root)) return false;
    await install(root);
    return true;
  });
}

/** @param {string} root */
async function install(root) {
  const what = existsSync(join(root, 'node_modules')) ? 'are out of date' : 'are missing';
  say(`npm packages ${what}: npm ci (10 s to 2 min)`);
  const args = ['ci', '--include=dev', '--loglevel=error', '--no-progress', '--no-audit', '--no-fund'];
  const ended = await run(npmCommand(), args, {
    cwd: root,
    timeoutMs: 20 * 60_000,
    onBeat: (seconds) => say(`npm ci: ${seconds} s`),
  });
  if (ended.ok && dependenciesMatch(root)) return;
  throw new SetupError(
    `The npm packages could not be installed: npm ci ${ended.reason || 'left some of them out'}.\n` +
      `${lastLines(ended, 12)}\n\nOnce the package registry is reachable, run the same command or npm ci again.`,
  );
}

export function npmCommand() {
  return process.platform === 'win32' ? 'npm.cmd' : 'npm';
}

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, dev?: boolean }} LockEntry
 * @param {string} file
 * @returns {Record<string, LockEntry> | undefined}
 */
function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}
