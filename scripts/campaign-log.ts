/**
 * The logs of campaigns in `docs/campaigns`, so that the worlds of several sessions add up. An entry names the code that
 * ran: a campaign of modified files is not recorded.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '..');
/** The code whose changes matter most to the worlds. */
const PRODUCT = ['workflows', 'domain', 'activities', 'payments', 'workers'].map((name) => `src/${name}`);

const count = z.number().int().min(0);
const counts = z.record(z.string(), count);
const hash = z.string().regex(/^[0-9a-f]{40}$/);
const code = z.strictObject({
  commit: hash,
  /** Git's hashes of the folders that ran. */
  trees: z.record(z.string(), hash),
  /** Of the trees of `src/workflows` and the other folders in `PRODUCT`. */
  product: z.string(),
  date: z.iso.date(),
  node: z.string(),
});
const run = code.extend({ from: count, seeds: count, wallSeconds: count });

export const worldsSchema = run.extend({
  failedSeeds: z.array(count),
  outcomes: counts,
  payouts: count,
  runs: count,
  processFaults: count,
  faultsHit: count,
  calls: count,
  activations: count,
  replays: count,
  events: count,
  virtualHours: z.number(),
  cpuSeconds: count,
});
export const mutantsSchema = run.extend({
  /** The number of seeds that found each mutant; null if all `seeds` missed it. */
  caughtAfter: z.record(z.string(), count.nullable()),
});
export const chaosSchema = run.extend({
  failedSeeds: z.array(count),
  outcomes: counts,
  payouts: count,
  reviewed: count,
  faultsMet: count,
  randomAnswers: count,
});
export type Worlds = z.output<typeof worldsSchema>;
export type Mutants = z.output<typeof mutantsSchema>;
export type Chaos = z.output<typeof chaosSchema>;
type Code = z.output<typeof code>;
export type Run = z.output<typeof run>;

/** The code of a campaign. Throws if it differs from its commit. */
export function recordedCode(campaign: 'worlds' | 'chaos'): Code {
  const folders = ['src', 'simulator', campaign];
  const dirty = git('status', '--porcelain', '--', ...folders);
  if (dirty) throw new Error(`a campaign of modified files is not recorded:\n${dirty}`);
  const treeOf = (folder: string) => git('rev-parse', `HEAD:${folder}`);
  return {
    commit: headCommit(),
    trees: Object.fromEntries(folders.map((folder) => [folder, treeOf(folder)])),
    product: createHash('sha256').update(PRODUCT.map(treeOf).join()).digest('hex').slice(0, 12),
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
  };
}

export function headCommit(): string {
  return git('rev-parse', 'HEAD');
}

export function readLog<T>(file: string, entry: z.ZodType<T>): T[] {
  return existsSync(file) ? z.array(entry).parse(JSON.parse(readFileSync(file, 'utf8'))) : [];
}

export function appendToLog<T>(file: string, schema: z.ZodType<T>, entry: T): void {
  const lines = [...readLog(file, schema), schema.parse(entry)].map((one) => JSON.stringify(one));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `[\n${lines.join(',\n')}\n]\n`);
}

/** Of entries of the same code whose seeds overlap, only the largest counts. */
export function withoutOverlaps<T extends { trees: Record<string, string>; from: number; seeds: number }>(
  entries: readonly T[],
): T[] {
  const counted: T[] = [];
  for (const entry of entries.toSorted((one, other) => other.seeds - one.seeds))
    if (!counted.some((other) => overlap(entry, other))) counted.push(entry);
  return entries.filter((entry) => counted.includes(entry));
}

function overlap(
  one: { trees: Record<string, string>; from: number; seeds: number },
  other: { trees: Record<string, string>; from: number; seeds: number },
): boolean {
  const isSameCode = JSON.stringify(one.trees) === JSON.stringify(other.trees);
  return isSameCode && one.from < other.from + other.seeds && other.from < one.from + one.seeds;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}
