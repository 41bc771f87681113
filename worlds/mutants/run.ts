/**
 * `npm run simulate -- --mutants`: measures what the simulation finds. Each mutant plants a bug in a copy of this
 * project, and seeded worlds run there until one has a violation. A surviving mutant shows a bug that the simulation
 * misses.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appendToLog, type Mutants, mutantsSchema, recordedCode } from '../../scripts/campaign-log.ts';
import { bundledWorkflows } from '../../scripts/programs.ts';
import { MUTANTS, type Mutant } from './mutants.ts';

export interface MutantOptions {
  /** The limit for each mutant. */
  seeds: number;
  from: number;
  processes: number;
  /** Names of mutants. Default: all. */
  only?: readonly string[] | undefined;
  /** The log to which each result is appended. */
  record?: string | undefined;
}

type MutantResult =
  | { kind: 'caught'; seeds: number; by: string }
  | { kind: 'survived' }
  /** The simulation itself failed, so the result is inconclusive. */
  | { kind: 'broken'; why: string };

const ROOT = join(import.meta.dirname, '../..');
/** The paths that a simulation needs. */
const COPIED_PATHS = ['src', 'simulator', 'worlds', 'chaos', 'scripts', 'package.json'] as const;
const CONFIGS = ['tsconfig.json', 'tsconfig.base.json'] as const;
const MAX_LINE_LENGTH = 160;

/** Returns the exit code: 1 if a mutant survived or failed to run. */
export async function runMutants(options: MutantOptions): Promise<number> {
  const unknown = options.only?.filter((name) => !MUTANTS.some((mutant) => mutant.name === name)) ?? [];
  if (unknown.length > 0) {
    console.error(`no mutant ${unknown.join(', ')}; the mutants are ${MUTANTS.map(nameOf).join(', ')}`);
    return 1;
  }
  const selected = MUTANTS.filter(({ name }) => options.only?.includes(name) ?? true);
  const record = recorder(options);
  let caught = 0;
  for (const mutant of selected) {
    const result = await testMutant(mutant, options);
    if (result.kind === 'caught') caught += 1;
    if (result.kind !== 'broken') record({ [mutant.name]: result.kind === 'caught' ? result.seeds : null });
    console.log(`${mutant.name}: ${describeResult(result, options)}`);
    if (result.kind !== 'caught') console.log(`  ${mutant.file}: ${mutant.what}`);
  }
  console.log(`${caught} of ${selected.length} mutants caught`);
  return caught === selected.length ? 0 : 1;
}

/**
 * Records each result at once, so that an interrupted campaign loses none. Reads the code now: it may change before the
 * campaign ends.
 */
function recorder({ record, from, seeds }: MutantOptions): (caughtAfter: Mutants['caughtAfter']) => void {
  if (record === undefined) return () => undefined;
  const code = recordedCode('worlds');
  let startedAtMs = performance.now();
  return (caughtAfter) => {
    const endedAtMs = performance.now();
    const wallSeconds = Math.round((endedAtMs - startedAtMs) / 1_000);
    startedAtMs = endedAtMs;
    appendToLog(record, mutantsSchema, { ...code, from, seeds, wallSeconds, caughtAfter });
  };
}

/** Returns the text of the mutant's file with the bug. Throws if `find` does not occur exactly once. */
export function mutated(text: string, { name, find, replace }: Mutant): string {
  const [before, after, ...more] = text.split(find);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error(
      `the text of the mutant ${name} occurs ${more.length + (after === undefined ? 0 : 1)} times`,
    );
  return before + replace + after;
}

export function fileOf({ file }: Mutant): string {
  return join(ROOT, file);
}

async function testMutant(mutant: Mutant, options: MutantOptions): Promise<MutantResult> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-mutant-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.on('exit', remove);
  try {
    for (const part of [...COPIED_PATHS, ...CONFIGS])
      cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(folder, 'node_modules'));
    const text = readFileSync(fileOf(mutant), 'utf8');
    writeFileSync(join(folder, mutant.file), mutated(text, mutant));
    return await runSimulation(folder, mutant, options);
  } finally {
    remove();
    process.off('exit', remove);
  }
}

async function runSimulation(
  folder: string,
  { name, isUpgrade }: Mutant,
  { seeds, from, processes }: MutantOptions,
): Promise<MutantResult> {
  const numbers = ['--seeds', seeds, '--from', from, '--processes', processes].map(String);
  const released = isUpgrade ? ['--released', await bundledWorkflows()] : [];
  const args = ['--until-violation', '--needed-by', name, ...numbers, ...released];
  const child = spawn(process.execPath, ['--import', 'tsx', join(folder, 'worlds/main.ts'), ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = () => child.kill();
  process.on('exit', stop);
  try {
    return parseOutput(await outputOf(child));
  } finally {
    process.off('exit', stop);
  }
}

function outputOf(child: ChildProcess): Promise<{ out: string; err: string }> {
  return new Promise((resolve, reject) => {
    const output = { out: '', err: '' };
    child.stdout?.on('data', (chunk: Buffer) => {
      output.out += chunk.toString();
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      output.err += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', () => resolve(output));
  });
}

function parseOutput({ out, err }: { out: string; err: string }): MutantResult {
  const seeds = /^\d+ of (\d+) seeds without a violation$/m.exec(out)?.[1];
  if (seeds === undefined) return { kind: 'broken', why: err.trim().slice(-1_000) || 'no output' };
  const by = /^ {2}VIOLATION (.*)$/m.exec(out)?.[1];
  return by === undefined ? { kind: 'survived' } : { kind: 'caught', seeds: Number(seeds), by };
}

function describeResult(result: MutantResult, { seeds }: MutantOptions): string {
  if (result.kind === 'survived') return `SURVIVED ${seeds} seeds`;
  if (result.kind === 'broken') return `COULD NOT RUN: ${result.why}`;
  const { by } = result;
  const short = by.length > MAX_LINE_LENGTH ? `${by.slice(0, MAX_LINE_LENGTH)}…` : by;
  return `caught after ${result.seeds} ${result.seeds === 1 ? 'seed' : 'seeds'}: ${short}`;
}

function nameOf({ name }: Mutant): string {
  return name;
}
