import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from '@temporalio/worker';
import { beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { UnsettledError, World } from '../../worlds/engine/world.ts';
import { planOf } from '../../worlds/payouts/plan.ts';
import { runPlan, runSeed } from '../../worlds/payouts/run-seed.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';
import { exported } from '../../worlds/temporal/history.ts';

/** Small worlds: 5 waits for an hour. */
const SEEDS = [1, 2, 3, 4, 6, 7];

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

test('the same seed gives the same world in every process', async () => {
  const [one, again, other] = await Promise.all([factsOf(6), factsOf(6), factsOf(16)]);
  const differing = one.findIndex((fact, at) => fact !== again[at]);
  expect(again[differing], `fact ${differing}`).toBe(one[differing]);
  expect(again).toHaveLength(one.length);
  expect(other).not.toEqual(one);
});

async function factsOf(seed: number): Promise<string[]> {
  const program = join(import.meta.dirname, '../support/print-facts.ts');
  const args = ['--import', 'tsx', program, inject('workflowBundle'), String(seed)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 28 });
  return z.array(z.string()).parse(JSON.parse(stdout));
}

test('H264 an order of an earlier run whose terms nobody approved is reported', async () => {
  const plan = planOf(500408);
  const [drifts] = plan.payouts;
  expect(drifts?.request.platform).toBe('sim:drift');
  const { violations } = await runPlan(workflows, { ...plan, payouts: plan.payouts.slice(0, 1) });
  expect(violations).toEqual([]);
});

test('H264 an order of a terminated run whose terms the provider changed is reported', async () => {
  const plan = planOf(601182);
  const payouts = plan.payouts.filter(({ number }) => number === 1);
  expect(payouts[0]).toMatchObject({ request: { platform: 'sim:drift', approval: 'required' } });
  const { violations } = await runPlan(workflows, { ...plan, payouts });
  expect(violations).toEqual([]);
});

test('a restore of Temporal leaves a payout open that a reset has opened again', async () => {
  const plan = planOf(85057905);
  const { violations } = await runPlan(workflows, { ...plan, payouts: plan.payouts.slice(6, 7) });
  expect(violations).toEqual([]);
});

test('a check of the world ends without its answer', async () => {
  const world = new World({ seed: 1 });
  const never = new Promise(() => {});
  await expect(world.finish(never)).rejects.toThrow('no answer, and nothing is left to happen');
  const tick = () => void world.at(60_000, tick);
  tick();
  await expect(world.finish(never)).rejects.toThrow(UnsettledError);
});

test(`${SEEDS.length} seeds hold every invariant, and the real core replays all their histories`, async () => {
  const histories: { workflowId: string; history: ReturnType<typeof exported> }[] = [];
  let converter: Awaited<ReturnType<typeof runSeed>>['converter'] | undefined;
  for (const seed of SEEDS) {
    const report = await runSeed(workflows, seed);
    converter = report.converter;
    expect(report.violations, `npm run simulate -- --seeds 1 --from ${seed}`).toEqual([]);
    for (const { workflowId, entries } of report.runs)
      histories.push({ workflowId, history: exported(entries) });
  }
  // One worker for all of them, one at a time.
  const options = {
    ...{ workflowBundle: { codePath: inject('workflowBundle') }, replayName: 'simulation' },
    ...(converter && { dataConverter: converter }),
  };
  const differing: string[] = [];
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories))
    if (error) differing.push(`${workflowId}: ${error.message}`);
  expect(differing).toEqual([]);
  expect(histories.length).toBeGreaterThanOrEqual(5 * SEEDS.length);
});
