import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import type { CurrentGrant } from '../../src/contract/tokens.ts';
import { type GrantRequest, grantUpdate, tokenStateQuery } from '../../src/contract/workflows.ts';
import { fingerprint, TokenSeal } from '../../src/encryption/key-ring.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { TokenRenewals } from '../../src/workers/tokens/token-renewals.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POLLS } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

/** A token is renewed with at least half of this left, which is more than any machine stalls. */
const LIFETIME_S = 20;
/** Consecutive lifetimes of one token. Twelve are a day of renewals. */
const LIFETIMES = 2;

/** Calls that were sent with a token that the provider rejected. */
const unauthorized = (world: VirtualWorld) =>
  world.simulator.control.calls().filter(({ token }) => token !== 'valid' && token !== 'not-needed');
const tokenCalls = (world: VirtualWorld) =>
  world.simulator.control.calls().filter(({ operation }) => operation === 'token').length;
/** These worlds have no token keys. */
const accessTokenIn = ({ access }: CurrentGrant) =>
  new TokenSeal(undefined, PROCESS_RUNTIME.random).open(
    access,
    { environment: 'test', app: 'default' },
    'access',
  );
const handle = (world: VirtualWorld, openId?: string) =>
  world.client.workflow.getHandle(tokenWorkflowId('default', openId));

describe('the application token is renewed long before it expires', () => {
  let world: VirtualWorld;
  beforeAll(async () => {
    world = await VirtualWorld.start({ settings: { applicationTokenSeconds: LIFETIME_S } });
  });
  afterAll(() => world.stop());

  test('H44 over several lifetimes, with open payouts: no call is sent with an expired token, one renewal per period', async () => {
    const begun = world.clock.nowMs();
    const ends: Promise<unknown>[] = [];
    const renewals = async () => (await handle(world).query(tokenStateQuery)).renewals;
    do {
      const ref = await world.pay('slow final=1s');
      ends.push(world.payouts.result(ref));
      await world.pass(1_000);
    } while (world.clock.nowMs() - begun < LIFETIMES * LIFETIME_S * 1_000 || (await renewals()) < 3);
    await Promise.all(ends);
    expect(unauthorized(world)).toEqual([]);
    // One may be in flight: its call has arrived, and the workflow does not have its answer yet.
    // The calls are counted last, so that a renewal in between cannot hide an extra call.
    const unaccounted = async () => {
      const { renewals } = await handle(world).query(tokenStateQuery);
      return tokenCalls(world) - renewals;
    };
    await eventually(async () => (await unaccounted()) === 0 || undefined);
    const state = await handle(world).query(tokenStateQuery);
    const periods = (world.clock.nowMs() - begun) / (LIFETIME_S * 1_000 * 0.25);
    expect(state.renewals).toBeLessThanOrEqual(Math.ceil(periods * 1.1) + 1);
    expect(state.needsAttention).toBe(false);
    const calls = world.simulator.control.calls().length;
    console.log(`${state.renewals} renewals, ${calls} calls, ${ends.length} payouts, 0 unauthorized answers`);
  });

  test('H43 twenty concurrent requests share one renewal', async () => {
    // In a world without other renewals at that time.
    const quiet = await VirtualWorld.start();
    try {
      await quiet.payouts.result(await quiet.pay('success'));
      // Requests beyond five are asked to retry, as a worker does.
      const grant = (request: GrantRequest) =>
        eventually(
          async () => (await handle(quiet).executeUpdate(grantUpdate, { args: [request] })) ?? undefined,
        );
      const before = await grant({});
      const rejected = fingerprint(accessTokenIn(before));
      const grants = await Promise.all(Array.from({ length: 20 }, () => grant({ rejected })));
      const tokens = new Set(grants.map(accessTokenIn));
      expect(tokens.size).toBe(1);
      expect(tokens).not.toContain(accessTokenIn(before));
      expect(tokenCalls(quiet)).toBe(2);
    } finally {
      await quiet.stop();
    }
  });

  test('H44 a token that the provider revokes is replaced at once, and the payout continues', async () => {
    const ref = await world.pay('stuck');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    world.simulator.control.expireTokens({ kind: 'application' });
    expect((await world.payouts.poll(ref)).reasons).toEqual([]);
    world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  });
});

test('H44 a renewal with many requests continues as new, with the token and the time of its next renewal', async () => {
  const world = await VirtualWorld.start();
  try {
    await world.payouts.result(await world.pay('success final=0s'));
    const renewals = new TokenRenewals(world.client, world.runtime);
    const grant = async () => {
      const { grantedAtMs: _now, ...rest } = await renewals.grant({ environment: 'test', app: 'default' });
      return rest;
    };
    const { runId } = await handle(world).describe();
    const before = await grant();
    for (let fetched = 0; fetched < 60; fetched += 1) expect(await grant()).toEqual(before);
    const { events } = await handle(world).fetchHistory();
    const begun = events?.[0]?.workflowExecutionStartedEventAttributes;
    expect(begun?.continuedExecutionRunId).toBe(runId);
    expect(tokenCalls(world)).toBe(1);
  } finally {
    await world.stop();
  }
});

describe('a provider that rejects every token that it grants', () => {
  test('gets no further token requests, and once it recovers, calls continue with the current token', async () => {
    const world = await VirtualWorld.start({ env: NO_POLLS });
    try {
      const ref = await world.pay('stuck');
      await world.until(ref, ({ phase }) => phase === 'PROCESSING');
      const before = tokenCalls(world);
      world.simulator.control.changeSettings({ signatureSecret: 'not ours' });
      for (let i = 0; i < 4; i += 1) await world.payouts.poll(ref);
      expect(tokenCalls(world) - before).toBe(1);
      world.simulator.control.changeSettings({ signatureSecret: '' });
      world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
      await world.payouts.poll(ref);
      expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
      expect(tokenCalls(world) - before).toBe(1);
    } finally {
      await world.stop();
    }
  });
});

describe('the provider is unavailable when the token is due', () => {
  test('for most of the remaining lifetime: payouts continue, and the renewal is flagged meanwhile', async () => {
    // It is flagged with about a third of the lifetime left, which is the time that a payout has.
    const world = await VirtualWorld.start({ settings: { applicationTokenSeconds: 40 } });
    try {
      await world.payouts.result(await world.pay('success'));
      const { id } = world.simulator.control.addFault({
        operation: 'token',
        fault: { kind: 'status', status: 503 },
      });
      await eventually(async () => {
        const { reasons } = await handle(world).query(tokenStateQuery);
        return reasons.some(({ code }) => code === 'RENEWAL_LATE') || undefined;
      });
      await world.payouts.result(await world.pay('success'));
      expect(unauthorized(world)).toEqual([]);
      world.simulator.control.removeFault(id);
      await eventually(async () => {
        const { needsAttention, renewals } = await handle(world).query(tokenStateQuery);
        return (!needsAttention && renewals > 1) || undefined;
      });
      await world.payouts.result(await world.pay('success'));
      expect(unauthorized(world)).toEqual([]);
    } finally {
      await world.stop();
    }
  });
});
