/**
 * `npm run chaos`: seeded campaigns in which calls fail, answers are random and processes die. The ledger decides whether a
 * seed passed.
 */
import { Command, InvalidArgumentError } from 'commander';
import { endWhenInterrupted } from '../bench/stage.ts';
import { appendToLog, chaosSchema, recordedCode } from '../scripts/campaign-log.ts';
import { chaosPlan } from './plan.ts';
import { runSeed, type SeedReport, type Violation } from './run-seed.ts';

const program = new Command('chaos')
  .description('seeded fault campaigns: a seed determines payouts, faults, random answers and disruptions')
  .option('--seeds <count>', 'number of seeds', whole, 5)
  .option('--from <seed>', 'first seed', whole, 1)
  .option('--json', 'one JSON object per line')
  .option('--record <file>', 'append the result to a log in docs/campaigns, if the code is committed')
  .parse();
const { seeds, from, json, record } = program.opts<{
  seeds: number;
  from: number;
  json?: boolean;
  record?: string;
}>();
/** Before the first seed: the code may change meanwhile. */
const code = record === undefined ? undefined : recordedCode('chaos');
const startedAtMs = performance.now();

endWhenInterrupted();

const found: Violation[] = [];
const failedSeeds: number[] = [];
const outcomes: Record<string, number> = {};
const sums = { payouts: 0, reviewed: 0, faultsMet: 0, randomAnswers: 0 };
for (let seed = from; seed < from + seeds; seed += 1) {
  if (!json) console.error(`seed ${seed} (${seed - from + 1} of ${seeds}) …`);
  const report = await runSeed(chaosPlan(seed)).catch((error: unknown) =>
    error instanceof Error ? error.message : String(error),
  );
  if (typeof report === 'string') {
    console.error(`seed ${seed}: ${report}`);
    found.push({ of: `seed ${seed}`, what: `could not be run: ${report}` });
  } else {
    console.log(json ? JSON.stringify(report) : textOf(report));
    found.push(...report.violations);
    addToSums(report);
  }
  if (typeof report === 'string' || report.violations.length > 0) failedSeeds.push(seed);
}
const failed = failedSeeds.length;
if (code && record !== undefined)
  appendToLog(record, chaosSchema, {
    ...{ ...code, from, seeds, failedSeeds, outcomes, ...sums },
    wallSeconds: Math.round((performance.now() - startedAtMs) / 1_000),
  });
console.log(json ? JSON.stringify({ seeds, failed, kinds: byKind(found) }) : summary());
process.exit(failed > 0 ? 1 : 0);

function addToSums(report: SeedReport): void {
  for (const [outcome, count] of Object.entries(report.outcomes)) {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
    sums.payouts += count;
  }
  sums.reviewed += report.reviewed;
  sums.faultsMet += report.faultsMet;
  sums.randomAnswers += report.randomAnswers;
}

function textOf(report: SeedReport): string {
  const { seed, outcomes, reviewed, faultsMet, randomAnswers, violations, calls } = report;
  const ends = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  const head = `seed ${seed}: ${ends.join(', ')}; ${reviewed} decided by a person`;
  const met = `${faultsMet} calls met a fault, ${randomAnswers} got a random answer`;
  const tail = `at most ${report.maxCallsInAnySecond} calls in a second; ${report.disruptions.join(', ')}; ${report.seconds} s`;
  return [
    `${head}; ${met}; ${tail}`,
    ...violations.map(({ of, what }) => `  VIOLATION ${of}: ${what}`),
    ...Object.entries(calls).flatMap(([payout, made]) => [
      `  calls for ${payout}:`,
      ...made.map((call) => `    ${call}`),
    ]),
  ].join('\n');
}

function summary(): string {
  const kinds = Object.entries(byKind(found)).map(([kind, count]) => `  ${count} × ${kind}`);
  return [`${seeds - failed} of ${seeds} seeds without a violation`, ...kinds].join('\n');
}

/** Violations that differ only in numbers and names are of one kind. */
function byKind(violations: readonly Violation[]): Record<string, number> {
  const kinds: Record<string, number> = {};
  for (const { what } of violations) {
    const kind = what
      .replace(/\b(PO|DI|LR)[0-9a-f]{32}\b/g, '$1…')
      .replace(/\d+(\.\d+)?/g, 'N')
      .slice(0, 160);
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return kinds;
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1)
    throw new InvalidArgumentError('must be a whole number from 1 on');
  return Number(text);
}
