/** Waits of minutes, hours and days at their real length, in virtual time. */
import { beforeAll, describe, expect, inject, test } from 'vitest';
import type { FaultInput } from '../../simulator/index.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { activityTimeoutMs } from '../../src/domain/time.ts';
import { PayoutWorld, partnerOrderIdOf } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The longest time between two calls that confirm an order, with a margin. */
const ROUND = MINUTE;
/** The end of the deadline of a create, from which the window counts. */
const CREATE_DEADLINE = activityTimeoutMs(20 * SECOND);
const partnerOrderId = partnerOrderIdOf(1);

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

interface Scene {
  env?: Environment;
  scenario?: string;
  /** Of the first create. */
  fault?: FaultInput;
  /** Of every create. */
  always?: FaultInput;
  more?: Partial<PayoutRequest>;
}

/** One payout with the default settings. */
async function scene({ env = {}, scenario = 'success', fault, always, more }: Scene) {
  const system = new PayoutWorld({ workflows, seed: 1, env });
  const { world, payouts, processes } = system;
  const { control } = system.provider;
  if (fault) control.addFault({ operation: 'createCnyOrder', times: 1, fault });
  if (always) control.addFault({ operation: 'createCnyOrder', fault: always });
  await world.finish(system.start(1, { platform: `sim:${scenario}`, ...more }));
  const state = () => world.finish(payouts.state({ partnerOrderId }));
  return {
    ...{ system, control, state },
    pass: (ms: number) => world.run({ withinMs: ms }),
    /** The same without a worker process: long idle times cost nothing. */
    passWithoutWorkers: async (ms: number) => {
      for (const process of processes) process.kill();
      await world.run({ withinMs: ms });
      for (const process of processes) process.start();
    },
    result: () => world.finish(payouts.result({ partnerOrderId }), DAY),
    creates: () => control.ledgerOf(partnerOrderId).creates,
    untilPhase: async (phase: string) => {
      for (let looks = 0; looks < 1_000; looks += 1) {
        const seen = await state().catch(() => undefined);
        if (seen?.phase === phase) return seen;
        await world.run({ withinMs: SECOND });
      }
      throw new Error(`the payout never got to ${phase}`);
    },
  };
}

describe('the confirmation window', () => {
  test.each([
    ['10 minutes by default', {}, 10 * MINUTE],
    ['as long as it is set', { PAYOUTS_CONFIRMATION_WINDOW: '40m' }, 40 * MINUTE],
  ])('H2 is %s: review starts after it, and not before', async (_how, env, window) => {
    const { untilPhase, pass, state, creates, control } = await scene({
      env,
      fault: { kind: 'drop-before' },
    });
    await untilPhase('RECONCILING');
    await pass(CREATE_DEADLINE + window - ROUND);
    expect((await state()).phase).toBe('RECONCILING');
    await pass(2 * ROUND);
    expect(await state()).toMatchObject({ phase: 'NEEDS_REVIEW', needsAttention: true });
    expect(creates()).toHaveLength(1);
    expect(control.ledgerOf(partnerOrderId).debits).toBe(0);
  });

  test.each([0, 30 * SECOND, 9 * MINUTE, 40 * MINUTE])(
    'H2 the order appears after %d ms: one debit, one create, no decision of a person',
    async (lag) => {
      const { untilPhase, pass, state, creates, control, result } = await scene({
        scenario: 'success readLag=2h',
        fault: { kind: 'drop-after' },
      });
      await untilPhase('RECONCILING');
      await pass(lag);
      await untilPhase(lag > 10 * MINUTE + CREATE_DEADLINE ? 'NEEDS_REVIEW' : 'RECONCILING');
      control.changeOrder(partnerOrderId, { visible: true });
      expect((await result()).outcome).toBe('SUCCESS');
      expect([creates().length, control.ledgerOf(partnerOrderId).debits]).toEqual([1, 1]);
      expect((await state()).needsAttention).toBe(false);
    },
  );
});

describe('H56 no loop of quote and create is endless', () => {
  const env = { PAYMENTS_CREATE_CODES: '429:busy,30001:lock-expired', PAYOUTS_CONFIRMATION_WINDOW: '5s' };

  test.each([
    ['lock-expired', { kind: 'envelope', code: 30001 }],
    ['busy', { kind: 'status', status: 429 }],
  ] as const)('an endless %s is paced and flagged, then reviewed', async (_, always) => {
    const { state, creates, pass } = await scene({ env, always });
    // The SDK drops a query that a workflow task overtakes.
    const seen = async (): ReturnType<typeof state> => (await state().catch(() => undefined)) ?? seen();
    const codes = async () => (await seen()).reasons.map(({ code }) => code);
    while (!(await codes()).includes('CREATION_STARTS_OVER')) await pass(SECOND);
    expect((await seen()).phase).not.toBe('DONE');
    // One create in each round, and a pause that doubles.
    expect(creates()).toHaveLength(3);
    while ((await seen()).phase !== 'NEEDS_REVIEW') await pass(SECOND);
    expect(creates()).toHaveLength(10);
  });
});

describe('an approval', () => {
  const more = { approval: 'required' as const };

  test('expires as configured, after a day by default', async () => {
    const { untilPhase, pass, passWithoutWorkers, state, creates, result } = await scene({ more });
    await untilPhase('AWAITING_APPROVAL');
    await passWithoutWorkers(DAY - 2 * MINUTE);
    await pass(MINUTE);
    expect((await state()).phase).toBe('AWAITING_APPROVAL');
    await pass(2 * MINUTE);
    expect((await result()).reason?.code).toBe('APPROVAL_EXPIRED');
    expect(creates()).toEqual([]);
  });

  test('after the lock expired leads to a new quote, not to a create with an expired lock', async () => {
    const { system, untilPhase, pass, creates, result } = await scene({ more });
    const { quote } = await untilPhase('AWAITING_APPROVAL');
    await pass(2 * MINUTE);
    await system.world.finish(system.payouts.approve({ partnerOrderId }, { by: 'olga' }));
    expect((await result()).outcome).toBe('SUCCESS');
    const locks = creates().map(({ body }) => /"lockRateId":"([^"]*)"/.exec(body)?.[1]);
    expect(locks).toEqual([expect.any(String)]);
    expect(locks).not.toContain(quote?.lockRateId);
  });
});

test('H28 a payout without notifications ends correctly after hours, with a bounded history', async () => {
  const { pass, passWithoutWorkers, state, control, system, result } = await scene({
    scenario: 'slow final=2h notify=none',
  });
  await pass(10 * MINUTE);
  await passWithoutWorkers(HOUR);
  await pass(10 * MINUTE);
  expect((await state()).phase).not.toBe('DONE');
  expect((await result()).outcome).toBe('SUCCESS');
  expect(control.ledgerOf(partnerOrderId).debits).toBe(1);
  for (const run of system.server.runs) expect(run.entries.length).toBeLessThan(2_000);
});
