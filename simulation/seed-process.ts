/** One of the processes of `npm run simulate`: a seed comes in, what became of it goes out. */
import { z } from 'zod';
import { planOf } from './payouts/plan.ts';
import { runSeed, type SeedReport } from './payouts/run-seed.ts';
import { shrink } from './payouts/shrink.ts';
import { loadWorkflows, type Workflows } from './sdk.ts';

const count = z.number().int().min(0);

export const orderSchema = z.object({
  seed: z.number().int(),
  shrink: z.boolean(),
  untilViolation: z.boolean(),
  trace: z.boolean(),
  coverage: z.boolean(),
});

export const summarySchema = z.object({
  seed: z.number().int(),
  violations: z.array(z.string()),
  /** Of the smallest world with a violation, or of the whole one. */
  story: z.array(z.string()),
  outcomes: z.record(z.string(), count),
  faults: z.array(z.string()),
  hazards: z.array(z.string()),
  sums: z.object({
    ...{ payouts: count, runs: count, strikes: count, faultsMet: count, calls: count },
    ...{ activations: count, replays: count, events: count, virtualMs: z.number() },
  }),
});
export type Summary = z.output<typeof summarySchema>;

export async function summaryOf(workflows: Workflows, order: z.output<typeof orderSchema>): Promise<Summary> {
  const { seed, shrink: shrinks, ...options } = order;
  const report = await runSeed(workflows, seed, options);
  if (report.violations.length === 0 || !shrinks) return summed(seed, report, report);
  const { report: smallest } = await shrink(workflows, planOf(seed), report);
  return summed(seed, report, smallest);
}

function summed(seed: number, report: SeedReport, { violations, story }: SeedReport): Summary {
  const { outcomes, payouts, runs, strikes, faultsMet, calls, activations, replays, events, virtualMs } =
    report;
  const { faults, hazards } = report;
  return {
    ...{ seed, outcomes, violations: [...violations], story: [...story] },
    ...{ faults: [...faults], hazards: [...hazards] },
    sums: {
      ...{ payouts, runs: runs.length, strikes, faultsMet, calls },
      ...{ activations, replays, events, virtualMs },
    },
  };
}

async function serve(bundle: string): Promise<void> {
  const workflows = await loadWorkflows(bundle);
  process.on('message', (message) => {
    const order = orderSchema.parse(message);
    summaryOf(workflows, order).then(
      (summary) => process.send?.(summary),
      (error: unknown) => {
        console.error(`seed ${order.seed}:`, error);
        process.exit(1);
      },
    );
  });
  // Nobody wants to know any more.
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
}

if (process.send && process.argv[2]) await serve(process.argv[2]);
