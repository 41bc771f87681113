/** Waits of minutes, hours and days at their real length, in virtual time. */
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { NO_TROUBLES, type Troubles } from '../../simulation/payouts/fake-provider.ts';
import { PayoutWorld, partnerOrderIdOf } from '../../simulation/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../simulation/sdk.ts';
import type { Environment } from '../../src/config/environment.ts';
import { activityTimeoutMs } from '../../src/domain/deadlines.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The longest time between two calls that confirm an order, with room to spare. */
const ROUND = MINUTE;
/** The end of the deadline of a create, from which the window counts. */
const CREATE_DEADLINE = activityTimeoutMs(20 * SECOND);
const ORDER = partnerOrderIdOf(1);

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

interface Scene {
  env?: Environment;
  troubles?: Partial<Troubles>;
  request?: object;
}

/** One payout with the default settings. */
async function scene({ env = {}, troubles, request }: Scene) {
  const payouts = new PayoutWorld({ workflows, seed: 1, env, troubles: { ...NO_TROUBLES, ...troubles } });
  const { world, provider } = payouts;
  const handle = await world.finish(payouts.start(1, request));
  const state = async () =>
    z
      .looseObject({
        phase: z.string(),
        needsAttention: z.boolean(),
        quote: z.looseObject({ lockRateId: z.string() }).optional(),
      })
      .parse(await world.finish(handle.query('state')));
  return {
    ...{ payouts, provider, handle, state },
    pass: (ms: number) => world.run({ withinMs: ms }),
    result: () => world.finish(handle.result(), DAY),
    locks: () => provider.creates.map(({ lockRateId }) => lockRateId),
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
  ])('H2 is %s: a person is asked after it, and not before', async (_how, env, window) => {
    const { untilPhase, pass, state, provider } = await scene({ env, troubles: { requestLost: 1 } });
    await untilPhase('RECONCILING');
    await pass(CREATE_DEADLINE + window - ROUND);
    expect((await state()).phase).toBe('RECONCILING');
    await pass(2 * ROUND);
    expect(await state()).toMatchObject({ phase: 'NEEDS_REVIEW', needsAttention: true });
    await pass(DAY);
    expect(provider.creates).toEqual([]);
  });

  test.each([0, 30 * SECOND, 9 * MINUTE, 40 * MINUTE])(
    'H2 the order shows up after %d ms: one debit, one create, no decision of a person',
    async (lag) => {
      const { untilPhase, pass, state, provider, result } = await scene({ troubles: { answerLost: 1 } });
      provider.hidden.add(ORDER);
      await untilPhase('RECONCILING');
      await pass(lag);
      await untilPhase(lag > 10 * MINUTE + CREATE_DEADLINE ? 'NEEDS_REVIEW' : 'RECONCILING');
      provider.hidden.delete(ORDER);
      expect(await result()).toMatchObject({ outcome: 'SUCCESS' });
      expect([provider.creates.length, provider.debits.get(ORDER)]).toEqual([1, 1]);
      expect((await state()).needsAttention).toBe(false);
    },
  );
});

describe('an approval', () => {
  const request = { approval: 'required' };

  test('is waited for as long as it is set, a day by default', async () => {
    const { untilPhase, pass, state, locks, result } = await scene({ request });
    await untilPhase('AWAITING_APPROVAL');
    await pass(DAY - MINUTE);
    expect((await state()).phase).toBe('AWAITING_APPROVAL');
    await pass(2 * MINUTE);
    expect(await result()).toMatchObject({ outcome: 'NOT_CREATED', reason: { code: 'APPROVAL_EXPIRED' } });
    expect(locks()).toEqual([]);
  });

  test('that comes after the lock ran out leads to a new quote, not to a create with a dead lock', async () => {
    const { untilPhase, pass, payouts, handle, locks, result } = await scene({ request });
    const { quote } = await untilPhase('AWAITING_APPROVAL');
    await pass(2 * MINUTE);
    await payouts.world.finish(handle.executeUpdate('approve', { args: [{ by: 'olga' }] }));
    expect(await result()).toMatchObject({ outcome: 'SUCCESS' });
    expect(locks()).toEqual([expect.any(String)]);
    expect(locks()).not.toContain(quote?.lockRateId);
  });
});

test('H28 a payout that nobody tells about ends right after a week, with a bounded history', async () => {
  const { pass, state, provider, payouts, result } = await scene({
    troubles: { notified: 0, finalMs: 7 * DAY },
  });
  await pass(2 * DAY);
  expect((await state()).phase).not.toBe('DONE');
  await pass(7 * DAY);
  expect(await result()).toMatchObject({ outcome: 'SUCCESS' });
  expect(provider.debits.get(ORDER)).toBe(1);
  for (const run of payouts.server.runs) expect(run.entries.length).toBeLessThan(5_000);
});
