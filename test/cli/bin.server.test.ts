/** The `payouts` bin as npm installs it, from a tarball and as a linked folder; run from folders of other projects. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { ended } from '../support/cli.ts';
import { type Installed, installPackage } from '../support/installed-package.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const ROOT = join(import.meta.dirname, '../..');
const exec = promisify(execFile);

let world: VirtualWorld;
let installed: Installed;
let elsewhere: string;

beforeAll(async () => {
  world = await VirtualWorld.start();
  installed = await installPackage(packProject);
  // Only npm knows how it links a bin. All dependencies are there, so it contacts no registry.
  await exec('npm', ['rebuild', 'durable-payouts', '--ignore-scripts', '--offline'], {
    cwd: installed.folder,
  });
  elsewhere = mkdtempSync(join(tmpdir(), 'payouts-elsewhere-'));
  // The folder of another project, whose compiler options would break the sources if they applied.
  const options = { compilerOptions: { baseUrl: '.', paths: { commander: ['./nothing.ts'] } } };
  writeFileSync(join(elsewhere, 'tsconfig.json'), JSON.stringify(options));
});

afterAll(async () => {
  await world.stop();
  installed.remove();
  rmSync(elsewhere, { recursive: true, force: true });
});

async function packProject(folder: string): Promise<string> {
  const { stdout } = await exec('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT });
  return join(folder, stdout.trim());
}

test('installed from a tarball: the bin runs, and connects to Temporal', async () => {
  const bin = join(installed.folder, 'node_modules/.bin/payouts');
  const help = await ended(bin, ['--help'], {}, '', elsewhere);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toContain('Usage: payouts');
  const version = await ended(bin, ['--version'], {}, '', elsewhere);
  expect(version).toMatchObject({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' });
  const listed = await ended(bin, ['list', '--json'], world.workerEnvironment, '', elsewhere);
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  expect(listed.json()).toEqual([]);
  expect((await ended(bin, ['status', 'nobody'], world.workerEnvironment, '', elsewhere)).code).toBe(3);
});

test("linked folder: the bin runs from source, and exits with the verb's code", async () => {
  const bin = join(elsewhere, 'payouts');
  symlinkSync(join(ROOT, packageJson.bin.payouts), bin);
  expect(await ended(bin, ['status'], {}, '', elsewhere)).toMatchObject({ code: 2, stdout: '' });
  const listed = await ended(bin, ['list', '--json'], world.workerEnvironment, '', elsewhere);
  expect(listed).toMatchObject({ code: 0, stderr: '' });
});

test('the tarball contains the sources and the launcher, and no tests or keys', () => {
  const folders = new Set(installed.files.map((file) => file.split('/').slice(1, 2).join('/')));
  expect([...folders].sort()).toEqual(['LICENSE', 'README.md', 'package.json', 'scripts', 'src']);
  expect(installed.files.filter((file) => file.includes('/scripts/'))).toEqual([
    'package/scripts/payouts.mjs',
  ]);
});
