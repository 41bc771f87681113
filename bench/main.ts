/** `npm run bench`: the figures of the contract, measured on real processes, as one JSON object. */
import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { backlog } from './parts/backlog.ts';
import { budget } from './parts/budget.ts';
import { handover } from './parts/handover.ts';

type Say = (line: string) => void;

const PARTS: Record<string, (scale: number, say: Say) => Promise<unknown>> = {
  budget: (scale, say) => budget(Math.round(1_000 * scale), say),
  backlog: (scale, say) => backlog(Math.round(5_000 * scale), say),
  handover: (_scale, say) => handover(say),
};

const program = new Command('bench')
  .description('measures the call budget; each part says what it ran on')
  .option('--json <file>', 'write the figures there')
  .option('--only <parts>', `some of ${Object.keys(PARTS).join(',')}`)
  .option('--scale <part>', 'of the full number of payouts, such as 0.1', '1')
  .parse();

const options = program.opts<{ json?: string; only?: string; scale: string }>();
const only = options.only?.split(',') ?? Object.keys(PARTS);
const figures: Record<string, unknown> = {
  engine: 'Temporal dev server in memory',
  measuredAt: new Date().toISOString(),
  node: process.version,
};
for (const name of only) {
  const part = PARTS[name];
  if (!part) throw new Error(`there is no part ${name}`);
  figures[name] = await part(Number(options.scale), (line) => console.error(`${name}: ${line}`));
}
const text = JSON.stringify(figures, null, 2);
if (options.json) writeFileSync(options.json, `${text}\n`);
console.log(text);
