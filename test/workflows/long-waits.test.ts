/** Waits of minutes, hours and days at their real length, on a server that skips them. */
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { Environment } from '../../src/config/environment.ts';
import { activityTimeoutMs } from '../../src/domain/deadlines.ts';
import type { PayoutRef } from '../../src/starters/payouts.ts';
import { NO_SKIPPING, SkippingWorld } from '../support/skipping-world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** More than the time between two questions, and much less than any wait that is measured here. */
const ROUND = MINUTE;
/** From the answer that did not come: until then the create may still be on its way. */
const CREATE_DEADLINE = activityTimeoutMs(20 * SECOND);

/** Those that no test has stopped yet, each by its settings. Time is one for all that is in a world. */
const worlds = new Map<string, SkippingWorld>();
let world: SkippingWorld;
afterAll(async () => {
  for (const one of worlds.values()) await one.stop();
});

/**
 * The server skips time while a workflow task is under way, also past that task's own timeout, and then never answers
 * again, or it skips further than it was told. So a test that fails is given a new server, four times. A window that is too
 * short or too long fails on every server.
 */
const ON_A_NEW_SERVER = { retry: 4, timeout: 1.5 * MINUTE };
afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return;
  // Left alone: what still waits for it would fail when it is stopped. It ends with this process.
  for (const [key, one] of worlds) if (one === world) worlds.delete(key);
});

async function enter(env: Environment = {}): Promise<void> {
  const key = JSON.stringify(env);
  world = worlds.get(key) ?? (await SkippingWorld.start(env));
  worlds.set(key, world);
}

const creates = ({ partnerOrderId }: PayoutRef) => world.simulator.control.ledgerOf(partnerOrderId).creates;
const debits = ({ partnerOrderId }: PayoutRef) => world.simulator.control.ledgerOf(partnerOrderId).debits;

describe.skipIf(NO_SKIPPING !== undefined)('the confirmation window', ON_A_NEW_SERVER, () => {
  test.each([
    ['10 minutes by default', {}, 10 * MINUTE],
    ['as long as it is set', { PAYOUTS_CONFIRMATION_WINDOW: '40m' }, 40 * MINUTE],
  ])('H2 is %s: a person is asked after it, and not before', async (_how, env, window) => {
    await enter(env);
    const ref = await world.paySpoilt({ kind: 'drop-before' }, 'success');
    await world.until(ref, ({ phase }) => phase === 'RECONCILING');
    await world.sleep(CREATE_DEADLINE + window - ROUND);
    expect((await world.payouts.state(ref)).phase).toBe('RECONCILING');
    await world.sleep(2 * ROUND);
    const state = await world.until(ref, ({ phase }) => phase !== 'RECONCILING');
    expect(state).toMatchObject({ phase: 'NEEDS_REVIEW', needsAttention: true });
    expect(creates(ref).length).toBe(1);
  });

  test.each([0, 30 * SECOND, 9 * MINUTE, 40 * MINUTE])(
    'H2 the order shows up after %d ms: one debit, one create, no decision of a person',
    async (lag) => {
      await enter();
      const ref = await world.paySpoilt({ kind: 'drop-after' }, 'success readLag=1h');
      await world.until(ref, ({ phase }) => phase === 'RECONCILING');
      await world.sleep(lag);
      const phase = lag > 10 * MINUTE + CREATE_DEADLINE ? 'NEEDS_REVIEW' : 'RECONCILING';
      await world.until(ref, (state) => state.phase === phase);
      world.simulator.control.changeOrder(ref.partnerOrderId, { visible: true });
      expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
      expect([creates(ref).length, debits(ref)]).toEqual([1, 1]);
      expect((await world.payouts.state(ref)).needsAttention).toBe(false);
    },
  );
});

describe.skipIf(NO_SKIPPING !== undefined)('an approval', ON_A_NEW_SERVER, () => {
  test('is waited for as long as it is set, a day by default', async () => {
    await enter();
    const ref = await world.pay('success', { approval: 'required' });
    await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.sleep(DAY - MINUTE);
    expect((await world.payouts.state(ref)).phase).toBe('AWAITING_APPROVAL');
    await world.sleep(2 * MINUTE);
    expect((await world.payouts.result(ref)).reason?.code).toBe('APPROVAL_EXPIRED');
    expect(creates(ref)).toEqual([]);
  });

  test('that comes after the lock ran out leads to a new quote, not to a create with a dead lock', async () => {
    await enter();
    const ref = await world.pay('success', { approval: 'required' });
    const { quote } = await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.sleep(2 * MINUTE);
    await world.payouts.approve(ref, { by: 'olga' });
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    const locks = creates(ref).map(({ body }) => /"lockRateId":"([^"]*)"/.exec(body)?.[1]);
    expect(locks).toEqual([expect.any(String)]);
    expect(locks).not.toContain(quote?.lockRateId);
  });
});
