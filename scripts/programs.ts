/**
 * Our programs as Node runs them. From their sources that takes a compiler in each process, half of what a short one
 * costs, and a worker bundles its workflows; whoever starts many of them compiles and bundles once.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { bundleOptions } from '../src/workers/workflow-bundle.ts';

const ROOT = join(import.meta.dirname, '..');
/** Below node_modules, where compiled files find their packages. */
const CACHE = join(ROOT, 'node_modules/.cache/durable-payouts');
/** Names the folder of the compiled programs. */
const COMPILED_PROGRAMS = 'PAYOUTS_COMPILED_PROGRAMS';

/** Compiles `src` and `simulator` once for this process and those that it starts. */
export function compilePrograms(): void {
  if (process.env[COMPILED_PROGRAMS] !== undefined) return;
  mkdirSync(CACHE, { recursive: true });
  const folder = folderOfThisProcess(join(CACHE, 'programs-'));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const project = ['--project', join(ROOT, 'tsconfig.programs.json'), '--outDir', folder];
  const { status, stdout } = spawnSync(process.execPath, [tsc, ...project], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the programs cannot be compiled:\n${stdout}`);
  process.env[COMPILED_PROGRAMS] = folder;
}

let bundled: Promise<string> | undefined;

/** A file, for the life of this process: the workflows, bundled once for all workers that it starts. */
export function bundledWorkflows(): Promise<string> {
  bundled ??= bundle();
  return bundled;
}

async function bundle(): Promise<string> {
  const { code } = await bundleWorkflowCode({ ...bundleOptions(), logger: new DefaultLogger('WARN') });
  const file = join(folderOfThisProcess(join(tmpdir(), 'payouts-workflows-')), 'workflows.js');
  writeFileSync(file, code);
  return file;
}

/** Goes when the process ends. */
function folderOfThisProcess(prefix: string): string {
  const folder = mkdtempSync(prefix);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What Node is called with. `program`: a source file, from the project's root. */
export function programArguments(program: string): string[] {
  const folder = process.env[COMPILED_PROGRAMS];
  const compiled = folder === undefined ? '' : join(folder, program.replace(/\.ts$/, '.js'));
  return existsSync(compiled) ? [compiled] : ['--import', 'tsx', join(ROOT, program)];
}
