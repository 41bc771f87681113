import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PayoutWorld } from '../support/payout-world.ts';
import { startProgram } from '../support/processes.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const PROGRAMS = [
  'src/workers/main',
  'src/starters/api/main',
  'src/codec-server/main',
  'src/starters/cli/main',
];

const folder = mkdtempSync(join(tmpdir(), 'payouts-image-'));
let world: PayoutWorld;

beforeAll(async () => {
  await run(process.execPath, ['scripts/run.mjs', 'scripts/build.ts', folder], { cwd: ROOT });
  world = await PayoutWorld.start({ idle: true });
});

afterAll(async () => {
  await world.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('the folder of the image has plain JavaScript, and no simulator, trial keys or packages of development', () => {
  for (const program of PROGRAMS) expect(existsSync(join(folder, `${program}.js`))).toBe(true);
  const files = readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' });
  expect(files.filter((file) => file.endsWith('.ts'))).toEqual([]);
  expect(readdirSync(folder).sort()).toEqual(
    ['.npmrc', 'LICENSE', 'node_modules', 'package-lock.json', 'package.json', 'src', 'workflows.js'].sort(),
  );
  for (const name of ['tsx', 'typescript', 'vitest'])
    expect([name, existsSync(join(folder, 'node_modules', name))]).toEqual([name, false]);
});

test('its worker pays with the workflows that were bundled ahead, and ends on SIGTERM', async () => {
  const worker = await startProgram(
    { folder, args: ['src/workers/main.js'] },
    { ...world.workerEnvironment, PAYOUTS_WORKFLOW_BUNDLE: '' },
    /worker ready/,
  );
  try {
    const ref = await world.pay('success');
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  } finally {
    expect(await worker.stop('SIGTERM')).toBe(0);
  }
});
