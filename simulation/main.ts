/** `npm run simulate`: seeded worlds of the whole product, on one process per core. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { bundledWorkflows } from '../scripts/programs.ts';
import { countingInto, printBranches } from './coverage/branches.ts';
import { Tally } from './coverage/tally.ts';
import { runMutants } from './mutants/run.ts';
import { type Summary, summarySchema } from './seed-process.ts';

const SEEDS = 20;
const SEEDS_A_MUTANT = 400;

const program = new Command('simulate')
  .description(
    'seeded worlds without a Temporal server: the same seed means the same events in the same order',
  )
  .option('--seeds <count>', `how many; ${SEEDS}, or ${SEEDS_A_MUTANT} at most for each mutant`, whole)
  .option('--from <seed>', 'the first', whole, 1)
  .option('--processes <count>', 'at once', whole, availableParallelism())
  .option('--trace', 'the timeline of every world, whole, with or without a violation')
  .option('--coverage', 'also tells which hazards, pairs of faults and lines of the workflows the worlds met')
  .option('--until-violation', 'ends at the first violation, and tells no story')
  .option('--mutants', 'plants bugs, one at a time, and tells how many seeds find each')
  .option('--only <names>', 'of the mutants only these, with commas between', list)
  .parse();
const options = program.opts<{
  seeds?: number;
  from: number;
  processes: number;
  trace?: true;
  coverage?: true;
  untilViolation?: true;
  mutants?: true;
  only?: string[];
}>();
const { from, processes, mutants, only } = options;
const { trace = false, coverage = false, untilViolation = false } = options;
const seeds = options.seeds ?? (mutants ? SEEDS_A_MUTANT : SEEDS);

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
if (mutants) process.exit(await runMutants({ seeds, from, processes, only }));

/** What worlds leave behind in a process adds up. */
const SEEDS_A_PROCESS = 500;
/** Most of what a world makes is garbage soon: a young generation that holds more of it takes a quarter of the time away. */
const EXEC_ARGV = [...process.execArgv, '--max-semi-space-size=64'];
const TELL_EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;

const bundle = await bundledWorkflows();
const counters = join(dirname(bundle), 'counters');

const begunMs = performance.now();
let next = from;
let done = 0;
let failed = 0;
const outcomes: Record<string, number> = {};
const children = new Set<ChildProcess>();
const tally = new Tally();
const sums: Summary['sums'] = {
  ...{ payouts: 0, runs: 0, strikes: 0, faultsMet: 0, calls: 0 },
  ...{ activations: 0, replays: 0, events: 0, virtualMs: 0 },
};
const telling = setInterval(
  () => console.error(`${done} of ${seeds} seeds, ${failed} failed`),
  TELL_EVERY_MS,
);
await Promise.all(Array.from({ length: Math.min(processes, seeds) }, work));
clearInterval(telling);
console.log(`${done - failed} of ${done} seeds without a violation`);
console.log(inWords());
if (coverage) {
  for (const line of tally.inWords()) console.log(line);
  printBranches(counters);
}
process.exit(failed > 0 ? 1 : 0);

/** One process after the other, until no seed is left. */
async function work(): Promise<void> {
  while (isMore()) {
    const env = coverage ? countingInto(counters) : process.env;
    const child = fork(join(import.meta.dirname, 'seed-process.ts'), [bundle], { env, execArgv: EXEC_ARGV });
    children.add(child);
    await answerOf(child);
    for (let left = SEEDS_A_PROCESS; left > 0 && isMore(); left -= 1) {
      child.send({ seed: next++, shrink: !trace && !untilViolation, untilViolation, trace, coverage });
      const answer = await answerOf(child);
      if (answer === 'stopped') return;
      take(summarySchema.parse(answer));
    }
    children.delete(child);
    // It ends by itself, and writes what it has counted.
    const ended = once(child, 'exit');
    child.disconnect();
    await ended;
    if (isStopped()) for (const other of children) other.kill();
  }
}

/** A world may take minutes: the first violation does not wait for the others. */
function isStopped(): boolean {
  return untilViolation && failed > 0;
}

function isMore(): boolean {
  return next < from + seeds && !isStopped();
}

function answerOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (status: number | null) => {
      if (isStopped()) resolve('stopped');
      else reject(new Error(`a process of the simulation ended (${status})`));
    };
    child.once('exit', onExit);
    child.once('message', (answer) => {
      child.off('exit', onExit);
      resolve(answer);
    });
  });
}

function take(summary: Summary): void {
  done += 1;
  for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += summary.sums[key];
  tally.add(summary);
  for (const [outcome, count] of Object.entries(summary.outcomes))
    outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
  if (summary.violations.length === 0 && !trace) return;
  console.log(`seed ${summary.seed}: npm run simulate -- --seeds 1 --from ${summary.seed}`);
  if (!untilViolation) for (const line of summary.story) console.log(`  ${line}`);
  for (const violation of summary.violations) console.log(`  VIOLATION ${violation.slice(0, 1_000)}`);
  if (summary.violations.length > 0) failed += 1;
}

function inWords(): string {
  const ends = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  const seconds = (performance.now() - begunMs) / 1_000;
  return [
    `${sums.payouts} payouts (${ends.join(', ')}) in ${sums.runs} workflow runs`,
    `${sums.strikes} strikes, ${sums.faultsMet} faults in ${sums.calls} calls, ${sums.replays} replays`,
    `${sums.activations} activations, ${sums.events} events, ${(sums.virtualMs / HOUR_MS).toFixed(1)} hours of virtual time`,
    `${seconds.toFixed(0)} s`,
  ].join('\n');
}

function whole(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('a whole number from 1 on');
  return number;
}

function list(text: string): string[] {
  return text.split(',');
}
