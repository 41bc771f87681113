/**
 * Builds the examples in other languages into the cache folder, once per version of their sources. The languages are
 * optional: a test whose language is missing is skipped.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cacheFolder, run, runOrThrow } from './cache.ts';
import { withLock } from './lock.mjs';
import { projectRoot, say } from './process.mjs';

export interface Language {
  /** The folder of its sources, in the project. */
  folder: string;
  /** What an operator has to install. */
  needs: string;
  /** Exits with 0 if the tools are installed, and prints their version. */
  probe: readonly string[];
  /** If the exit code of the probe doesn't tell. */
  isNewEnough?: (printed: string) => boolean;
  /** A build works only with the version that made it. */
  versioned?: boolean;
  /** The inputs of a build. */
  sources: readonly string[];
  /** How long the first build takes. */
  takes: string;
  /** The commands to run in `source`, in order. */
  build(source: string, target: string): string[][];
  /** The built program's command line, without arguments. */
  program(source: string, target: string): string[];
}

const IS_NEW_ENOUGH =
  'import ensurepip, sys, venv; print(sys.version, sys.executable); sys.exit(sys.version_info < (3, 10))';

/** A virtual environment with the packages of its `requirements.txt`. */
export const PYTHON: Language = {
  folder: 'examples/python',
  needs: 'Python 3.10 or newer with its venv module, as `python3` on PATH',
  probe: ['python3', '-c', IS_NEW_ENOUGH],
  versioned: true,
  // The program itself isn't built: it runs from its source folder.
  sources: ['requirements.txt'],
  takes: '30 MB, about 10 s',
  build: (_source, target) => [
    ['python3', '-m', 'venv', target],
    [join(target, 'bin', 'pip'), 'install', '--quiet', '--requirement', 'requirements.txt'],
  ],
  program: (source, target) => [join(target, 'bin', 'python'), join(source, 'pay.py')],
};

/** One binary. Go keeps the packages in its own caches. */
const GO: Language = {
  folder: 'examples/go',
  needs: 'Go 1.26 or newer, as `go` on PATH',
  // Runs in the example's folder, where `go.mod` names the required version: an older Go downloads it, or fails.
  probe: ['go', 'version'],
  sources: ['codec.go', 'go.mod', 'go.sum', 'main.go'],
  takes: '20 MB, about 1 min',
  build: (_source, target) => [['go', 'build', '-o', join(target, 'pay'), '.']],
  program: (_source, target) => [join(target, 'pay')],
};

/** A jar and its dependencies, built with Maven, which keeps downloads in its own folder. */
const JAVA: Language = {
  folder: 'examples/java',
  needs: 'a JDK 17 or newer and Maven, as `java`, `javac` and `mvn` on PATH',
  probe: ['sh', '-c', 'mvn --version && java --version && javac --version'],
  isNewEnough: (output) => Number(/^javac (\d+)/m.exec(output)?.[1]) >= 17,
  sources: ['pom.xml', 'src/main/java/payouts/EncryptionCodec.java', 'src/main/java/payouts/Pay.java'],
  takes: '80 MB, about 1 min',
  build: (_source, target) => [['mvn', '-q', '-B', '-ntp', 'package', `-Dfolder=${target}`]],
  // A short-lived process needs neither the second compiler nor a parallel garbage collector.
  program: (_source, target) =>
    `java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -jar`.split(' ').concat(join(target, 'pay.jar')),
};

export const LANGUAGES = { python: PYTHON, go: GO, java: JAVA };

/** A JVM takes seconds on a busy machine, and Go may download a newer toolchain. */
const PROBE_LIMIT_MS = 3 * 60_000;
const BUILD_LIMIT_MS = 15 * 60_000;
const READY = '.ready';

/** Why an example can't run on this machine; undefined if it can. */
export async function whyUnavailable(language: Language): Promise<string | undefined> {
  const { output, problem } = await probed(language);
  const usable = problem === undefined && (language.isNewEnough?.(output) ?? true);
  return usable ? undefined : `${language.folder} cannot run here: it needs ${language.needs}`;
}

/**
 * Returns the program's command line. The tools of the language must be installed. Throws `SetupError` with the output of
 * the build.
 */
export async function buildExample(language: Language): Promise<string[]> {
  const { folder, versioned, sources, takes } = language;
  const source = join(projectRoot, folder);
  const hash = createHash('sha256');
  if (versioned) hash.update((await probed(language)).output);
  for (const file of sources) hash.update(`\n${file}\n`).update(readFileSync(join(source, file)));
  const name = `${basename(source)}-${hash.digest('hex').slice(0, 16)}`;
  const target = join(cacheFolder(process.env), 'examples', name);
  await withLock(`${target}.lock`, {}, async () => {
    if (existsSync(join(target, READY))) return;
    say(`building ${folder}, once (${takes})`);
    // An earlier build was interrupted.
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    for (const [command = '', ...args] of language.build(source, target))
      await runOrThrow(command, args, { timeoutMs: BUILD_LIMIT_MS, cwd: source });
    writeFileSync(join(target, READY), '');
  });
  return language.program(source, target);
}

/** Builds all available examples in parallel. The test that needs a failed build reports it. */
export async function buildExamples(): Promise<void> {
  const all = Object.values(LANGUAGES).map(async (language) => {
    if ((await whyUnavailable(language)) === undefined) await buildExample(language);
  });
  await Promise.allSettled(all);
}

function probed({ folder, probe: [command = '', ...args] }: Language) {
  return run(command, args, { timeoutMs: PROBE_LIMIT_MS, cwd: join(projectRoot, folder) });
}
