/** `npm run bench:peers`: runs the same job on every tool, and writes the table in docs/comparison.md. */
import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { headCommit } from '../../scripts/campaign-log.ts';
import { runOrThrow, tsc } from '../../scripts/setup/cache.ts';
import { dependenciesMatch, NPM } from '../../scripts/setup/dependencies.mjs';
import { endWhenInterrupted } from '../stage.ts';
import { FIGURES_FILE, figuresSchema, RUN_NAMES, readFigures } from './figures.ts';
import { FULL, RUNS } from './runs.ts';
import { SUBJECTS } from './subject.ts';
import { writeComparison } from './write.ts';

const program = new Command('bench:peers')
  .option('--tools <names>', `a comma-separated list of ${SUBJECTS.join(',')}`, SUBJECTS.join(','))
  .option('--runs <names>', `a comma-separated list of ${RUN_NAMES.join(',')}`, RUN_NAMES.join(','))
  .option('--scale <part>', 'share of the full number of payouts; below 1, no figures are written', '1')
  .parse();
const options = program.opts<{ tools: string; runs: string; scale: string }>();
const scale = Number(options.scale);
endWhenInterrupted();

const here = import.meta.dirname;
if (!dependenciesMatch(here))
  await runOrThrow(NPM, ['ci', '--no-audit', '--no-fund'], { cwd: here, timeoutMs: 300_000 });
// The product's type check leaves this folder out, because its packages may not be installed.
await runOrThrow(process.execPath, [tsc, '-p', 'tsconfig.json'], { cwd: here, timeoutMs: 300_000 });

const commit = headCommit().slice(0, 8);
for (const run of RUN_NAMES.filter((name) => options.runs.split(',').includes(name)))
  for (const tool of SUBJECTS.filter((name) => options.tools.split(',').includes(name))) {
    try {
      const measuredAt = new Date().toISOString();
      const count = Math.max(10, Math.round(FULL[run] * scale));
      const measured = await RUNS[run](tool, count, (line) => console.error(`${run} ${tool}: ${line}`));
      console.log(`${run} ${tool}: ${JSON.stringify(measured)}`);
      if (scale < 1) continue;
      const figures = readFigures();
      const changed = {
        ...figures,
        [tool]: { ...figures[tool], [run]: { measuredAt, commit, ...measured } },
      };
      writeFileSync(FIGURES_FILE, `${JSON.stringify(figuresSchema.parse(changed), null, 2)}\n`);
    } catch (error) {
      console.error(`${run} ${tool} failed:`, error);
      process.exitCode = 1;
    }
  }
writeComparison();
process.exit();
