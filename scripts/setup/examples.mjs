/**
 * Builds the examples in other languages into the cache folder, once per version of their sources. The languages are
 * optional: a test whose language is missing is skipped.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { withLock } from './lock.mjs';
import { cacheFolder, lastLines, projectRoot, run, SetupError, say as sayToStderr } from './process.mjs';

/**
 * @typedef {import('./process.mjs').Say} Say
 * @typedef {import('./process.mjs').Env} Env
 *
 * @typedef {object} Language
 * @property {string} folder       the folder of its sources, in the project
 * @property {string} needs        what a person has to install
 * @property {string[]} probe      exits with 0 if the tools are installed, and prints their version
 * @property {(printed: string) => boolean} [isNewEnough]   if the exit code of the probe does not tell
 * @property {boolean} [versioned] a build works only with the version that made it
 * @property {string[]} sources    the inputs of a build
 * @property {string} takes        how long the first build takes
 * @property {(source: string, target: string) => string[][]} build   the commands to run in `source`, in order
 * @property {(source: string, target: string) => string[]} program   the built program's command line, without arguments
 */

const IS_NEW_ENOUGH =
  'import ensurepip, sys, venv; print(sys.version, sys.executable); sys.exit(sys.version_info < (3, 10))';

/**
 * A virtual environment with the packages of its `requirements.txt`.
 * @type {Language}
 */
export const PYTHON = {
  folder: 'examples/python',
  needs: 'Python 3.10 or newer with its venv module, as `python3` on PATH',
  probe: ['python3', '-c', IS_NEW_ENOUGH],
  versioned: true,
  // The program itself is not built: it runs from its source folder.
  sources: ['requirements.txt'],
  takes: '30 MB, about 10 s',
  build: (_source, target) => [
    ['python3', '-m', 'venv', target],
    [join(target, 'bin', 'pip'), 'install', '--quiet', '--requirement', 'requirements.txt'],
  ],
  program: (source, target) => [join(target, 'bin', 'python'), join(source, 'pay.py')],
};

/**
 * One binary. Go keeps the packages in its own caches.
 * @type {Language}
 */
const GO = {
  folder: 'examples/go',
  needs: 'Go 1.26 or newer, as `go` on PATH',
  // Runs in the example's folder, where `go.mod` names the required version: an older Go downloads it, or fails.
  probe: ['go', 'version'],
  sources: ['codec.go', 'go.mod', 'go.sum', 'main.go'],
  takes: '20 MB, about 1 min',
  build: (_source, target) => [['go', 'build', '-o', join(target, 'pay'), '.']],
  program: (_source, target) => [join(target, 'pay')],
};

/**
 * A jar and its dependencies, built with Maven, which keeps downloads in its own folder.
 * @type {Language}
 */
const JAVA = {
  folder: 'examples/java',
  needs: 'a JDK 17 or newer and Maven, as `java`, `javac` and `mvn` on PATH',
  probe: ['sh', '-c', 'mvn --version && java --version && javac --version'],
  isNewEnough: (output) => Number(/^javac (\d+)/m.exec(output)?.[1]) >= 17,
  sources: ['pom.xml', 'src/main/java/payouts/EncryptionCodec.java', 'src/main/java/payouts/Pay.java'],
  takes: '80 MB, about 1 min',
  build: (_source, target) => [['mvn', '-q', '-B', '-ntp', 'package', `-Dfolder=${target}`]],
  // A short-lived process needs neither the second compiler nor a parallel garbage collector.
  program: (_source, target) => [
    'java',
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    '-jar',
    join(target, 'pay.jar'),
  ],
};

/** @type {Readonly<Record<'python' | 'go' | 'java', Language>>} */
export const LANGUAGES = { python: PYTHON, go: GO, java: JAVA };

/** A JVM takes seconds on a busy machine, and Go may download a newer toolchain. */
const PROBE_LIMIT_MS = 3 * 60_000;
const BUILD_LIMIT_MS = 15 * 60_000;
const READY = '.ready';

/**
 * Why an example cannot run on this machine; undefined if it can.
 * @param {Language} language
 * @param {Env} [env]
 * @returns {Promise<string | undefined>}
 */
export async function whyUnavailable(language, env = process.env) {
  const { ok, output } = await probed(language, env);
  const usable = ok && (language.isNewEnough?.(output) ?? true);
  return usable ? undefined : `${language.folder} cannot run here: it needs ${language.needs}`;
}

/**
 * @param {Language} language   its tools must be installed
 * @param {{ env?: Env, say?: Say }} [options]
 * @returns {Promise<string[]>} the program's command line
 * @throws {SetupError} with the output of the build
 */
export async function buildExample(language, { env = process.env, say = sayToStderr } = {}) {
  const source = join(projectRoot, language.folder);
  const name = `${basename(source)}-${await keyOf(language, source, env)}`;
  const target = join(cacheFolder(env), 'examples', name);
  await withLock(`${target}.lock`, {}, async () => {
    if (existsSync(join(target, READY))) return;
    say(`building ${language.folder}, once (${language.takes})`);
    // An earlier build was interrupted.
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    for (const command of language.build(source, target)) await built(language, command, source, env);
    writeFileSync(join(target, READY), '');
  });
  return language.program(source, target);
}

/**
 * Builds all available examples in parallel. The test that needs a failed build reports it.
 * @param {{ env?: Env, say?: Say }} [options]
 */
export async function buildExamples(options = {}) {
  const all = Object.values(LANGUAGES).map(async (language) => {
    if ((await whyUnavailable(language, options.env)) === undefined) await buildExample(language, options);
  });
  await Promise.allSettled(all);
}

/**
 * @param {Language} language
 * @param {Env} env
 */
function probed({ folder, probe: [command = '', ...args] }, env) {
  return run(command, args, { timeoutMs: PROBE_LIMIT_MS, env, cwd: join(projectRoot, folder) });
}

/**
 * @param {Language} language
 * @param {string} source
 * @param {Env} env
 */
async function keyOf(language, source, env) {
  const hash = createHash('sha256');
  if (language.versioned) hash.update((await probed(language, env)).output);
  for (const file of language.sources) hash.update(`\n${file}\n`).update(readFileSync(join(source, file)));
  return hash.digest('hex').slice(0, 16);
}

/**
 * @param {Language} language
 * @param {string[]} command
 * @param {string} source
 * @param {Env} env
 */
async function built({ folder }, [command = '', ...args], source, env) {
  const ended = await run(command, args, { timeoutMs: BUILD_LIMIT_MS, env, cwd: source });
  if (ended.ok) return;
  throw new SetupError(
    `${folder} could not be built: ${command} ${args.join(' ')} ${ended.reason}\n${lastLines(ended, 20)}`,
  );
}
