/**
 * Builds the client package that other projects install. It contains only the code that `src/client` imports, and depends
 * only on the packages that this code imports.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import type { Plugin } from 'rollup';
import { runOrThrow, tsc } from './setup/cache.ts';
import { NPM } from './setup/dependencies.mjs';
import { projectRoot, SetupError } from './setup/process.mjs';

/** The exports are `.` and `./nexus`. */
const ENTRIES = { index: 'client/index', nexus: 'client/nexus' };
/** Temporal's SDK loads it by its path, which `src/encryption/payload-codec.ts` derives from its own. */
const LOADED_BY_PATH = { 'failure-converter': 'encryption/failure-converter' };
const STEP_LIMIT_MS = 5 * 60_000;

/**
 * Builds and packs the client. Returns the path of the `.tgz` in `folder`. Throws `SetupError` with the output of the
 * compiler or npm.
 */
export async function packClient(folder: string): Promise<string> {
  const staged = mkdtempSync(join(tmpdir(), 'payouts-client-'));
  try {
    const { packages } = await bundleClient(join(staged, 'dist'));
    writeFileSync(join(staged, 'package.json'), `${JSON.stringify(manifest(packages), null, 2)}\n`);
    copyFileSync(join(projectRoot, 'LICENSE'), join(staged, 'LICENSE'));
    writeFileSync(join(staged, 'README.md'), readme());
    return await npmPack(staged, folder);
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** The page about the client. npm resolves its links from the root of the repository that the package names. */
export function readme(): string {
  const page = readFileSync(join(projectRoot, 'docs', 'client.md'), 'utf8');
  return page.replaceAll(/\]\((?=[\w-]+\.md)/g, '](docs/').replaceAll('](../', '](');
}

/** Packs the folder `staged`. Returns the path of the `.tgz` in `folder`. */
export async function npmPack(staged: string, folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  // npm publishes provenance only for the repository that the package names.
  const { GITHUB_REPOSITORY: repository } = process.env;
  if (repository !== undefined) {
    const set = ['pkg', 'set', `repository.url=git+https://github.com/${repository}.git`];
    await runOrThrow(NPM, set, { timeoutMs: STEP_LIMIT_MS, cwd: staged });
  }
  const args = ['pack', '--silent', '--pack-destination', resolve(folder)];
  const packed = await runOrThrow(NPM, args, { timeoutMs: STEP_LIMIT_MS, cwd: staged });
  return join(folder, packed.trim());
}

/**
 * Compiles the client, and bundles its code and its declarations. Returns the packages that it imports, and its files,
 * relative to `src`.
 */
export async function bundleClient(folder: string): Promise<{ packages: string[]; modules: string[] }> {
  const compiled = mkdtempSync(join(tmpdir(), 'payouts-compiled-'));
  try {
    const args = [tsc, '-p', 'src/client', '--outDir', compiled];
    await runOrThrow(process.execPath, args, { timeoutMs: STEP_LIMIT_MS, cwd: projectRoot });
    const { dts } = await import('rollup-plugin-dts');
    const chunks = [
      ...(await bundle(compiled, { ...ENTRIES, ...LOADED_BY_PATH }, '.js', folder, [])),
      ...(await bundle(compiled, ENTRIES, '.d.ts', folder, [dts()])),
    ];
    const own = chunks.map(({ fileName }) => fileName);
    const imported = chunks.flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports]);
    const outside = imported.filter((name) => !own.includes(name) && !isBuiltin(name));
    const modules = chunks.flatMap(({ moduleIds }) => moduleIds.map((id) => relative(compiled, id)));
    return { packages: [...new Set(outside.map(packageOf))].sort(), modules: [...new Set(modules)].sort() };
  } finally {
    rmSync(compiled, { recursive: true, force: true });
  }
}

async function bundle(
  from: string,
  entries: Readonly<Record<string, string>>,
  extension: string,
  dir: string,
  plugins: Plugin[],
) {
  const { rollup } = await import('rollup');
  const files = Object.entries(entries).map(([name, entry]) => [name, join(from, entry + extension)]);
  const made = await rollup({
    input: Object.fromEntries(files),
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
    plugins,
    onwarn: ({ message }) => {
      throw new SetupError(`the client cannot be bundled: ${message}`);
    },
  });
  const names = { entryFileNames: `[name]${extension}`, chunkFileNames: `shared${extension}` };
  const { output } = await made.write({ dir, ...names });
  await made.close();
  return output.filter((one) => one.type === 'chunk');
}

/** `name`: as imported, such as `zod` or `@temporalio/common/lib/time.js`. */
function packageOf(name: string): string {
  const parts = name.split('/');
  return parts.slice(0, name.startsWith('@') ? 2 : 1).join('/');
}

function manifest(packages: readonly string[]): object {
  const own = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
  const { name, version, license, type, engines, dependencies } = own;
  const unknown = packages.filter((one) => dependencies[one] === undefined);
  if (unknown.length > 0)
    throw new SetupError(`the client imports ${unknown.join(', ')}, which package.json does not have`);
  // The packages of Temporal compare classes, so a process must have each only once.
  const isPeer = (one: string) => one.startsWith('@temporalio/');
  const ranges = (wanted: (one: string) => boolean) =>
    Object.fromEntries(packages.filter(wanted).map((one) => [one, `^${dependencies[one]}`]));
  return {
    name: `${name}-client`,
    version,
    description: 'Start, steer and read payouts from another service',
    license,
    type,
    sideEffects: false,
    engines,
    exports: Object.fromEntries(
      Object.keys(ENTRIES).map((one) => [
        one === 'index' ? '.' : `./${one}`,
        { types: `./dist/${one}.d.ts`, default: `./dist/${one}.js` },
      ]),
    ),
    files: ['dist'],
    dependencies: ranges((one) => !isPeer(one)),
    peerDependencies: ranges(isPeer),
  };
}
