/**
 * How Node runs our programs. From source, each process compiles TypeScript (half the cost of a short process) and each
 * worker bundles its workflows. A caller that starts many processes compiles and bundles once.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflows } from '../src/workers/workflow-bundle.ts';
import { tsc } from './setup/paths.mjs';

const ROOT = join(import.meta.dirname, '..');
/** Inside node_modules, so that compiled files find their packages. */
const CACHE = join(ROOT, 'node_modules/.cache/durable-payouts');
/** Names the folder of the compiled programs. */
const COMPILED_PROGRAMS = 'PAYOUTS_COMPILED_PROGRAMS';

/** Compiles `src` and `simulator` once for this process and its child processes. */
export function compilePrograms(): void {
  if (process.env[COMPILED_PROGRAMS] !== undefined) return;
  mkdirSync(CACHE, { recursive: true });
  const folder = folderOfThisProcess(join(CACHE, 'programs-'));
  const project = ['--project', join(ROOT, 'tsconfig.programs.json'), '--outDir', folder];
  const { status, stdout } = spawnSync(process.execPath, [tsc, ...project], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the programs cannot be compiled:\n${stdout}`);
  process.env[COMPILED_PROGRAMS] = folder;
}

let bundled: Promise<string> | undefined;

/** Bundles the workflows once, for all workers that this process starts, into a file that it deletes at its exit. */
export function bundledWorkflows(): Promise<string> {
  bundled ??= bundle();
  return bundled;
}

async function bundle(): Promise<string> {
  const { code } = await bundleWorkflows();
  const file = join(folderOfThisProcess(join(tmpdir(), 'payouts-workflows-')), 'workflows.js');
  writeFileSync(file, code);
  return file;
}

/** A folder that is deleted when this process exits. */
function folderOfThisProcess(prefix: string): string {
  const folder = mkdtempSync(prefix);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Node's arguments for a program. `program`: a source file, relative to the project's root. */
export function programArguments(program: string): string[] {
  const folder = process.env[COMPILED_PROGRAMS];
  const compiled = folder === undefined ? '' : join(folder, program.replace(/\.ts$/, '.js'));
  return existsSync(compiled) ? [compiled] : ['--import', 'tsx', join(ROOT, program)];
}
