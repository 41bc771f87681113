/** Installs the npm packages if they are missing or differ from package-lock.json. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock.mjs';
import { projectRoot, runAttached, SetupError, say } from './process.mjs';

export const NPM = process.platform === 'win32' ? 'npm.cmd' : 'npm';

/**
 * @param {string} [version]
 * @throws {SetupError} if `npm ci` would refuse a package on this Node
 */
export function checkNode(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major >= 24 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)) return;
  throw new SetupError(
    `This project needs Node 20.19+, 22.12+, or 24 and newer; this is Node ${version}.\n` +
      'Install a newer one (nodejs.org, or your version manager) and run the same command again.',
  );
}

/**
 * Compares with npm's own record of the installed packages. npm writes that record last, so an interrupted install
 * doesn't count, and a manual `npm ci` or `npm install` does.
 * @param {string} root
 * @param {boolean} [production]   ignore packages that only development needs
 */
export function dependenciesMatch(root, production = process.env['NODE_ENV'] === 'production') {
  const wanted = readPackages(join(root, 'package-lock.json'));
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'));
  if (wanted === undefined) throw new SetupError(`package-lock.json cannot be read in ${root}`);
  if (installed === undefined) return false;
  return Object.entries(wanted).every(([path, { version, integrity, optional, dev }]) => {
    if (path === '') return true;
    const found = installed[path];
    // The lock file also lists packages of other platforms, which npm does not install.
    if (found === undefined) return Boolean(optional || (production && dev));
    return found.version === version && found.integrity === integrity;
  });
}

export async function ensureDependencies() {
  checkNode();
  if (dependenciesMatch(projectRoot)) return;
  // Not inside node_modules, which `npm ci` deletes.
  const lock = join(projectRoot, '.cache', 'npm-ci.lock');
  const onWait = () => say('another command is installing the npm packages; waiting for it');
  await withLock(lock, { onWait }, async () => {
    if (!dependenciesMatch(projectRoot)) await install();
  });
}

async function install() {
  const what = existsSync(join(projectRoot, 'node_modules')) ? 'are out of date' : 'are missing';
  say(`npm packages ${what}: npm ci (10 s to 2 min)`);
  const args = ['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund'];
  const code = await runAttached(NPM, args, { cwd: projectRoot, stdio: ['ignore', 2, 2] });
  if (code === 0 && dependenciesMatch(projectRoot)) return;
  throw new SetupError(
    'The npm packages could not be installed.\n' +
      'Once the package registry is reachable, run the same command or npm ci again.',
  );
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
