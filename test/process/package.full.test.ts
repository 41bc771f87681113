/** The package `durable-payouts`, installed by npm into an empty folder of somebody who has nothing else. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { packPrograms } from '../../scripts/pack.ts';
import { findTemporalCli } from '../../scripts/setup/temporal-cli.ts';
import { ended } from '../support/cli.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { startProgram } from '../support/processes.ts';

const exec = promisify(execFile);
// Outside every project, so that no package is found in a folder above.
const home = realpathSync(mkdtempSync(join(tmpdir(), 'payouts-install-')));
const folder = join(home, 'project');
const bin = join(folder, 'node_modules/.bin');
let environment: Record<string, string>;
let world: PayoutWorld;
let files: string[];

beforeAll(async () => {
  world = await PayoutWorld.start({ idle: true });
  // The way to the registry belongs to the machine: npm looks for it beside its Node.
  const { npm_config_globalconfig: machine, NODE_EXTRA_CA_CERTS: authorities } = process.env;
  environment = {
    ...(machine && { npm_config_globalconfig: machine }),
    ...(authorities && { NODE_EXTRA_CA_CERTS: authorities }),
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    npm_config_cache: join(home, 'cache'),
    TEMPORAL_CLI_PATH: await findTemporalCli(),
  };
  mkdirSync(folder);
  // Options of the project, which would break our sources if they applied.
  const options = { compilerOptions: { paths: { commander: ['./nothing.ts'] } } };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
  const archive = await packPrograms(home);
  files = (await exec('tar', ['-tzf', archive])).stdout.trim().split('\n');
  await exec('npm', ['install', '--no-audit', '--no-fund', archive], { cwd: folder, env: environment });
});

afterAll(async () => {
  await world.stop();
  rmSync(home, { recursive: true, force: true });
});

test('contains compiled programs, and no tests, keys or sources', () => {
  const folders = new Set(files.map((file) => file.split('/').slice(1, 2).join('/')));
  expect([...folders].sort()).toEqual(
    [
      '.env.example',
      'LICENSE',
      'README.md',
      'demo',
      'deploy',
      'examples',
      'npm-shrinkwrap.json',
      'package.json',
      'scripts',
      'simulator',
      'src',
      'workflows.js',
    ].sort(),
  );
  expect(files.filter((file) => /\.ts$/.test(file))).toEqual([]);
});

test('npx durable-payouts demo pays every example as expected', async () => {
  const { stdout } = await exec('npx', ['--no', 'durable-payouts', 'demo'], {
    cwd: folder,
    env: environment,
  });
  const [, good, all] = /^(\d+) of (\d+) payouts ended as expected$/m.exec(stdout) ?? [];
  expect(Number(good)).toBeGreaterThan(0);
  expect(good).toBe(all);
});

test('payouts --version, and a command that only connects', async () => {
  const cli = join(bin, 'payouts');
  expect(await ended(cli, ['--version'], environment, '', folder)).toMatchObject({
    code: 0,
    stdout: `${packageJson.version}\n`,
  });
  const listed = await ended(cli, ['list', '--json'], world.workerEnvironment, '', folder);
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  expect((await ended(cli, ['status', 'nobody'], world.workerEnvironment, '', folder)).code).toBe(3);
});

test('the worker pays, the doctor finds it, and SIGTERM ends it', async () => {
  const worker = await startProgram(
    { folder, args: [join(bin, 'durable-payouts'), 'worker'] },
    { ...world.workerEnvironment, PAYOUTS_WORKFLOW_BUNDLE: '' },
    /worker ready/,
  );
  try {
    const ref = await world.pay('success');
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    const doctor = await ended(join(bin, 'payouts'), ['doctor'], world.workerEnvironment, '', folder);
    expect(doctor.stdout).toMatch(/^ok +worker for workflows: polls/m);
    expect(doctor.stdout).toMatch(/^ok +provider: a worker called the provider/m);
  } finally {
    expect(await worker.stop('SIGTERM')).toBe(0);
  }
});

test('the API server starts, and SIGTERM ends it', async () => {
  const api = await startProgram(
    { folder, args: [join(bin, 'durable-payouts'), 'api'] },
    { ...world.workerEnvironment, PAYOUTS_TOKEN_KEYS: '', PAYOUTS_API_LISTEN: '127.0.0.1:0' },
    /API server listening/,
  );
  expect(await api.stop('SIGTERM')).toBe(0);
});
