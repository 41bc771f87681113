/** In a file of its own, which runs beside the others. */
import { beforeAll, expect, inject, test } from 'vitest';
import { runSeed } from '../../worlds/payouts/run-seed.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';

/** With those of `seeds.test.ts`, twenty. In 1010, 1012 and 1014, payouts wait for an hour. */
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17].map((at) => 1_000 + at);

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

test.each(SEEDS)('seed %i holds every invariant', async (seed) => {
  const { violations } = await runSeed(workflows, seed);
  expect(violations, `npm run simulate -- --seeds 1 --from ${seed}`).toEqual([]);
});
