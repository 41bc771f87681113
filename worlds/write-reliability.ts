/** The figures of the logged campaigns in `docs/reliability.md`. */
import { join } from 'node:path';
import {
  type Chaos,
  chaosSchema,
  type Mutants,
  mutantsSchema,
  type Run,
  readLog,
  type Worlds,
  withoutOverlaps,
  worldsSchema,
} from '../scripts/campaign-log.ts';
import { code, table } from '../scripts/markdown.ts';
import { MUTANTS } from './mutants/mutants.ts';

const DOCS = join(import.meta.dirname, '../docs');
export const RELIABILITY_PAGE = join(DOCS, 'reliability.md');
const LOGS = join(DOCS, 'campaigns');
const BEGIN = '<!-- begin campaigns -->';
const END = '<!-- end campaigns -->';

/** The page with its figures replaced. */
export function reliabilityPage(page: string, logs = LOGS): string {
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (before < 0 || after < before) throw new Error('docs/reliability.md has no markers for the campaigns');
  return `${page.slice(0, before + BEGIN.length)}\n\n${figures(logs)}\n\n${page.slice(after)}`;
}

function figures(logs: string): string {
  const worlds = withoutOverlaps(readLog(join(logs, 'worlds.json'), worldsSchema));
  const mutants = readLog(join(logs, 'mutants.json'), mutantsSchema);
  const chaos = withoutOverlaps(readLog(join(logs, 'chaos.json'), chaosSchema));
  return [
    section('Simulation', worlds, WORLD_COLUMNS),
    `All worlds together are ${years(worlds)} years of virtual time.`,
    failedSeeds(worlds),
    section('Chaos', chaos, CHAOS_COLUMNS),
    ['### Mutants', FROM, mutants.length > 0 ? mutantTable(mutants) : NONE].join('\n\n'),
  ].join('\n\n');
}

const NONE = 'No campaign is recorded.';
const FROM = `"From N": the run began at seed N, often just before a world that an earlier run had found, so its count
doesn't say how rare the fault is. Worlds that can't show a mutant aren't counted.`;
const HOURS_PER_YEAR = 365.25 * 24;

interface Columns<T> {
  head: readonly string[];
  cells(entries: readonly T[]): string[];
}

const WORLD_COLUMNS: Columns<Worlds> = {
  head: ['worlds', 'with a violation', 'payouts', 'process faults', 'faults in calls', 'replays', 'hours'],
  cells: (all) => [
    ...[sum(all, ({ seeds }) => seeds), sum(all, ({ failedSeeds }) => failedSeeds.length)],
    ...[sum(all, ({ payouts }) => payouts), sum(all, ({ processFaults }) => processFaults)],
    ...[sum(all, ({ faultsHit }) => faultsHit), sum(all, ({ replays }) => replays)],
    sum(all, ({ virtualHours }) => virtualHours),
  ],
};
const CHAOS_COLUMNS: Columns<Chaos> = {
  head: ['seeds', 'with a violation', 'payouts', 'calls with a fault', 'random responses'],
  cells: (all) => [
    ...[sum(all, ({ seeds }) => seeds), sum(all, ({ failedSeeds }) => failedSeeds.length)],
    ...[sum(all, ({ payouts }) => payouts), sum(all, ({ faultsMet }) => faultsMet)],
    sum(all, ({ randomAnswers }) => randomAnswers),
  ],
};

/** A row for all entries, one for those with the newest product code, and one for each commit. */
function section<T extends Run>(title: string, entries: readonly T[], { head, cells }: Columns<T>): string {
  const newest = entries.at(-1);
  if (!newest) return [`### ${title}`, NONE].join('\n\n');
  const rows = [
    ['all', ...cells(entries)],
    ['newest product code', ...cells(entries.filter(({ product }) => product === newest.product))],
    ...byCommit(entries).map((own) => [
      `${shortCommit(own[0])}, ${own.at(-1)?.date}, ${seedRanges(own)}`,
      ...cells(own),
    ]),
  ];
  return [`### ${title}`, table(['code and seeds', ...head], rows)].join('\n\n');
}

/** Newest commit first. */
function byCommit<T extends Run>(entries: readonly T[]): [T, ...T[]][] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const entry of entries) {
    const own = groups.get(entry.commit);
    if (own) own.push(entry);
    else groups.set(entry.commit, [entry]);
  }
  return [...groups.values()].toReversed();
}

function shortCommit({ commit }: Run): string {
  return code(commit.slice(0, 8));
}

/** Such as `1–500, 701–900`. Neighboring entries are one range. */
function seedRanges(entries: readonly Run[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const { from, seeds } of entries.toSorted((one, other) => one.from - other.from)) {
    const last = ranges.at(-1);
    if (last?.to === from - 1) last.to = from + seeds - 1;
    else ranges.push({ from, to: from + seeds - 1 });
  }
  return ranges.map(({ from, to }) => `${from}–${to}`).join(', ');
}

/** By commit: a seed gives the same world only with the same code. */
function failedSeeds(entries: readonly Worlds[]): string {
  const failing = entries.filter((entry) => entry.failedSeeds.length > 0);
  if (failing.length === 0) return 'No seed has a violation.';
  const rows = byCommit(failing).map((own) => {
    const seeds = own.flatMap((entry) => entry.failedSeeds);
    return [shortCommit(own[0]), seeds.toSorted((one, other) => one - other).join(', ')];
  });
  return table(['code', 'seeds with a violation'], rows);
}

/** The newest result of each mutant in `MUTANTS`. Results of removed ones are left out. */
function mutantTable(entries: readonly Mutants[]): string {
  const newest = new Map(
    entries.flatMap((entry) =>
      Object.entries(entry.caughtAfter).map(([name, seeds]) => [name, { entry, seeds }] as const),
    ),
  );
  const names = MUTANTS.map(({ name }) => name).toSorted((one, other) => one.localeCompare(other));
  return table(
    ['mutant', 'caught after', 'code'],
    names.map((name) => {
      const result = newest.get(name);
      if (!result) return [code(name), 'not run', ''];
      const { entry, seeds } = result;
      const count = seeds === null ? `not in ${worlds(entry.seeds)}` : worlds(seeds);
      return [code(name), entry.from === 1 ? count : `${count}, from ${entry.from}`, shortCommit(entry)];
    }),
  );
}

function worlds(count: number): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? 'world' : 'worlds'}`;
}

function years(worlds: readonly Worlds[]): string {
  return (total(worlds, ({ virtualHours }) => virtualHours) / HOURS_PER_YEAR).toFixed(2);
}

function sum<T>(entries: readonly T[], of: (entry: T) => number): string {
  return total(entries, of).toLocaleString('en-US');
}

function total<T>(entries: readonly T[], of: (entry: T) => number): number {
  return entries.reduce((before, entry) => before + of(entry), 0);
}
