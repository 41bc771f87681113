/** A child process of `npm run simulate`: receives seeds and returns summaries. */
import { z } from 'zod';
import { planOf } from './payouts/plan.ts';
import { runSeed, type SeedReport } from './payouts/run-seed.ts';
import { shrink } from './payouts/shrink.ts';
import { loadWorkflows, type Workflows } from './sdk.ts';

const count = z.number().int().min(0);

export const seedJobSchema = z.object({
  seed: z.number().int(),
  shrink: z.boolean(),
  untilViolation: z.boolean(),
  trace: z.boolean(),
  coverage: z.boolean(),
});

export const summarySchema = z.object({
  seed: z.number().int(),
  violations: z.array(z.string()),
  /** Of the smallest failing world, or of the world of the seed. */
  timeline: z.array(z.string()),
  outcomes: z.record(z.string(), count),
  faults: z.array(z.string()),
  hazards: z.array(z.string()),
  /** With the worlds of the shrinking. */
  cpuMs: z.number(),
  sums: z.object({
    ...{ payouts: count, runs: count, processFaults: count, faultsHit: count, calls: count },
    ...{ activations: count, replays: count, events: count, virtualMs: z.number() },
  }),
});
export type Summary = z.output<typeof summarySchema>;

export async function summaryOf(
  workflows: Workflows,
  { seed, shrink: shrinks, ...job }: z.output<typeof seedJobSchema>,
  released?: Workflows,
): Promise<Summary> {
  const options = { ...job, released };
  const before = process.cpuUsage();
  const report = await runSeed(workflows, seed, options);
  const isShrunk = shrinks && report.violations.length > 0;
  const shown = isShrunk ? (await shrink(workflows, planOf(seed), report, options)).report : report;
  const { user, system } = process.cpuUsage(before);
  return { ...toSummary(seed, report, shown), cpuMs: (user + system) / 1_000 };
}

function toSummary(
  seed: number,
  report: SeedReport,
  { violations, timeline }: SeedReport,
): Omit<Summary, 'cpuMs'> {
  const { outcomes, faults, hazards, payouts, runs, processFaults } = report;
  const { faultsHit, calls, activations, replays, events, virtualMs } = report;
  return {
    ...{ seed, outcomes, violations: [...violations], timeline: [...timeline] },
    ...{ faults: [...faults], hazards: [...hazards] },
    sums: {
      ...{ payouts, runs: runs.length, processFaults, faultsHit, calls },
      ...{ activations, replays, events, virtualMs },
    },
  };
}

async function serve(bundle: string, releasedBundle?: string): Promise<void> {
  const workflows = await loadWorkflows(bundle);
  const released = releasedBundle === undefined ? undefined : await loadWorkflows(releasedBundle);
  process.on('message', (message) => {
    const job = seedJobSchema.parse(message);
    summaryOf(workflows, job, released).then(
      (summary) => process.send?.(summary),
      (error: unknown) => {
        console.error(`seed ${job.seed}:`, error);
        process.exit(1);
      },
    );
  });
  // The parent has exited.
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
}

if (process.send && process.argv[2]) await serve(process.argv[2], process.argv[3]);
