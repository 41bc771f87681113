/** `npm run simulate`: seeded worlds in which the real workflows meet a simulated Temporal and a fake provider. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { Command, InvalidArgumentError } from 'commander';
import { bundleOptions } from '../src/workers/workflow-bundle.ts';
import { runSeed } from './payouts/run-seed.ts';
import { loadWorkflows } from './sdk.ts';

const program = new Command('simulate')
  .description(
    'seeded worlds without a Temporal server: the same seed means the same events in the same order',
  )
  .option('--seeds <count>', 'how many', whole, 20)
  .option('--from <seed>', 'the first', whole, 1)
  .parse();
const { seeds, from } = program.opts<{ seeds: number; from: number }>();

const folder = mkdtempSync(join(tmpdir(), 'payouts-simulation-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const bundle = join(folder, 'workflows.js');
const { code } = await bundleWorkflowCode({ ...bundleOptions(), logger: new DefaultLogger('WARN') });
writeFileSync(bundle, code);
const workflows = await loadWorkflows(bundle);

let failed = 0;
let payouts = 0;
for (let seed = from; seed < from + seeds; seed += 1) {
  const report = await runSeed(workflows, seed);
  payouts += report.payouts;
  if (report.violations.length === 0) continue;
  failed += 1;
  console.log(`seed ${seed}: npm run simulate -- --seeds 1 --from ${seed}`);
  for (const violation of report.violations) console.log(`  VIOLATION ${violation.slice(0, 1000)}`);
}
console.log(`${seeds - failed} of ${seeds} seeds without a violation, ${payouts} payouts`);
process.exit(failed > 0 ? 1 : 0);

function whole(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('a whole number from 1 on');
  return number;
}
