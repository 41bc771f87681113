/** In a file of its own, which runs beside the others. */
import { beforeAll, expect, inject, test } from 'vitest';
import { runSeed } from '../../simulation/payouts/run-seed.ts';
import { loadWorkflows, type Workflows } from '../../simulation/sdk.ts';

/** With those of `seeds.test.ts`, twenty. */
const SEEDS = Array.from({ length: 14 }, (_, at) => 1_001 + at);

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

test.each(SEEDS)('seed %i holds every invariant', async (seed) => {
  const { violations } = await runSeed(workflows, seed);
  expect(violations, `npm run simulate -- --seeds 1 --from ${seed}`).toEqual([]);
});
