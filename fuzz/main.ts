/** `npm run fuzz`: valid, modified and arbitrary inputs for every place where bytes from outside enter. */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { childMessageSchema, type EdgeOrder } from './edge-process.ts';
import { EDGES } from './edges.ts';
import { mebibytes, type Report } from './run-edge.ts';

const program = new Command('fuzz')
  .description('seeded inputs for each edge: a seed determines its input')
  .option('--inputs <count>', 'number of inputs for each edge', whole, 10_000)
  .option('--from <seed>', 'first seed', whole, 1)
  .option('--only <edges>', `a comma-separated list of ${[...EDGES.keys()].join(',')}`, known, [
    ...EDGES.keys(),
  ])
  .option('--processes <count>', 'number of edges at once', whole, availableParallelism())
  .option('--json', 'one JSON object for each edge')
  .parse();
const { inputs, from, only, processes, json } = program.opts<{
  inputs: number;
  from: number;
  only: string[];
  processes: number;
  json?: true;
}>();

const REPORT_EVERY = 100;
/** Longer than any input takes: an edge without a message for this long is hanging. */
const SILENT_MS = 60_000;
const PROGRESS_MS = 30_000;

const waiting = [...only];
const at = new Map<string, number>();
let failed = 0;
const progress = setInterval(() => {
  for (const [edge, seed] of at) console.error(`${edge}: ${seed - from} of ${inputs}`);
}, PROGRESS_MS);
await Promise.all(Array.from({ length: Math.min(processes, waiting.length) }, work));
clearInterval(progress);
process.exit(failed > 0 ? 1 : 0);

async function work(): Promise<void> {
  for (let edge = waiting.shift(); edge !== undefined; edge = waiting.shift()) {
    const ended = await run({ edge, from, inputs, reportEvery: REPORT_EVERY });
    if ('report' in ended) print(ended.report);
    else await printCrash(edge, ended.lastSeed);
    at.delete(edge);
  }
}

/** `lastSeed`: the last input reported before the process ended or hung. */
type Ended = { report: Report } | { lastSeed: number };

function run(order: EdgeOrder): Promise<Ended> {
  const child = fork(join(import.meta.dirname, 'edge-process.ts'), ['serve']);
  return new Promise((resolve) => {
    let lastSeed = order.from;
    const end = (ended: Ended) => {
      clearTimeout(silence);
      child.removeAllListeners();
      child.kill('SIGKILL');
      resolve(ended);
    };
    const silence = setTimeout(() => end({ lastSeed }), SILENT_MS);
    child.on('exit', () => end({ lastSeed }));
    child.on('message', (message) => {
      silence.refresh();
      const news = childMessageSchema.parse(message);
      if (news === 'ready') child.send(order);
      else if ('report' in news) end(news);
      else {
        lastSeed = news.at;
        at.set(order.edge, lastSeed);
      }
    });
  });
}

function print(report: Report): void {
  if (report.found.length > 0) failed += 1;
  console.log(json ? JSON.stringify(report) : textOf(report));
}

/** Repeats the inputs after `seed`, each reported, to identify the one that ended the process. */
async function printCrash(edge: string, seed: number): Promise<void> {
  failed += 1;
  const again = await run({ edge, from: seed, inputs: REPORT_EVERY + 1, reportEvery: 1 });
  const last = 'report' in again ? seed : again.lastSeed;
  console.log(`${edge}: an input ended its process, or hung: ${repeat(edge, last)}`);
}

function textOf(report: Report): string {
  const { edge, accepted, refused, slowest, heapBefore, heapAfter, seconds, found } = report;
  const rate = ((accepted + refused) / seconds).toFixed(0);
  return [
    `${edge}: ${report.inputs} inputs, ${accepted} accepted, ${refused} refused, ${found.length} violations`,
    `  slowest ${slowest.ms.toFixed(1)} ms of CPU time (seed ${slowest.seed}); heap ${mebibytes(heapBefore)} MiB after the warm-up, ${mebibytes(heapAfter)} MiB at the end; ${seconds.toFixed(0)} s, ${rate} inputs per second`,
    ...found.flatMap(({ seed, what, smallest }) => [
      `  VIOLATION ${what}`,
      `    smallest: ${smallest}`,
      `    ${repeat(edge, seed)}`,
    ]),
  ].join('\n');
}

function repeat(edge: string, seed: number): string {
  return `npm run fuzz -- --only ${edge} --inputs 1 --from ${seed}`;
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1)
    throw new InvalidArgumentError('must be a whole number, at least 1');
  return Number(text);
}

function known(text: string): string[] {
  const names = text.split(',');
  if (!names.every((name) => EDGES.has(name)))
    throw new InvalidArgumentError(`must be one or more of ${[...EDGES.keys()].join(',')}`);
  return names;
}
