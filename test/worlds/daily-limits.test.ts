/** The workflow of a caller's daily limits over days, in virtual time. */
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { expect, inject, test } from 'vitest';
import { allowanceWorkflowId, PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import { allowanceQuery, reserveUpdate, type WorkflowSignatures } from '../../src/contract/workflows.ts';
import { PAYOUT_KEY_LENGTH } from '../../src/domain/daily-limits.ts';
import { dayOf } from '../../src/domain/time.ts';
import { PayoutWorld } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows } from '../../worlds/sdk.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const workflowId = allowanceWorkflowId('test', 'shop');

async function stage() {
  const system = new PayoutWorld({ workflows: await loadWorkflows(inject('workflowBundle')), seed: 1 });
  const { world, server, client } = system;
  const [process] = system.processes;
  await world.finish(
    client.workflow.start<WorkflowSignatures['callerAllowance']>('callerAllowance', {
      ...{ taskQueue: PAYOUTS_TASK_QUEUE, workflowId },
      args: [{ environment: 'test', caller: 'shop' }],
    }),
    MINUTE,
  );
  const handle = client.workflow.getHandle(workflowId);
  /** Whether 1.00 CNY was reserved under this name. */
  const reserve = async (name: string, dailyCount: number): Promise<boolean> => {
    const payouts = [{ currency: 'CNY', keys: name.padEnd(PAYOUT_KEY_LENGTH, '.'), hundredths: '100' }];
    const request = { reservations: [{ limits: { dailyCount }, payouts }] };
    try {
      await world.finish(handle.executeUpdate(reserveUpdate, { args: [request] }), 5 * MINUTE);
      return true;
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError) return false;
      throw error;
    }
  };
  /** Time passes without a worker: its heartbeats of days would take minutes. */
  const pass = async (ms: number) => {
    process?.kill();
    await world.run({ withinMs: ms });
    process?.start();
  };
  const state = () => world.finish(handle.query(allowanceQuery), MINUTE);
  const runs = () => server.runs.filter((run) => run.workflowId === workflowId);
  return { system, world, process, pass, reserve, state, runs };
}

/** To a time of the current day (UTC). */
const hourOf = (world: PayoutWorld['world']) => (world.now % DAY) / HOUR;

test('H177 a day ends at midnight UTC by the clock of the workflow; its sums return to zero then, and not before', async () => {
  const { system, world, pass, reserve, state } = await stage();
  await pass(DAY - (world.now % DAY) + HOUR);
  expect(hourOf(world)).toBeCloseTo(1, 1);
  const day = dayOf(world.now);
  expect([await reserve('a', 2), await reserve('b', 2), await reserve('c', 2)]).toEqual([true, true, false]);
  await pass(22 * HOUR);
  expect(dayOf(world.now)).toBe(day);
  expect([await reserve('c', 2), await reserve('a', 2)]).toEqual([false, true]);
  await pass(2 * HOUR);
  // The state is that of the last reservation until another one comes.
  expect(await state()).toMatchObject({ day, count: 2 });
  expect([await reserve('c', 2), await reserve('a', 2), await reserve('d', 2)]).toEqual([true, true, false]);
  expect(await state()).toEqual({
    ...{ day: dayOf(world.now), count: 2 },
    sums: [{ currency: 'CNY', amount: '2.00' }],
  });
  await system.end();
});

test('H178 the sums survive continue-as-new and a killed worker, and each history stays short', async () => {
  const { system, process, reserve, state, runs } = await stage();
  for (let number = 0; number < 450; number += 1) {
    if (number % 100 === 50) {
      process?.kill();
      process?.start();
    }
    expect(await reserve(`n${number}`, 400)).toBe(number < 400);
  }
  expect(await state()).toMatchObject({ count: 400, sums: [{ amount: '400.00' }] });
  // A repeated reservation is known to the later runs.
  expect(await reserve('n0', 400)).toBe(true);
  expect(runs().length).toBeGreaterThan(1);
  for (const { entries } of runs()) expect(entries.length).toBeLessThan(1_500);
  await system.end();
});

test('the workflow ends after a day without reservations', async () => {
  const { system, world, pass, reserve, runs } = await stage();
  const isRunning = () => runs().at(-1)?.isRunning;
  expect(await reserve('a', 1)).toBe(true);
  await pass(2 * DAY - (world.now % DAY) - 2 * MINUTE);
  await world.run({ withinMs: MINUTE });
  expect(isRunning()).toBe(true);
  await world.run({ withinMs: 2 * MINUTE });
  expect(isRunning()).toBe(false);
  await system.end();
});
