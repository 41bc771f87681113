/** Shrinks the plan of a failing seed: parts that can be removed are not the cause. */
import type { Workflows } from '../sdk.ts';
import type { Plan } from './planned.ts';
import { type RunOptions, runPlan, type SeedReport } from './run-seed.ts';

export interface Shrunk {
  plan: Plan;
  report: SeedReport;
  tries: number;
}

const MAX_TRIES = 200;

/** Accepts any violation: the smallest failing world is the easiest to read, even if it fails in another way. */
export async function shrink(
  workflows: Workflows,
  plan: Plan,
  report: SeedReport,
  { released }: Pick<RunOptions, 'released'> = {},
): Promise<Shrunk> {
  let smallest: Shrunk = { plan, report, tries: 0 };
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const smaller of smallerPlans(smallest.plan)) {
      if (smallest.tries >= MAX_TRIES) return smallest;
      smallest.tries += 1;
      // A plan that breaks the simulation itself is not accepted.
      const again = await runPlan(workflows, smaller, { untilViolation: true, released }).catch(
        () => undefined,
      );
      if (!again || again.violations.length === 0) continue;
      smallest = { ...smallest, plan: smaller, report: again };
      isSmaller = true;
      break;
    }
  }
  return smallest;
}

/** Yields large steps first. */
function* smallerPlans(plan: Plan): Generator<Plan> {
  const { payouts, processFaults, faults, workflowTaskFaults } = plan;
  yield* halves(payouts, (kept) => ({ ...plan, payouts: kept }), 1);
  // Callers then start the rows one by one.
  yield* halves(plan.batches, (kept) => ({ ...plan, batches: kept }), 0);
  for (const [at, batch] of plan.batches.entries())
    for (const one of batch.interventions)
      yield {
        ...plan,
        batches: plan.batches.with(at, {
          ...batch,
          interventions: batch.interventions.filter((other) => other !== one),
        }),
      };
  yield* halves(plan.strangers, (kept) => ({ ...plan, strangers: kept }), 0);
  yield* halves(plan.openings, (kept) => ({ ...plan, openings: kept }), 0);
  yield* halves(processFaults, (kept) => ({ ...plan, processFaults: kept }), 0);
  yield* halves(faults, (kept) => ({ ...plan, faults: kept }), 0);
  for (const [at, { interventions }] of payouts.entries())
    for (const one of interventions)
      yield {
        ...plan,
        payouts: payouts.with(at, {
          ...nth(payouts, at),
          interventions: interventions.filter((other) => other !== one),
        }),
      };
  for (const part of [
    'rotation',
    'deletion',
    'pause',
    'prices',
    'upgrade',
    'restored',
    'operationOutage',
    'temporalOutage',
    'events',
  ] as const)
    if (plan[part]) yield { ...plan, [part]: undefined };
  if (plan.losses.refused + plan.losses.lost > 0) yield { ...plan, losses: { refused: 0, lost: 0 } };
  if (plan.network > 0) yield { ...plan, network: 0 };
  if (plan.slowConnects > 0) yield { ...plan, slowConnects: 0 };
  if (workflowTaskFaults.evicted + workflowTaskFaults.lost + workflowTaskFaults.failed > 0)
    yield { ...plan, workflowTaskFaults: { evicted: 0, lost: 0, failed: 0 } };
  if (plan.workers > 1 && processFaults.length === 0) yield { ...plan, workers: plan.workers - 1 };
}

function* halves<T>(all: readonly T[], make: (kept: T[]) => Plan, minimum: number): Generator<Plan> {
  if (all.length <= minimum) return;
  if (all.length > 2) {
    const half = Math.ceil(all.length / 2);
    yield make(all.slice(0, half));
    yield make(all.slice(half));
  }
  for (const left of all) yield make(all.filter((one) => one !== left));
}

function nth<T>(all: readonly T[], at: number): T {
  const one = all[at];
  if (one === undefined) throw new Error(`no element ${at}`);
  return one;
}
