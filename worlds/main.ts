/** `npm run simulate`: runs seeded worlds of the whole product, in one process per core. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { appendToLog, recordedCode, worldsSchema } from '../scripts/campaign-log.ts';
import { bundledWorkflows } from '../scripts/programs.ts';
import { countingInto, printBranches } from './coverage/branches.ts';
import { Tally } from './coverage/tally.ts';
import { MUTANTS } from './mutants/mutants.ts';
import { runMutants } from './mutants/run.ts';
import { planOf } from './payouts/plan.ts';
import type { Plan } from './payouts/planned.ts';
import { type Summary, summarySchema } from './seed-process.ts';

const HISTORIES = join(import.meta.dirname, '../test/histories');
const SEEDS = 20;
const SEEDS_PER_MUTANT = 5_000;

const program = new Command('simulate')
  .description(
    'run seeded worlds without a Temporal server: a seed repeats the same events in the same order',
  )
  .option(
    '--seeds <count>',
    `number of seeds (default ${SEEDS}); with --mutants, the limit for each mutant (default ${SEEDS_PER_MUTANT})`,
    positiveInteger,
  )
  .option('--from <seed>', 'the first seed (default 1)', positiveInteger)
  .option('--max-payouts <count>', 'skip the seeds of larger worlds', positiveInteger)
  .option('--needed-by <mutant>', 'skip the worlds that cannot show this planted bug')
  .option('--processes <count>', 'number of parallel processes', positiveInteger, availableParallelism())
  .option('--trace', 'print the whole timeline of every world, with or without a violation')
  .option('--coverage', 'report which hazards, pairs of faults and lines of the workflows the worlds reached')
  .option('--until-violation', 'stop at the first violation, without its timeline')
  .option(
    '--released <bundle>',
    'workflow code that the workers run before an upgrade (npm run bundle-workflows -- FILE); default: the last release',
    lastRelease(),
  )
  .option('--mutants', 'plant bugs, one at a time, and report how many seeds find each')
  .option('--only <names>', 'names of mutants, separated by commas', list)
  .option('--record <file>', 'append the result to a log in docs/campaigns, if the code is committed')
  .parse();
const options = program.opts<{
  seeds?: number;
  from?: number;
  maxPayouts?: number;
  neededBy?: string;
  processes: number;
  trace?: true;
  coverage?: true;
  untilViolation?: true;
  released?: string;
  mutants?: true;
  only?: string[];
  record?: string;
}>();
const {
  from = 1,
  maxPayouts = Number.POSITIVE_INFINITY,
  processes,
  released,
  mutants,
  only,
  record,
} = options;
const mutant = MUTANTS.find(({ name }) => name === options.neededBy);
if (options.neededBy !== undefined && !mutant) program.error(`no mutant ${options.neededBy}`);
const needs = mutant?.needs ?? (() => true);
const { trace = false, coverage = false, untilViolation = false } = options;
const seeds = options.seeds ?? (mutants ? SEEDS_PER_MUTANT : SEEDS);

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
if (mutants) process.exit(await runMutants({ seeds, from, processes, only, record }));
if (
  record !== undefined &&
  (untilViolation || options.maxPayouts !== undefined || options.neededBy !== undefined)
)
  program.error('--record needs all seeds: without --until-violation, --max-payouts and --needed-by');
/** Before the first world: the code may change meanwhile. */
const code = record === undefined ? undefined : recordedCode('worlds');

/** Worlds leave memory behind, so each process runs a limited number of seeds. */
const SEEDS_PER_PROCESS = 500;
/** Most objects of a world die young. A larger young generation saves a quarter of the time. */
const EXEC_ARGV = [...process.execArgv, '--max-semi-space-size=64'];
const PROGRESS_INTERVAL_MS = 10_000;
const HOUR_MS = 3_600_000;

const bundle = await bundledWorkflows();
const counters = join(dirname(bundle), 'counters');

const startedAtMs = performance.now();
let next = from;
let left = seeds;
let done = 0;
let failed = 0;
const failedSeeds: number[] = [];
let cpuMs = 0;
const outcomes: Record<string, number> = {};
const children = new Set<ChildProcess>();
const tally = new Tally();
const sums: Summary['sums'] = {
  ...{ payouts: 0, runs: 0, processFaults: 0, faultsHit: 0, calls: 0 },
  ...{ activations: 0, replays: 0, events: 0, virtualMs: 0 },
};
const progress = setInterval(
  () => console.error(`${done} of ${seeds} seeds, ${failed} failed`),
  PROGRESS_INTERVAL_MS,
);
await Promise.all(Array.from({ length: Math.min(processes, seeds) }, runProcess));
clearInterval(progress);
console.log(`${done - failed} of ${done} seeds without a violation`);
console.log(summaryText());
recordCampaign();
if (coverage) {
  for (const line of tally.summaryLines()) console.log(line);
  printBranches(counters);
}
process.exit(failed > 0 ? 1 : 0);

/** Runs one process after another until no seed is left. */
async function runProcess(): Promise<void> {
  while (hasMoreSeeds()) {
    const child = newProcess();
    children.add(child);
    await nextMessage(child);
    for (let count = 0; count < SEEDS_PER_PROCESS && hasMoreSeeds(); count += 1) {
      child.send({ seed: nextSeed(), shrink: !trace && !untilViolation, untilViolation, trace, coverage });
      const answer = await nextMessage(child);
      if (answer === 'stopped') return;
      addSummary(summarySchema.parse(answer));
    }
    children.delete(child);
    await endProcess(child);
    if (isStopped()) for (const other of children) other.kill();
  }
}

/** The process exits by itself and writes its coverage counters. A violation may have killed it after its last answer. */
async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  if (child.connected) child.disconnect();
  await exit;
}

function newProcess(): ChildProcess {
  const env = coverage ? countingInto(counters) : process.env;
  const bundles = [bundle, ...(released === undefined ? [] : [released])];
  return fork(join(import.meta.dirname, 'seed-process.ts'), bundles, { env, execArgv: EXEC_ARGV });
}

/** A world may take minutes: the first violation does not wait for the other worlds. */
function isStopped(): boolean {
  return untilViolation && failed > 0;
}

function hasMoreSeeds(): boolean {
  return left > 0 && !isStopped();
}

function nextSeed(): number {
  left -= 1;
  while (!isWanted(planOf(next))) next += 1;
  return next++;
}

function isWanted(plan: Plan): boolean {
  return plan.payouts.length <= maxPayouts && needs(plan);
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (status: number | null) => {
      if (isStopped()) resolve('stopped');
      else reject(new Error(`a process of the simulation exited with ${status}`));
    };
    child.once('exit', onExit);
    child.once('message', (answer) => {
      child.off('exit', onExit);
      resolve(answer);
    });
  });
}

function addSummary(summary: Summary): void {
  done += 1;
  cpuMs += summary.cpuMs;
  for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += summary.sums[key];
  tally.add(summary);
  for (const [outcome, count] of Object.entries(summary.outcomes))
    outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
  if (summary.violations.length === 0 && !trace) return;
  console.log(`seed ${summary.seed}: npm run simulate -- --seeds 1 --from ${summary.seed}`);
  if (!untilViolation) for (const line of summary.timeline) console.log(`  ${line}`);
  for (const violation of summary.violations) console.log(`  VIOLATION ${violation.slice(0, 1_000)}`);
  if (summary.violations.length === 0) return;
  failed += 1;
  failedSeeds.push(summary.seed);
}

function recordCampaign(): void {
  if (record === undefined || !code) return;
  const { virtualMs, ...counts } = sums;
  appendToLog(record, worldsSchema, {
    ...code,
    ...{ from, seeds: done, failedSeeds: failedSeeds.toSorted((one, other) => one - other), outcomes },
    ...counts,
    virtualHours: Math.round(virtualMs / HOUR_MS),
    cpuSeconds: Math.round(cpuMs / 1_000),
    wallSeconds: Math.round((performance.now() - startedAtMs) / 1_000),
  });
}

function summaryText(): string {
  const ends = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  return [
    `${sums.payouts} payouts (${ends.join(', ')}) in ${sums.runs} workflow runs`,
    `${sums.processFaults} process faults, ${sums.faultsHit} faults in ${sums.calls} calls, ${sums.replays} replays`,
    `${sums.activations} activations, ${sums.events} events, ${(sums.virtualMs / HOUR_MS).toFixed(1)} hours of virtual time`,
    `${seconds.toFixed(0)} s, ${(cpuMs / 1_000 / done).toFixed(2)} CPU seconds per world`,
  ].join('\n');
}

/** The newest generation that `npm run record-release` has recorded. */
function lastRelease(): string | undefined {
  if (!existsSync(HISTORIES)) return undefined;
  const generations = readdirSync(HISTORIES).flatMap(
    (name) => /^v(\d+)-workflows\.js\.gz$/.exec(name)?.[1] ?? [],
  );
  const newest = Math.max(...generations.map(Number));
  return generations.length > 0 ? join(HISTORIES, `v${newest}-workflows.js.gz`) : undefined;
}

function positiveInteger(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new InvalidArgumentError('must be a whole number of at least 1');
  return number;
}

function list(text: string): string[] {
  return text.split(',');
}
