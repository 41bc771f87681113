/**
 * `npm run build -- [FOLDER]`: builds what the image contains, by default into `dist/app`: plain JavaScript, the bundled
 * workflows and the packages that they need. Run it with `node src/workers/main.js` in that folder.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureDependencies } from './setup/dependencies.mjs';
import { lastLines, projectRoot, run, runMain, SetupError } from './setup/process.mjs';

const STEP_LIMIT_MS = 15 * 60_000;
/** Runs TypeScript, which the folder does not contain. */
const ONLY_FROM_SOURCE = 'tsx';
/** What `@temporalio/core-bridge` compiles from, and its libraries for other machines. */
const BRIDGE = join('node_modules', '@temporalio', 'core-bridge');
const BRIDGE_SOURCES = ['sdk-core', 'src', 'bridge-macros', 'ts', 'Cargo.lock', 'Cargo.toml'];

/** @param {string} folder */
async function build(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const compiler = join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc');
  await step([process.execPath, compiler, '-p', 'tsconfig.image.json', '--outDir', folder], projectRoot);
  writeManifests(folder);
  await step(['npm', 'ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], folder);
  pruneBridge(folder);
  const bundler = join(folder, 'src', 'workers', 'bundle-workflows.js');
  await step([process.execPath, bundler, join(folder, 'workflows.js')], folder);
}

/** The packages of `package-lock.json` without the one that runs TypeScript. @param {string} folder */
function writeManifests(folder) {
  const { name, version, license, type, engines, dependencies, overrides } = readJson('package.json');
  const { [ONLY_FROM_SOURCE]: _unused, ...needed } = dependencies;
  const manifest = { name, version, license, private: true, type, engines, dependencies: needed, overrides };
  writeJson(join(folder, 'package.json'), manifest);
  const lock = readJson('package-lock.json');
  const root = { name, version, license, engines, dependencies: needed };
  writeJson(join(folder, 'package-lock.json'), { ...lock, packages: { ...lock.packages, '': root } });
  for (const file of ['.npmrc', 'LICENSE']) copyFileSync(join(projectRoot, file), join(folder, file));
}

/** @param {string} folder */
function pruneBridge(folder) {
  const bridge = join(folder, BRIDGE);
  for (const name of BRIDGE_SOURCES) rmSync(join(bridge, name), { recursive: true, force: true });
  const { arch, platform } = process;
  const machine = { x64: 'x86_64', arm64: 'aarch64' }[String(arch)];
  const releases = readdirSync(join(bridge, 'releases'));
  const ours = releases.filter(
    (name) => machine !== undefined && name.startsWith(machine) && name.includes(platform),
  );
  if (ours.length === 0) throw new SetupError(`Temporal's SDK has no library for ${platform} on ${arch}`);
  for (const name of releases.filter((one) => !ours.includes(one)))
    rmSync(join(bridge, 'releases', name), { recursive: true });
}

/** @param {string} file */
function readJson(file) {
  return JSON.parse(readFileSync(join(projectRoot, file), 'utf8'));
}

/**
 * @param {string} file
 * @param {object} content
 */
function writeJson(file, content) {
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}

/**
 * @param {string[]} command
 * @param {string} cwd
 */
async function step([program = '', ...args], cwd) {
  const ended = await run(program, args, { timeoutMs: STEP_LIMIT_MS, cwd });
  if (!ended.ok) throw new SetupError(`${program} ${args[0]}: ${ended.reason}\n${lastLines(ended, 20)}`);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await runMain(async () => {
    await ensureDependencies();
    const [folder = join(projectRoot, 'dist', 'app')] = process.argv.slice(2);
    await build(resolve(folder));
    return existsSync(join(folder, 'workflows.js')) ? 0 : 1;
  });
