/**
 * `node scripts/complete-lock.mjs`: run it after `npm install` changed package-lock.json.
 *
 * A registry mirror may hold a package's builds for some platforms only. npm then silently omits the others
 * from the lock file, and refuses that file at the next `npm ci`. This script adds the missing entries: their
 * names tell the platform.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';
import { projectRoot } from './setup/process.mjs';

/**
 * @typedef {{ version?: string, dev?: boolean, optional?: boolean, os?: string[], cpu?: string[],
 *   libc?: string[], optionalDependencies?: Record<string, string> }} LockEntry
 * @typedef {{ packages: Record<string, LockEntry> }} Lock
 */

const OS = /(?:^|-)(android|darwin|freebsd|linux|openbsd|win32)(?:-|$)/;
const CPU = /-(arm64|arm|ia32|loong64|ppc64|riscv64|s390x|x64)(?:-|$)/;

/**
 * The entries that `npm ci` asks for and the lock file lacks.
 * @param {Lock} lock
 * @returns {Record<string, LockEntry>}
 */
export function missingPlatformPackages({ packages }) {
  /** @type {Record<string, LockEntry>} */
  const missing = {};
  for (const [path, parent] of Object.entries(packages))
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const [, os] = OS.exec(name) ?? [];
      const known = `node_modules/${name}` in packages || `${path}/node_modules/${name}` in packages;
      if (known || os === undefined) continue;
      missing[`node_modules/${name}`] = entryOf(name, version, os, parent);
    }
  return missing;
}

/**
 * @param {string} name
 * @param {string} version
 * @param {string} os
 * @param {LockEntry} parent
 * @returns {LockEntry}
 */
function entryOf(name, version, os, parent) {
  const [, cpu] = CPU.exec(name) ?? [];
  const [, libc] = /-(musl|gnu)/.exec(name) ?? [];
  return {
    version,
    ...(cpu && { cpu: [cpu] }),
    ...(parent.dev && { dev: true }),
    ...(libc && { libc: [libc === 'gnu' ? 'glibc' : libc] }),
    optional: true,
    os: [os],
  };
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const file = join(projectRoot, 'package-lock.json');
  /** @type {Lock} */
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  const missing = missingPlatformPackages(lock);
  const all = Object.entries({ ...lock.packages, ...missing });
  // Sort as npm does, so that its next write does not move entries.
  all.sort(([left], [right]) => left.localeCompare(right, 'en'));
  lock.packages = Object.fromEntries(all);
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`${Object.keys(missing).length} entries added`);
}
