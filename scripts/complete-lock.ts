/**
 * `node --import tsx scripts/complete-lock.ts`: run it after `npm install` changed package-lock.json.
 *
 * A registry mirror may hold a package's builds for some platforms only. npm then silently omits the others
 * from the lock file, and refuses that file at the next `npm ci`. This script adds the missing entries: their
 * names tell the platform, and the registry their hashes. Without a hash, npm accepts any content.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NPM } from './setup/dependencies.mjs';
import { projectRoot } from './setup/process.mjs';

interface LockEntry {
  /** Of an alias: the package. */
  name?: string;
  version?: string;
  integrity?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const OS = /(?:^|-)(android|darwin|freebsd|linux|openbsd|win32)(?:-|$)/;
const CPU = /-(arm64|arm|ia32|loong64|ppc64|riscv64|s390x|x64)(?:-|$)/;

/** The entries that `npm ci` asks for and the lock file lacks. */
export function missingPlatformPackages(packages: Record<string, LockEntry>): Record<string, LockEntry> {
  const missing = Object.entries(packages).flatMap(([path, { dev, optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !(`node_modules/${name}` in packages || `${path}/node_modules/${name}` in packages))
      .flatMap(([name, version]) => entryOf(name, version, dev)),
  );
  return Object.fromEntries(missing);
}

/** None for a package whose name has no platform. */
function entryOf(name: string, version: string, dev: boolean | undefined): [string, LockEntry][] {
  const [, os] = OS.exec(name) ?? [];
  if (os === undefined) return [];
  const [, cpu] = CPU.exec(name) ?? [];
  const [, libc] = /-(musl|gnu)/.exec(name) ?? [];
  const entry = {
    version,
    ...(cpu && { cpu: [cpu] }),
    ...(dev && { dev }),
    ...(libc && { libc: [libc === 'gnu' ? 'glibc' : libc] }),
    optional: true,
    os: [os],
  };
  return [[`node_modules/${name}`, entry]];
}

/** The entries whose content npm would not check. */
export function unhashed(packages: Record<string, LockEntry>): [path: string, entry: LockEntry][] {
  return Object.entries(packages).filter(
    ([path, { integrity }]) => path !== '' && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''),
  );
}

function hashOf(
  path: string,
  { name = path.split('node_modules/').at(-1) ?? '', version }: LockEntry,
): string {
  return execFileSync(NPM, ['view', `${name}@${version}`, 'dist.integrity'], { encoding: 'utf8' }).trim();
}

if (process.argv[1] === import.meta.filename) {
  const file = join(projectRoot, 'package-lock.json');
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  const missing = missingPlatformPackages(lock.packages);
  const packages: Record<string, LockEntry> = { ...lock.packages, ...missing };
  const without = unhashed(packages);
  for (const [path, { version = '', ...rest }] of without)
    packages[path] = { version, integrity: hashOf(path, { version, ...rest }), ...rest };
  const all = Object.entries(packages);
  // Sort as npm does, so that its next write does not move entries.
  all.sort(([left], [right]) => left.localeCompare(right, 'en'));
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(all) }, null, 2)}\n`);
  console.log(`${Object.keys(missing).length} entries added, ${without.length} hashes`);
}
