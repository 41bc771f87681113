import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { NO_TROUBLES } from '../../simulation/payouts/fake-provider.ts';
import { PayoutWorld, type PayoutWorldOptions, payoutId } from '../../simulation/payouts/payout-world.ts';
import { runSeed } from '../../simulation/payouts/run-seed.ts';
import { loadWorkflows, type Workflows } from '../../simulation/sdk.ts';
import { EventType, exported } from '../../simulation/temporal/history.ts';
import type { Run } from '../../simulation/temporal/run.ts';
import { replays } from '../support/histories.ts';

const NO_FAULTS = { evicted: 0, lost: 0, failed: 0 };
const HOUR_MS = 3_600_000;
// biome-ignore lint/suspicious/noTemplateCurlyInString: it stands in a template of the bundle.
const PLANTED = '${made++} ';

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

function worldOf(options: Partial<PayoutWorldOptions> = {}): PayoutWorld {
  return new PayoutWorld({ workflows, seed: 1, ...options });
}

function typesOf(run: Run | undefined): string[] {
  return (run?.entries ?? []).map(({ type }) => EventType[type].replace('EVENT_TYPE_', ''));
}

async function paid(payouts: PayoutWorld, more: object = {}): Promise<Run> {
  const { world, server } = payouts;
  const handle = await world.finish(payouts.start(1, more));
  expect(await world.finish(handle.result(), HOUR_MS)).toMatchObject({ outcome: 'SUCCESS' });
  expect(world.violations).toEqual([]);
  expect(payouts.provider.debits.get('p-1')).toBe(1);
  return server.find(payoutId(1));
}

describe('one payout', () => {
  test('ends with one debit, and the real core replays its history', async () => {
    const run = await paid(worldOf());
    expect(typesOf(run).filter((type) => type.includes('FAILED') || type.includes('TIMED_OUT'))).toEqual([]);
    await replays(exported(run.entries));
  });

  test('replays alike before every workflow task', async () => {
    const payouts = worldOf({ faults: { ...NO_FAULTS, evicted: 1 } });
    const run = await paid(payouts);
    const tasks = typesOf(run).filter((type) => type === 'WORKFLOW_TASK_COMPLETED').length;
    expect(payouts.server.workers[0]?.replays).toBe(tasks - 1);
    expect(typesOf(run)).toEqual(typesOf(await paid(worldOf())));
  });

  test('gets over lost and failed workflow tasks, of which only first attempts are written', async () => {
    const run = await paid(worldOf({ seed: 3, faults: { ...NO_FAULTS, lost: 0.4, failed: 0.2 } }));
    const types = typesOf(run);
    expect(types).toContain('WORKFLOW_TASK_TIMED_OUT');
    expect(types).toContain('WORKFLOW_TASK_FAILED');
    expect(types.join()).not.toMatch(
      /WORKFLOW_TASK_FAILED,WORKFLOW_TASK_SCHEDULED,WORKFLOW_TASK_STARTED,WORKFLOW_TASK_FAILED/,
    );
    await replays(exported(run.entries));
  });

  test('goes on as new, and keeps what it knows', async () => {
    const payouts = worldOf({
      faults: { ...NO_FAULTS, evicted: 0.05 },
      troubles: { ...NO_TROUBLES, notified: 0, finalMs: HOUR_MS / 5 },
    });
    const { world, server } = payouts;
    const handle = await world.finish(payouts.start(1));
    expect(await world.finish(handle.result(), 24 * HOUR_MS)).toMatchObject({ outcome: 'SUCCESS' });
    expect(world.violations).toEqual([]);
    expect(server.runs.length).toBeGreaterThan(1);
    for (const run of server.runs) expect(run.entries.length).toBeLessThan(500);
    const [first, second] = server.runs;
    expect(typesOf(first).at(-1)).toBe('WORKFLOW_EXECUTION_CONTINUED_AS_NEW');
    expect(second?.started.firstExecutionRunId).toBe(first?.runId);
    await replays(exported(second?.entries ?? []));
  });
});

describe('whoever steers a payout', () => {
  async function awaitingApproval(faults = NO_FAULTS) {
    const payouts = worldOf({ faults });
    const { world } = payouts;
    const handle = await world.finish(payouts.start(1, { approval: 'required' }));
    await world.run({ withinMs: 60_000 });
    expect(await world.finish(handle.query('state'))).toMatchObject({ phase: 'AWAITING_APPROVAL' });
    return { payouts, world, handle, run: payouts.server.find(payoutId(1)) };
  }

  test('approves by an update', async () => {
    const { world, handle, run } = await awaitingApproval({ ...NO_FAULTS, evicted: 1 });
    await world.finish(handle.executeUpdate('approve', { args: [{ by: 'approver' }] }));
    expect(await world.finish(handle.result())).toMatchObject({ outcome: 'SUCCESS' });
    expect(typesOf(run)).toContain('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
    expect(typesOf(run)).toContain('WORKFLOW_EXECUTION_UPDATE_COMPLETED');
    expect(await world.finish(handle.query('state')), 'answered after the end, by a replay').toMatchObject({
      phase: 'DONE',
    });
    expect(world.violations).toEqual([]);
    await replays(exported(run.entries));
  });

  test('is refused by the validator, which leaves no trace', async () => {
    const { world, handle, run } = await awaitingApproval();
    const before = run.entries.length;
    const asked = handle.executeUpdate('resolve', {
      args: [{ by: 'operator', created: false, then: 'end' }],
    });
    await expect(world.finish(asked)).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
    expect(run.entries.length).toBe(before);
    await world.finish(handle.executeUpdate('approve', { args: [{ by: 'approver' }] }));
    expect(await world.finish(handle.result())).toMatchObject({ outcome: 'SUCCESS' });
    await replays(exported(run.entries));
  });

  test('cancels it through Temporal before the creation', async () => {
    const { world, handle } = await awaitingApproval();
    await world.finish(handle.cancel());
    const result = { outcome: 'NOT_CREATED', reason: { code: 'CANCELLED' } };
    expect(await world.finish(handle.result())).toMatchObject(result);
  });

  test('terminates it', async () => {
    const { world, handle, run } = await awaitingApproval();
    await world.finish(handle.terminate('by a person'));
    await expect(world.finish(handle.result())).rejects.toThrow('by a person');
    expect(typesOf(run).at(-1)).toBe('WORKFLOW_EXECUTION_TERMINATED');
  });

  test('resets it to an earlier workflow task: it does not pay twice', async () => {
    const { payouts, world, handle, run } = await awaitingApproval();
    const finished = run.entries.find(({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
    const second = await world.finish(
      Promise.resolve().then(() => payouts.server.reset(run, finished?.id ?? 0, 'a try')),
    );
    expect(second.started).toBe(run.started);
    await world.run({ withinMs: 60_000 });
    const resetHandle = payouts.client.workflow.getHandle(payoutId(1), second.runId);
    await world.finish(resetHandle.executeUpdate('approve', { args: [{ by: 'approver' }] }));
    await world.finish(resetHandle.result());
    expect(world.violations).toEqual([]);
    expect(payouts.provider.debits.get('p-1') ?? 0).toBeLessThanOrEqual(1);
    expect(typesOf(run).at(-1)).toBe('WORKFLOW_EXECUTION_TERMINATED');
    await replays(exported(second.entries));
    expect(handle.workflowId).toBe(payoutId(1));
  });

  test('lists it a little later, by status and search attribute', async () => {
    const { payouts, world } = await awaitingApproval();
    const count = (query: string) =>
      world.finish(payouts.client.workflow.count(query).then(({ count }) => count));
    expect(await count("WorkflowType = 'payout' AND ExecutionStatus = 'Running'")).toBe(1);
    expect(await count("PayoutPhase IN ('CREATING', 'AWAITING_APPROVAL') AND NOT_SET IS NULL")).toBe(1);
    expect(await count("PayoutPhase = 'DONE' OR ExecutionStatus != 'Running'")).toBe(0);
    await expect(count('PayoutPhase ~ 1')).rejects.toThrow();
  });
});

test('H52 a query that runs past a fired timer on the clock before is refused, and the payout goes on', async () => {
  const payouts = worldOf({ workers: 2, troubles: { ...NO_TROUBLES, notified: 0, finalMs: 20_000 } });
  const { world, server } = payouts;
  const handle = await world.finish(payouts.start(1));
  const run = server.find(payoutId(1));
  const waits = () => run.attributes['PayoutOrderId'] !== undefined && run.timers.size > 0 && !run.task;
  await world.run({ done: waits, withinMs: HOUR_MS });
  const holder = run.sticky;
  holder?.kill();
  for (const worker of server.workers) worker.cutOff = true;
  const answer = handle.query('state').catch((error: unknown) => error);
  const fired = () => run.entries.at(-2)?.type === EventType.EVENT_TYPE_TIMER_FIRED;
  await world.run({ done: fired, withinMs: 20_000 });
  expect(run.sticky, 'the sticky queue still waits for the dead worker').toBe(holder);
  const alive = server.workers.filter((worker) => worker !== holder);
  for (const worker of alive) worker.cutOff = false;
  expect(await world.finish(answer)).toMatchObject({
    message: expect.stringContaining('StaleWorkflowClock'),
  });
  expect(await world.finish(handle.result(), HOUR_MS)).toMatchObject({ outcome: 'SUCCESS' });
  expect(world.violations).toEqual([]);
  await replays(exported(run.entries));
});

describe('seeds', () => {
  test('the same seed is the same world', async () => {
    const [one, again, other] = [
      await runSeed(workflows, 14),
      await runSeed(workflows, 14),
      await runSeed(workflows, 15),
    ];
    expect(again.digest).toBe(one.digest);
    expect(other.digest).not.toBe(one.digest);
  });

  test('50 seeds hold every invariant, and the real core replays all that they wrote', async () => {
    const histories: { workflowId: string; history: ReturnType<typeof exported> }[] = [];
    for (let seed = 1; seed <= 50; seed += 1) {
      const { violations, runs } = await runSeed(workflows, seed);
      expect(violations, `npm run simulate -- --seeds 1 --from ${seed}`).toEqual([]);
      for (const { workflowId, entries } of runs)
        histories.push({ workflowId: `${workflowId} of seed ${seed}`, history: exported(entries) });
    }
    // One worker for all of them, which takes one at a time.
    const options = { workflowBundle: { codePath: inject('workflowBundle') }, replayName: 'simulation' };
    const differing: string[] = [];
    for await (const { workflowId, error } of Worker.runReplayHistories(options, histories))
      if (error) differing.push(`${workflowId}: ${error.message}`);
    expect(differing).toEqual([]);
    expect(histories.length).toBeGreaterThanOrEqual(150);
  });

  test('a planted nondeterminism is found', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'simulation-planted-'));
    const planted = join(folder, 'workflows.js');
    const code = readFileSync(inject('workflowBundle'), 'utf8');
    // The text beside the create says how often this process has made one.
    const spoilt = code.replace('const summary = `create: pay ', `const summary = \`create: pay ${PLANTED}`);
    expect(spoilt).not.toBe(code);
    writeFileSync(planted, `let made = 0;\n${spoilt}`);
    const payouts = worldOf({
      workflows: await loadWorkflows(planted),
      faults: { ...NO_FAULTS, evicted: 1 },
    });
    const { world } = payouts;
    await world.finish(payouts.start(1));
    await world.run({ done: () => world.violations.length > 0, withinMs: HOUR_MS });
    expect(world.violations[0]).toMatch(
      /^payout:default:p-1: a replay asks for scheduleActivity .* where event \d+ was/,
    );
    rmSync(folder, { recursive: true });
  });
});
