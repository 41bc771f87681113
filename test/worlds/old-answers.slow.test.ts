/** Answers that reach their workflow late, because no worker takes its tasks, in virtual time. */
import { beforeAll, describe, expect, inject, test } from 'vitest';
import type { Environment } from '../../src/config/environment.ts';
import { payoutFollowUpWorkflowId } from '../../src/contract/ids.ts';
import { PayoutWorld, partnerOrderIdOf, payoutId } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';

const HOUR_MS = 3_600_000;
const partnerOrderId = partnerOrderIdOf(1);

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

function worldOf(env: Environment = {}) {
  const system = new PayoutWorld({ workflows, seed: 1, env });
  const { world, server, processes, payouts, provider } = system;
  /** Ids of the activities of this type that the workflow has scheduled. */
  const scheduled = (workflowId: string, activityType: string) =>
    server
      .find(workflowId)
      .entries.filter(
        ({ event }) => event.activityTaskScheduledEventAttributes?.activityType?.name === activityType,
      );
  const isCompleted = (workflowId: string, scheduledId: number | undefined) =>
    server
      .find(workflowId)
      .entries.some(
        ({ event }) => Number(event.activityTaskCompletedEventAttributes?.scheduledEventId) === scheduledId,
      );
  return {
    ...{ system, world, server, payouts, control: provider.control },
    state: () => world.finish(payouts.state({ partnerOrderId })),
    result: () => world.finish(payouts.result({ partnerOrderId }), HOUR_MS),
    scheduled,
    /** Waits for the result of the `count`th activity of this type, and keeps it from the workflow for `ms`. */
    async delayAnswer(
      workflowId: string,
      activityType: string,
      count: number,
      ms: number,
      meanwhile = () => {},
    ) {
      const isAnswered = () => {
        const one = server.latest(workflowId) && scheduled(workflowId, activityType)[count - 1];
        return one !== undefined && isCompleted(workflowId, one.id);
      };
      expect(await world.run({ done: isAnswered, withinMs: HOUR_MS })).toBe('done');
      for (const process of processes) process.kill();
      await world.run({ withinMs: ms });
      meanwhile();
      for (const process of processes) process.start();
    },
  };
}

describe('a lock', () => {
  const LOCK_MS = 60_000;

  test('whose quote reaches the workflow late is not used for a create', async () => {
    const scene = worldOf();
    const { system, world, control, delayAnswer, result } = scene;
    await world.finish(system.start(1));
    await delayAnswer(payoutId(1), 'beginPayout', 1, 0.95 * LOCK_MS);
    expect((await result()).outcome).toBe('SUCCESS');
    const ages = control.ledgerOf(partnerOrderId).creates.map(({ lockAgeMs }) => lockAgeMs ?? LOCK_MS);
    expect(ages.map((age) => age < LOCK_MS / 2)).toEqual([true]);
    expect(world.violations).toEqual([]);
  });

  test.each([-HOUR_MS, HOUR_MS])('is used by a worker whose clock is %d ms off', async (offsetMs) => {
    const { system, world, control, result } = worldOf();
    for (const process of system.processes) process.wallClockOffsetMs = offsetMs;
    await world.finish(system.start(1));
    expect((await result()).outcome).toBe('SUCCESS');
    expect(control.calls({ operation: 'fee' })).toHaveLength(1);
  });

  test('is requested at most twice by a worker whose clock is behind, however long a quote waits for its turn', async () => {
    const count = 80;
    const { system, world, control } = worldOf({ PAYMENTS_CALLS_PER_SECOND: '1', PAYOUTS_POLL_FIRST: '1h' });
    for (const process of system.processes) process.wallClockOffsetMs = -HOUR_MS;
    for (let number = 1; number <= count; number += 1) await world.finish(system.start(number));
    const created = () => control.calls({ operation: 'createCnyOrder' }).length;
    expect(await world.run({ done: () => created() === count, withinMs: 20 * LOCK_MS })).toBe('done');
    expect(control.calls({ operation: 'fee' }).length).toBeLessThanOrEqual(2 * count);
    expect(world.violations).toEqual([]);
  });
});

describe('a trade query that denies the order', () => {
  test('H132 counts from the time of the query, so that an old denial leads to no review', async () => {
    const scene = worldOf({
      PAYOUTS_CONFIRMATION_WINDOW: '60s',
      PAYOUTS_POLL_FIRST: '5s',
      PAYOUTS_POLL_MAX: '1h',
    });
    const { system, world, control, state, delayAnswer, result } = scene;
    await world.finish(system.start(1, { platform: 'sim:stuck' }));
    while ((await state().catch(() => undefined))?.phase !== 'PROCESSING') await world.run({ withinMs: 100 });
    control.changeOrder(partnerOrderId, { visible: false, answers: { queryDetail: { orderId: 'another' } } });
    // The last denial is old by the time that the workflow sees it. The provider knows the order again.
    await delayAnswer(payoutId(1), 'fetchTradeWithDetail', 3, 5 * 60_000, () =>
      control.changeOrder(partnerOrderId, { visible: true }),
    );
    await world.run({ withinMs: 30_000 });
    const { phase, lastConfirmedAt = '', lastAskedAt = '' } = await state();
    expect(phase).toBe('PROCESSING');
    expect(Date.parse(lastConfirmedAt)).toBeLessThanOrEqual(Date.parse(lastAskedAt));
    control.changeOrder(partnerOrderId, { status: 'SUCCESS' });
    expect((await result()).outcome).toBe('SUCCESS');
    expect(world.violations).toEqual([]);
  });
});

describe('a check of a follow-up', () => {
  const followUpId = payoutFollowUpWorkflowId('default', partnerOrderId);

  test('H22 whose answer comes after the next check was due does not replace that check', async () => {
    const { system, world, delayAnswer, scheduled, result } = worldOf({ PAYOUTS_FOLLOW_UP: '2m,10m,2h' });
    await world.finish(system.start(1));
    expect((await result()).outcome).toBe('SUCCESS');
    await delayAnswer(followUpId, 'fetchTradeDetail', 1, 12 * 60_000);
    await world.run({ withinMs: 60_000 });
    expect(scheduled(followUpId, 'fetchTradeDetail')).toHaveLength(2);
    expect(world.violations).toEqual([]);
  });
});
