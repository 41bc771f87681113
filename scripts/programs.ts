/**
 * How Node runs our programs. From source, each process compiles TypeScript (half the cost of a short process) and each
 * worker bundles its workflows. A caller that starts many processes compiles and bundles once, and finds what an earlier
 * one made from the same sources.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { bundleWorkflows } from '../src/workers/workflow-bundle.ts';
import { tsc } from './setup/cache.ts';

const ROOT = join(import.meta.dirname, '..');
/** Inside node_modules, so that compiled files find their packages. */
const CACHE = join(ROOT, 'node_modules/.cache/durable-payouts');
/** Names the folder of the compiled programs. */
const COMPILED_PROGRAMS = 'PAYOUTS_COMPILED_PROGRAMS';
const COMPILED_FOLDERS = ['src', 'simulator'];
/** Another command may still use an older one. */
const KEPT_MS = 24 * 3_600_000;

/** Compiles `src` and `simulator` for this process and its child processes. */
export async function compilePrograms(): Promise<void> {
  if (process.env[COMPILED_PROGRAMS] !== undefined) return;
  process.env[COMPILED_PROGRAMS] = await cached('programs', COMPILED_FOLDERS, (folder) => {
    const project = ['--project', join(ROOT, 'tsconfig.programs.json'), '--outDir', folder];
    const { status, stdout } = spawnSync(process.execPath, [tsc, ...project], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`the programs cannot be compiled:\n${stdout}`);
  });
}

/** The file of the bundled workflows, for all workers that this process starts. */
export async function bundledWorkflows(): Promise<string> {
  const file = 'workflows.js';
  const folder = await cached('bundle', ['src'], async (made) =>
    writeFileSync(join(made, file), (await bundleWorkflows()).code),
  );
  return join(folder, file);
}

/** The folder that `make` filled from these sources, now or in an earlier command. */
async function cached(
  name: string,
  sources: readonly string[],
  make: (folder: string) => Promise<void> | void,
): Promise<string> {
  const target = join(CACHE, `${name}-${digestOf(sources)}`);
  if (existsSync(target)) return target;
  mkdirSync(CACHE, { recursive: true });
  removeOld(name);
  const folder = mkdtempSync(join(CACHE, 'making-'));
  try {
    await make(folder);
    renameSync(folder, target);
  } catch (error) {
    // Another command was faster.
    if (!existsSync(target)) throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return target;
}

function digestOf(sources: readonly string[]): string {
  const hash = createHash('sha256');
  const files = sources.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );
  const settings = readdirSync(ROOT).filter((file) => /^(tsconfig.*|package-lock)\.json$/.test(file));
  for (const file of [...files, ...settings].sort()) {
    if (!statSync(join(ROOT, file)).isFile()) continue;
    hash.update(`\n${file}\n`).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

function removeOld(name: string): void {
  for (const file of readdirSync(CACHE).filter(
    (one) => one.startsWith(`${name}-`) || one.startsWith('making-'),
  )) {
    const path = join(CACHE, basename(file));
    if (Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** Node's arguments for a program. `program`: a source file, relative to the project's root. */
export function programArguments(program: string): string[] {
  // The npm package is compiled.
  const compiled = join(process.env[COMPILED_PROGRAMS] ?? ROOT, program.replace(/\.ts$/, '.js'));
  return existsSync(compiled) ? [compiled] : ['--import', 'tsx', join(ROOT, program)];
}
