/** Makes the plan of a seed that fails as small as it gets: what it can do without is not the cause. */
import type { Workflows } from '../sdk.ts';
import type { Plan } from './plan.ts';
import { runPlan, type SeedReport } from './run-seed.ts';

export interface Shrunk {
  plan: Plan;
  report: SeedReport;
  tries: number;
}

const MOST_TRIES = 200;

/** Any violation counts: the smallest world that is wrong is the best to read, and it may be wrong in another way. */
export async function shrink(workflows: Workflows, plan: Plan, report: SeedReport): Promise<Shrunk> {
  let smallest: Shrunk = { plan, report, tries: 0 };
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const smaller of smallerThan(smallest.plan)) {
      if (smallest.tries >= MOST_TRIES) return smallest;
      smallest.tries += 1;
      // A world that breaks the simulation itself is no smaller one.
      const again = await runPlan(workflows, smaller, { untilViolation: true }).catch(() => undefined);
      if (!again || again.violations.length === 0) continue;
      smallest = { ...smallest, plan: smaller, report: again };
      isSmaller = true;
      break;
    }
  }
  return smallest;
}

/** Large steps first. */
function* smallerThan(plan: Plan): Generator<Plan> {
  const { payouts, strikes, faults, process } = plan;
  yield* halves(payouts, (kept) => ({ ...plan, payouts: kept }), 1);
  // Its rows are then started one by one.
  yield* halves(plan.batches, (kept) => ({ ...plan, batches: kept }), 0);
  for (const [at, batch] of plan.batches.entries())
    for (const one of batch.meddling)
      yield {
        ...plan,
        batches: plan.batches.with(at, {
          ...batch,
          meddling: batch.meddling.filter((other) => other !== one),
        }),
      };
  yield* halves(plan.openings, (kept) => ({ ...plan, openings: kept }), 0);
  yield* halves(strikes, (kept) => ({ ...plan, strikes: kept }), 0);
  yield* halves(faults, (kept) => ({ ...plan, faults: kept }), 0);
  for (const [at, { meddling }] of payouts.entries())
    for (const one of meddling)
      yield {
        ...plan,
        payouts: payouts.with(at, {
          ...nth(payouts, at),
          meddling: meddling.filter((other) => other !== one),
        }),
      };
  if (plan.rotation) yield { ...plan, rotation: undefined };
  if (plan.restored) yield { ...plan, restored: undefined };
  if (plan.standstill) yield { ...plan, standstill: undefined };
  if (plan.outage) yield { ...plan, outage: undefined };
  if (plan.losses.refused + plan.losses.lost > 0) yield { ...plan, losses: { refused: 0, lost: 0 } };
  if (plan.network > 0) yield { ...plan, network: 0 };
  if (process.evicted + process.lost + process.failed > 0)
    yield { ...plan, process: { evicted: 0, lost: 0, failed: 0 } };
  if (plan.workers > 1 && strikes.length === 0) yield { ...plan, workers: plan.workers - 1 };
}

function* halves<T>(all: readonly T[], make: (kept: T[]) => Plan, least: number): Generator<Plan> {
  if (all.length <= least) return;
  if (all.length > 2) {
    const half = Math.ceil(all.length / 2);
    yield make(all.slice(0, half));
    yield make(all.slice(half));
  }
  for (const left of all) yield make(all.filter((one) => one !== left));
}

function nth<T>(all: readonly T[], at: number): T {
  const one = all[at];
  if (one === undefined) throw new Error(`there is no ${at}`);
  return one;
}
