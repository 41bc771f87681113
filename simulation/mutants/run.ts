/**
 * `npm run simulate -- --mutants`: what the simulation is worth. Each mutant is a bug in a copy of this project, and
 * seeded worlds run there until one has a violation. A mutant that survives says what nobody would notice.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MUTANTS, type Mutant } from './mutants.ts';

export interface MutantOptions {
  /** At most, for each mutant. */
  seeds: number;
  from: number;
  processes: number;
  /** By name; all without it. */
  only?: readonly string[] | undefined;
}

type Fate =
  | { kind: 'caught'; seeds: number; by: string }
  | { kind: 'survived' }
  /** The simulation itself could not run: such a mutant says nothing. */
  | { kind: 'broken'; why: string };

const ROOT = join(import.meta.dirname, '../..');
/** What a simulation is made of. */
const PARTS = ['src', 'simulator', 'simulation', 'chaos', 'scripts', 'package.json'] as const;
const CONFIGS = ['tsconfig.json', 'tsconfig.base.json'] as const;
const LONGEST_LINE = 160;

/** Answers the exit code: 1 where a mutant survived or could not run. */
export async function runMutants(options: MutantOptions): Promise<number> {
  const unknown = options.only?.filter((name) => !MUTANTS.some((mutant) => mutant.name === name)) ?? [];
  if (unknown.length > 0) {
    console.error(`there is no mutant ${unknown.join(', ')}; there are ${MUTANTS.map(nameOf).join(', ')}`);
    return 1;
  }
  const wanted = MUTANTS.filter(({ name }) => options.only?.includes(name) ?? true);
  let caught = 0;
  for (const mutant of wanted) {
    const fate = await fateOf(mutant, options);
    if (fate.kind === 'caught') caught += 1;
    console.log(`${mutant.name}: ${inWords(fate, options)}`);
    if (fate.kind !== 'caught') console.log(`  ${mutant.file}: ${mutant.what}`);
  }
  console.log(`${caught} of ${wanted.length} mutants caught`);
  return caught === wanted.length ? 0 : 1;
}

/** The text of the mutant's file with the bug in it. Throws where the place is not there exactly once. */
export function mutated(text: string, { name, find, replace }: Mutant): string {
  const [before, after, ...more] = text.split(find);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error(
      `the place of the mutant ${name} is there ${more.length + (after === undefined ? 0 : 1)} times`,
    );
  return before + replace + after;
}

export function fileOf({ file }: Mutant): string {
  return join(ROOT, file);
}

async function fateOf(mutant: Mutant, options: MutantOptions): Promise<Fate> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-mutant-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.on('exit', remove);
  try {
    for (const part of [...PARTS, ...CONFIGS])
      cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(folder, 'node_modules'));
    const text = readFileSync(fileOf(mutant), 'utf8');
    writeFileSync(join(folder, mutant.file), mutated(text, mutant));
    return await simulated(folder, options);
  } finally {
    remove();
    process.off('exit', remove);
  }
}

async function simulated(folder: string, { seeds, from, processes }: MutantOptions): Promise<Fate> {
  const numbers = ['--seeds', seeds, '--from', from, '--processes', processes].map(String);
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', join(folder, 'simulation/main.ts'), '--until-violation', ...numbers],
    { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const stop = () => child.kill();
  process.on('exit', stop);
  try {
    return told(await outputOf(child));
  } finally {
    process.off('exit', stop);
  }
}

function outputOf(child: ChildProcess): Promise<{ out: string; err: string }> {
  return new Promise((resolve, reject) => {
    const said = { out: '', err: '' };
    child.stdout?.on('data', (chunk: Buffer) => {
      said.out += chunk.toString();
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      said.err += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', () => resolve(said));
  });
}

function told({ out, err }: { out: string; err: string }): Fate {
  const seeds = /^\d+ of (\d+) seeds without a violation$/m.exec(out)?.[1];
  if (seeds === undefined) return { kind: 'broken', why: err.trim().slice(-1_000) || 'it said nothing' };
  const by = /^ {2}VIOLATION (.*)$/m.exec(out)?.[1];
  return by === undefined ? { kind: 'survived' } : { kind: 'caught', seeds: Number(seeds), by };
}

function inWords(fate: Fate, { seeds }: MutantOptions): string {
  if (fate.kind === 'survived') return `SURVIVED ${seeds} seeds`;
  if (fate.kind === 'broken') return `COULD NOT RUN: ${fate.why}`;
  const { by } = fate;
  const short = by.length > LONGEST_LINE ? `${by.slice(0, LONGEST_LINE)}…` : by;
  return `caught after ${fate.seeds} ${fate.seeds === 1 ? 'seed' : 'seeds'}: ${short}`;
}

function nameOf({ name }: Mutant): string {
  return name;
}
