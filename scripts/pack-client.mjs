/**
 * `node scripts/pack-client.mjs [FOLDER]`: builds the client package that other projects install, by default into
 * `dist/`. It contains only the code that `src/client` imports, and depends only on the packages that this code imports.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { lastLines, projectRoot, run, runMain, SetupError, say, tsc } from './setup/process.mjs';

/** The exports: `durable-payouts/NAME`. */
const ENTRIES = { client: 'client/index', nexus: 'client/nexus' };
/** Temporal's SDK loads it by its path, which `src/encryption/payload-codec.ts` derives from its own. */
const LOADED_BY_PATH = { 'failure-converter': 'encryption/failure-converter' };

/**
 * Builds and packs the client.
 * @param {string} folder   where the `.tgz` goes
 * @returns {Promise<string>} its path
 * @throws {SetupError} with the output of the compiler or npm
 */
export async function packClient(folder) {
  const staged = mkdtempSync(join(tmpdir(), 'payouts-client-'));
  try {
    const { packages } = await bundleClient(join(staged, 'dist'));
    writeFileSync(join(staged, 'package.json'), `${JSON.stringify(manifest(packages), null, 2)}\n`);
    copyFileSync(join(projectRoot, 'LICENSE'), join(staged, 'LICENSE'));
    copyFileSync(join(projectRoot, 'docs', 'client.md'), join(staged, 'README.md'));
    mkdirSync(folder, { recursive: true });
    const packed = await runOrThrow(
      'npm',
      ['pack', '--silent', '--pack-destination', resolve(folder)],
      staged,
    );
    return join(folder, packed.trim());
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/**
 * Compiles the client, and bundles its code and its declarations.
 * @param {string} folder
 * @returns {Promise<{ packages: string[], modules: string[] }>} the packages that it imports; its files, relative to `src`
 */
export async function bundleClient(folder) {
  const compiled = mkdtempSync(join(tmpdir(), 'payouts-compiled-'));
  try {
    await runOrThrow(process.execPath, [tsc, '-p', 'src/client', '--outDir', compiled], projectRoot);
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

/**
 * @param {string} from
 * @param {Record<string, string>} entries
 * @param {string} extension
 * @param {string} to
 * @param {import('rollup').Plugin[]} plugins
 */
async function bundle(from, entries, extension, to, plugins) {
  const { rollup } = await import('rollup');
  const made = await rollup({
    input: Object.fromEntries(
      Object.entries(entries).map(([name, entry]) => [name, join(from, `${entry}${extension}`)]),
    ),
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
    plugins,
    onwarn: ({ message }) => {
      throw new SetupError(`the client cannot be bundled: ${message}`);
    },
  });
  const names = `[name]${extension}`;
  const { output } = await made.write({
    dir: to,
    entryFileNames: names,
    chunkFileNames: `shared${extension}`,
  });
  await made.close();
  return output.filter((one) => one.type === 'chunk');
}

/** @param {string} name   as imported: `zod`, `@temporalio/common/lib/time.js` */
function packageOf(name) {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

/**
 * `@temporalio/…` are peers: the packages compare classes, so a process must have each only once.
 * @param {string[]} packages
 */
function manifest(packages) {
  const {
    name: own,
    version,
    license,
    type,
    engines,
    dependencies,
  } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
  const unknown = packages.filter((one) => dependencies[one] === undefined);
  if (unknown.length > 0)
    throw new SetupError(`the client imports ${unknown.join(', ')}, which package.json does not have`);
  /** @param {(name: string) => boolean} wanted */
  const ranges = (wanted) =>
    Object.fromEntries(packages.filter(wanted).map((one) => [one, `^${dependencies[one]}`]));
  return {
    name: own,
    version,
    description: 'Start, steer and read payouts from another service',
    license,
    type,
    sideEffects: false,
    engines,
    exports: Object.fromEntries(
      Object.keys(ENTRIES).map((name) => [
        `./${name}`,
        { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
      ]),
    ),
    files: ['dist'],
    dependencies: ranges((name) => !isPeer(name)),
    peerDependencies: ranges(isPeer),
  };
}

/** @param {string} name */
function isPeer(name) {
  return name.startsWith('@temporalio/');
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 */
async function runOrThrow(command, args, cwd) {
  const ended = await run(command, args, { timeoutMs: 5 * 60_000, cwd });
  if (!ended.ok)
    throw new SetupError(`${command} ${args.join(' ')} ${ended.reason}\n${lastLines(ended, 20)}`);
  return ended.output;
}

if (process.argv[1] === import.meta.filename)
  await runMain(async () => {
    const file = await packClient(process.argv[2] ?? join(projectRoot, 'dist'));
    say(`the client is at ${file}; in another project: npm install ${file}`);
    return 0;
  });
