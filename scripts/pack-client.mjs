/**
 * `node scripts/pack-client.mjs [FOLDER]`: builds the client package that other projects install, by default into
 * `dist/`. It contains only the code that `src/client` imports, and depends only on the packages that this code imports.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize, resolve } from 'node:path';
import { lastLines, run } from './setup/child.mjs';
import { runMain, SetupError, say } from './setup/console.mjs';
import { projectRoot } from './setup/paths.mjs';

/** The exports: `durable-payouts/NAME`. */
const ENTRIES = { client: 'client/index', nexus: 'client/nexus' };
/** Loaded by its path, not by an import. */
const LOADED_BY_PATH = 'encryption/failure-converter.js';
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*(['"])([^'"]+)\1/g;

/**
 * Builds and packs the client.
 * @param {string} folder   where the `.tgz` goes
 * @returns {Promise<string>} its path
 * @throws {SetupError} with the output of the compiler or npm
 */
export async function packClient(folder) {
  const work = mkdtempSync(join(tmpdir(), 'payouts-client-'));
  try {
    const [compiled, staged] = [join(work, 'compiled'), join(work, 'package')];
    const compiler = join(projectRoot, 'node_modules', '.bin', 'tsc');
    await runOrThrow(compiler, ['-p', 'src/client', '--outDir', compiled], projectRoot);
    const packages = stage(compiled, join(staged, 'dist'));
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
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Copies the code and types that the entries import, and returns the packages that they import.
 * @param {string} from
 * @param {string} to
 */
function stage(from, to) {
  const packages = new Set();
  const files = [
    ...Object.values(ENTRIES).flatMap((entry) => [`${entry}.js`, `${entry}.d.ts`]),
    LOADED_BY_PATH,
  ];
  for (const file of files) {
    // The compiler rewrites imports in code but not in declarations.
    const text = readFileSync(join(from, file), 'utf8').replace(IMPORT, (all) =>
      all.replace(/\.ts(['"])$/, '.js$1'),
    );
    mkdirSync(dirname(join(to, file)), { recursive: true });
    writeFileSync(join(to, file), text);
    for (const [, , name = ''] of text.matchAll(IMPORT))
      if (name.startsWith('.')) addFile(files, normalize(join(dirname(file), name)), file.endsWith('.d.ts'));
      else if (!name.startsWith('node:')) packages.add(packageOf(name));
  }
  return [...packages].sort();
}

/**
 * @param {string[]} files
 * @param {string} code
 * @param {boolean} isTypes
 */
function addFile(files, code, isTypes) {
  const file = isTypes ? code.replace(/\.js$/, '.d.ts') : code;
  if (!files.includes(file)) files.push(file);
}

/** @param {string} name   as imported: `zod`, `@temporalio/common/lib/time.js` */
function packageOf(name) {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

/** @param {string[]} packages */
function manifest(packages) {
  const {
    name: own,
    version,
    license,
    type,
    engines,
    dependencies,
  } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
  const needed = Object.fromEntries(packages.map((one) => [one, dependencies[one]]));
  const unknown = packages.filter((one) => needed[one] === undefined);
  if (unknown.length > 0)
    throw new SetupError(`the client imports ${unknown.join(', ')}, which package.json does not have`);
  return {
    name: own,
    version,
    description: 'Start, steer and read payouts from another service',
    license,
    type,
    engines,
    exports: Object.fromEntries(
      Object.entries(ENTRIES).map(([name, entry]) => [
        `./${name}`,
        { types: `./dist/${entry}.d.ts`, default: `./dist/${entry}.js` },
      ]),
    ),
    files: ['dist'],
    dependencies: needed,
  };
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
