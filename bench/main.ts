/** `npm run bench`: measures the documented figures on real processes, and prints one JSON object. */
import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import {
  earlierFigures,
  type Figures,
  figuresSchema,
  figuresText,
  PART_NAMES,
  readFigures,
} from './figures.ts';
import { writeDocs } from './plots/write.ts';
import { runPart } from './run-part.ts';
import { endWhenInterrupted } from './stage.ts';

const program = new Command('bench')
  .description('measures the product on real processes; each part records the machine')
  .option('--json <file>', 'write the figures to this file; parts that are not measured stay unchanged')
  .option('--only <parts>', `a comma-separated list of ${PART_NAMES.join(',')}`)
  .option('--scale <part>', 'share of the full number of payouts, such as 0.1', '1')
  .option(
    '--plots <file>',
    'measure nothing: write the figures of this file into docs/, with plots and tables',
  )
  .parse();

const options = program.opts<{ json?: string; only?: string; scale: string; plots?: string }>();
if (options.plots !== undefined) {
  writeDocs(readFigures(options.plots));
  process.exit(0);
}
const only = options.only?.split(',') ?? PART_NAMES;
const scale = Number(options.scale);
const unknown = only.find((name) => !PART_NAMES.some((known) => known === name));
if (unknown !== undefined) program.error(`unknown part ${unknown}; parts are ${PART_NAMES.join(', ')}`);
if (!(scale > 0)) program.error('--scale must be a number greater than 0');

let interrupted = false;
endWhenInterrupted(() => {
  interrupted = true;
});

let figures: Figures = earlierFigures(options.json);
for (const name of PART_NAMES.filter((part) => only.includes(part))) {
  if (interrupted) break;
  try {
    const measured = await runPart(name, scale, (line) => console.error(`${name}: ${line}`));
    figures = figuresSchema.parse({ ...figures, [name]: measured });
  } catch (error) {
    if (!interrupted)
      console.error(`${name} failed: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
    continue;
  }
  // After each part, so that a later failure loses no figures.
  if (options.json !== undefined) writeFileSync(options.json, figuresText(figures));
}
console.log(figuresText(figures));
