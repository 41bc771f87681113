/**
 * `npm run pack -- [FOLDER]`: builds the npm packages, by default into `dist/`: `durable-payouts`, which runs every program, and
 * the client.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { npmPack, packClient } from './pack-client.ts';
import { bundledWorkflows } from './programs.ts';
import { runOrThrow, tsc } from './setup/cache.ts';
import { projectRoot, runMain, say } from './setup/process.mjs';

const STEP_LIMIT_MS = 5 * 60_000;
const COPIED = [
  'LICENSE',
  'README.md',
  '.env.example',
  'deploy/systemd/payouts@.service',
  ...['payout', 'payouts', 'expected'].map((name) => `examples/${name}.json`),
];

/** Returns the path of the `.tgz` in `folder`. */
export async function packPrograms(folder: string): Promise<string> {
  const staged = mkdtempSync(join(tmpdir(), 'payouts-package-'));
  try {
    const args = [tsc, '-p', 'tsconfig.programs.json', '--outDir', staged];
    await runOrThrow(process.execPath, args, { timeoutMs: STEP_LIMIT_MS, cwd: projectRoot });
    copyFileSync(await bundledWorkflows(), join(staged, 'workflows.js'));
    for (const file of COPIED) {
      mkdirSync(dirname(join(staged, file)), { recursive: true });
      copyFileSync(join(projectRoot, file), join(staged, file));
    }
    writeManifests(staged);
    return await npmPack(staged, folder);
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** The programs are run, not imported: their packages have the versions and hashes with which they were tested. */
function writeManifests(staged: string): void {
  const { name, version, description, license, type, engines, dependencies, overrides } =
    readJson('package.json');
  const bin = 'demo/bin.js';
  const root = { name, version, license, engines, dependencies };
  const manifest = { ...root, description, type, overrides, bin: { payouts: bin, [name]: bin } };
  const { packages, ...lock } = readJson('package-lock.json');
  const needed = Object.entries<{ dev?: boolean }>(packages).filter(([, { dev }]) => !dev);
  const files = {
    'package.json': manifest,
    'npm-shrinkwrap.json': { ...lock, packages: { ...Object.fromEntries(needed), '': root } },
  };
  for (const [file, content] of Object.entries(files))
    writeFileSync(join(staged, file), `${JSON.stringify(content, null, 2)}\n`);
}

function readJson(file: string) {
  return JSON.parse(readFileSync(join(projectRoot, file), 'utf8'));
}

if (process.argv[1] === import.meta.filename)
  await runMain(async () => {
    const folder = process.argv[2] ?? join(projectRoot, 'dist');
    for (const pack of [packPrograms, packClient]) say(`npm install ${await pack(folder)}`);
    return 0;
  });
