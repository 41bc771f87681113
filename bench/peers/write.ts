/** Writes the table of docs/comparison.md from the figures. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Figures, readFigures } from './figures.ts';
import { SUBJECTS, type SubjectName } from './subject.ts';

const PAGE = join(import.meta.dirname, '../../docs/comparison.md');
const BEGIN = '<!-- generated from bench/peers/figures.json by `npm run bench:peers` -->';
const END = '<!-- end of the generated part -->';
const NOT_MEASURED = 'not measured';

const TITLES: Record<SubjectName, string> = {
  product: 'durable-payouts',
  temporal: 'plain Temporal',
  dbos: 'DBOS Transact',
  restate: 'Restate',
  bullmq: 'BullMQ',
  table: 'PostgreSQL loop',
};

type Measured = NonNullable<Figures[SubjectName]>;
type Row = [string, (measured: Measured, name: SubjectName) => string | number | undefined];

const ROWS: Row[] = [
  ['most calls in any second', ({ limit }) => limit?.maxCallsInAnySecond],
  ['429 responses', ({ limit }) => limit?.answered429],
  ['share of the limit used', ({ limit }) => limit && `${(100 * limit.utilization).toFixed(1)} %`],
  ['calls per payout', ({ limit }) => limit?.callsPerPayout],
  ['lock to create, median, p99', ({ limit }) => limit && pair(limit.lockToCreate)],
  ['notification to end, median, p99', ({ limit }) => limit && pair(limit.finalToEnded)],
  ['payouts per second, no limit', ({ unlimited }) => unlimited?.payoutsPerSecond],
  [
    'payouts, faults, kills',
    ({ faults }) => faults && `${faults.payouts}, ${faults.faults}, ${faults.kills}`,
  ],
  ['paid twice', ({ faults }) => faults?.paidTwice],
  ['wrong', ({ faults }) => faults?.wrong],
  ['not ended: waits for an operator', ({ faults }) => faults?.inReview],
  ['not ended: lost', ({ faults }) => faults && faults.lost - faults.inReview],
  ['killed worker: longest gap', ({ kill }) => kill && seconds(kill.longestGapMs)],
  ['killed worker: all go on after', ({ kill }) => kill && seconds(kill.recoveryMs)],
  ['memory, workers', ({ waiting }) => waiting && `${waiting.workers} MiB`],
  ['memory, server', ({ waiting }) => waiting && `${waiting.server} MiB`],
  ['idle CPU, workers', ({ waiting }) => waiting && `${waiting.idleWorkers} ms/s`],
  ['idle CPU, server', ({ waiting }) => waiting && `${waiting.idleServer} ms/s`],
  ['idle requests per second', ({ waiting }) => waiting && (waiting.idlePerSecond ?? NOT_MEASURED)],
  [
    'measured',
    (measured) => [...new Set(Object.values(measured).map(dateAndCommit))].filter(Boolean).join('; '),
  ],
  ['lines of the job', (_, name) => (name === 'product' ? 'none to write' : linesOf(name))],
];

export function writeComparison(): void {
  const page = readFileSync(PAGE, 'utf8');
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`${PAGE} has no markers`);
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${table(readFigures())}\n\n${END}${after}`);
}

function table(figures: Figures): string {
  const cells = [
    ['', ...SUBJECTS.map((name) => TITLES[name])],
    ...ROWS.map(([title, of]) => [
      title,
      ...SUBJECTS.map((name) => `${of(figures[name] ?? {}, name) ?? NOT_MEASURED}`),
    ]),
  ];
  const [first = []] = cells;
  const widths = first.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |`;
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(first), `| ${rule.join(' | ')} |`, ...cells.slice(1).map(line)].join('\n');
}

function dateAndCommit(run: { measuredAt: string; commit: string } | undefined): string | undefined {
  return run && `${run.measuredAt.slice(0, 10)}, ${run.commit}`;
}

function pair({ p50, p99 }: { p50: number; p99: number }): string {
  return `${seconds(p50)}, ${seconds(p99)}`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}

/** Without comments and empty lines. */
function linesOf(name: SubjectName): number {
  const folder = join(import.meta.dirname, name);
  return readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, ''))
    .join('\n')
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/.*)?$/.test(line)).length;
}
