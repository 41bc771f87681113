/** Another project that installed a package of ours: its own folder, with exactly the package's dependencies. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '../..');
const exec = promisify(execFile);

export interface Installed {
  folder: string;
  archive: string;
  /** Every file of the package. */
  files: string[];
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  remove(): void;
}

/**
 * `pack` writes the archive into the folder and returns its path. Contacts no registry: `also` are packages of this project.
 */
export async function installPackage(
  pack: (folder: string) => Promise<string>,
  also: readonly string[] = [],
): Promise<Installed> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-consumer-'));
  const modules = join(folder, 'node_modules');
  const own = join(modules, 'durable-payouts-client');
  mkdirSync(own, { recursive: true });
  const archive = await pack(folder);
  await exec('tar', ['-xzf', archive, '-C', own, '--strip-components=1']);
  const { stdout } = await exec('tar', ['-tzf', archive]);
  const { dependencies, peerDependencies } = manifestOf(own);
  for (const name of [...Object.keys({ ...dependencies, ...peerDependencies }), ...also]) link(name, modules);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  return {
    folder,
    archive,
    files: stdout.trim().split('\n'),
    dependencies,
    peerDependencies,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const ranges = z.record(z.string(), z.string());
const manifestSchema = z.object({ dependencies: ranges, peerDependencies: ranges.default({}) });

function manifestOf(folder: string): z.output<typeof manifestSchema> {
  return manifestSchema.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
}

function link(name: string, modules: string): void {
  mkdirSync(dirname(join(modules, name)), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
}
