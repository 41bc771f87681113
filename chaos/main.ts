/** `npm run chaos`: seeded runs in which calls fail and processes die, and nothing is paid twice or told untruly. */
import { Command, InvalidArgumentError } from 'commander';
import { endWhenInterrupted } from '../bench/stage.ts';
import { chaosPlan } from './plan.ts';
import { runSeed, type SeedReport } from './run-seed.ts';

const program = new Command('chaos')
  .description('seeded fault runs: the same seed means the same payouts, faults and strikes')
  .option('--seeds <count>', 'how many', whole, 5)
  .option('--from <seed>', 'the first', whole, 1)
  .option('--json', 'one JSON object a line')
  .parse();
const { seeds, from, json } = program.opts<{ seeds: number; from: number; json?: boolean }>();

endWhenInterrupted();

let failed = 0;
for (let seed = from; seed < from + seeds; seed += 1) {
  const report = await runSeed(chaosPlan(seed)).catch(
    (error: unknown) => `seed ${seed}: ${error instanceof Error ? error.message : String(error)}`,
  );
  const isGood = typeof report !== 'string' && report.violations.length === 0;
  if (!isGood) failed += 1;
  if (typeof report === 'string') console.error(report);
  else console.log(json ? JSON.stringify(report) : inWords(report));
}
console.log(
  json ? JSON.stringify({ seeds, failed }) : `${seeds - failed} of ${seeds} seeds without a violation`,
);
process.exit(failed > 0 ? 1 : 0);

function inWords({ seed, strikes, outcomes, reviewed, faultsMet, seconds, ...report }: SeedReport): string {
  const ends = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  const head = `seed ${seed}: ${ends.join(', ')}; ${reviewed} decided by a person; ${faultsMet} calls met a fault`;
  const tail = `at most ${report.maxCallsInAnySecond} calls in a second; ${strikes.join(', ')}; ${seconds} s`;
  return [`${head}; ${tail}`, ...report.violations.map((violation) => `  VIOLATION ${violation}`)].join('\n');
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1)
    throw new InvalidArgumentError('must be a whole number from 1 on');
  return Number(text);
}
