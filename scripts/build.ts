/**
 * `npm run build -- [FOLDER]`: builds what the image contains, by default into `dist/app`: plain JavaScript, the bundled
 * workflows and the packages that they need. Run it with `node src/workers/main.js` in that folder.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runOrThrow, tsc } from './setup/cache.ts';
import { NPM } from './setup/dependencies.mjs';
import { projectRoot, runMain, SetupError } from './setup/process.mjs';

const STEP_LIMIT_MS = 15 * 60_000;
/** What `@temporalio/core-bridge` compiles from, and its libraries for other machines. */
const BRIDGE = join('node_modules', '@temporalio', 'core-bridge');
const BRIDGE_SOURCES = ['sdk-core', 'src', 'bridge-macros', 'ts', 'Cargo.lock', 'Cargo.toml'];

async function build(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const step = (cwd: string, command: string, ...args: string[]) =>
    runOrThrow(command, args, { cwd, timeoutMs: STEP_LIMIT_MS });
  await step(projectRoot, process.execPath, tsc, '-p', 'tsconfig.image.json', '--outDir', folder);
  writeManifests(folder);
  await step(folder, NPM, 'ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund');
  pruneBridge(folder);
  const bundler = join(folder, 'src', 'workers', 'bundle-workflows.js');
  await step(folder, process.execPath, bundler, join(folder, 'workflows.js'));
}

function writeManifests(folder: string): void {
  const { name, version, license, type, engines, dependencies, overrides } = readJson('package.json');
  const manifest = { name, version, license, private: true, type, engines, dependencies, overrides };
  const lock = readJson('package-lock.json');
  const root = { name, version, license, engines, dependencies };
  const files = {
    'package.json': manifest,
    'package-lock.json': { ...lock, packages: { ...lock.packages, '': root } },
  };
  for (const [file, content] of Object.entries(files))
    writeFileSync(join(folder, file), `${JSON.stringify(content, null, 2)}\n`);
  for (const file of ['.npmrc', 'LICENSE']) copyFileSync(join(projectRoot, file), join(folder, file));
}

function pruneBridge(folder: string): void {
  const bridge = join(folder, BRIDGE);
  for (const name of BRIDGE_SOURCES) rmSync(join(bridge, name), { recursive: true, force: true });
  const { arch, platform } = process;
  const machine = { x64: 'x86_64', arm64: 'aarch64' }[String(arch)];
  const releases = readdirSync(join(bridge, 'releases'));
  const isOurs = (name: string) =>
    machine !== undefined && name.startsWith(machine) && name.includes(platform);
  if (!releases.some(isOurs))
    throw new SetupError(`Temporal's SDK has no library for ${platform} on ${arch}`);
  for (const name of releases) if (!isOurs(name)) rmSync(join(bridge, 'releases', name), { recursive: true });
}

function readJson(file: string) {
  return JSON.parse(readFileSync(join(projectRoot, file), 'utf8'));
}

await runMain(async () => {
  const [folder = join(projectRoot, 'dist', 'app')] = process.argv.slice(2);
  await build(resolve(folder));
  return 0;
});
