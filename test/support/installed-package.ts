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
  /** Every file of the package. */
  files: string[];
  dependencies: Record<string, string>;
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
  const own = join(modules, 'durable-payouts');
  mkdirSync(own, { recursive: true });
  const archive = await pack(folder);
  await exec('tar', ['-xzf', archive, '-C', own, '--strip-components=1']);
  const { stdout } = await exec('tar', ['-tzf', archive]);
  const dependencies = dependenciesOf(own);
  for (const name of [...Object.keys(dependencies), ...also]) link(name, modules);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  return {
    folder,
    files: stdout.trim().split('\n'),
    dependencies,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function dependenciesOf(folder: string): Record<string, string> {
  const manifest = z.object({ dependencies: z.record(z.string(), z.string()) });
  return manifest.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).dependencies;
}

function link(name: string, modules: string): void {
  mkdirSync(dirname(join(modules, name)), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
}
