/**
 * Builds the examples in other languages into the cache folder, once per version of their sources. The languages are
 * optional: a test whose language is missing is skipped.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { lastLines, run } from './child.mjs';
import { SetupError, say as sayToStderr } from './console.mjs';
import { GO } from './languages/go.mjs';
import { JAVA } from './languages/java.mjs';
import { PYTHON } from './languages/python.mjs';
import { withLock } from './lock.mjs';
import { cacheFolder, projectRoot } from './paths.mjs';

/**
 * @typedef {import('./console.mjs').Say} Say
 * @typedef {import('./paths.mjs').Env} Env
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
