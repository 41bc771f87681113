/** An application without calls costs almost nothing, and its lease stays exclusive. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Pauses } from '../../src/client/leases.ts';
import { LEASE_TIMEOUT_MS, RENEWAL_VALID_MS } from '../../src/domain/rate-limit.ts';
import { durationMs } from '../../worlds/temporal/time.ts';
import { eventually } from '../support/eventually.ts';
import { simulatedOwner } from '../support/lease-owner.ts';
import { debitsOf } from '../support/ledger.ts';
import { VirtualWorld } from '../support/virtual-world.ts';
import { allPaidOnce, leaseOf } from '../support/workers.ts';

const MINUTE_MS = 60_000;
/** Before a new owner sends, and for Temporal's late timers. */
const SILENCE_MS = 2_500;

describe('an idle application', () => {
  let world: VirtualWorld;
  beforeAll(async () => {
    world = await VirtualWorld.start({ workers: 3, env: { PAYMENTS_CALLS_PER_SECOND: '20' } });
  });
  afterAll(() => world.stop());

  const pending = async () => (await leaseOf(world).describe()).raw.pendingActivities?.[0];
  const timeoutMs = async () => {
    const { events } = await leaseOf(world).fetchHistory();
    const term = events?.findLast((event) => event.activityTaskScheduledEventAttributes);
    return durationMs(term?.activityTaskScheduledEventAttributes?.heartbeatTimeout) ?? 0;
  };
  const lastHeartbeat = async () => JSON.stringify((await pending())?.lastHeartbeatTime);
  const untilIdle = () =>
    eventually(async () => {
      await world.pass(10_000);
      return (await timeoutMs()) === LEASE_TIMEOUT_MS.idle || undefined;
    });
  /** How long a payout takes that pays at once. */
  const payMs = async () => {
    const startMs = world.clock.nowMs();
    const ref = await world.pay('success final=0s');
    await allPaidOnce(world, [ref]);
    return world.clock.nowMs() - startMs;
  };

  test('a busy one keeps its lease', async () => {
    await payMs();
    await world.pass(30_000);
    const { events } = await leaseOf(world).fetchHistory();
    expect(events?.filter((event) => event.activityTaskScheduledEventAttributes)).toHaveLength(1);
  });

  test('makes at most one request in ten seconds, with all its processes', async () => {
    await payMs();
    await untilIdle();
    const requests: string[] = [];
    world.system.service.stub = (method) => {
      requests.push(method);
      return undefined;
    };
    let heartbeats = 0;
    let last = await lastHeartbeat();
    const MINUTES = 20;
    requests.length = 0;
    for (let passedMs = 0; passedMs < MINUTES * MINUTE_MS; passedMs += 5_000) {
      await world.pass(5_000);
      const before = requests.length;
      const now = await lastHeartbeat();
      requests.length = before;
      if (now !== last) heartbeats += 1;
      last = now;
    }
    world.system.service.stub = undefined;
    expect(requests.filter((method) => method === 'recordactivitytaskheartbeat')).toEqual([]);
    expect(heartbeats).toBeGreaterThan(MINUTES);
    expect((requests.length + heartbeats) / (MINUTES * 60)).toBeLessThanOrEqual(0.1);
  });

  test('sends its first call at most 0.3 s later than a busy one', async () => {
    const idleMs = await payMs();
    const busyMs = await payMs();
    expect(idleMs).toBeLessThanOrEqual(busyMs + 300);
  });

  test('becomes busy under load, and idle again', async () => {
    const refs = await Promise.all(Array.from({ length: 100 }, () => world.pay('success final=0s')));
    await eventually(async () => (await timeoutMs()) < LEASE_TIMEOUT_MS.idle || undefined);
    await allPaidOnce(world, refs);
    await untilIdle();
  });

  test('a pause applies from the first call', async () => {
    const pauses = new Pauses({ client: world.client, environment: 'test' });
    await pauses.pause('default', { by: 'olga' });
    await world.pass(RENEWAL_VALID_MS);
    const ref = await world.pay('success final=0s');
    await world.pass(30_000);
    expect(debitsOf(world, ref)).toBe(0);
    await pauses.resume('default', { by: 'olga' });
    await allPaidOnce(world, [ref]);
    await untilIdle();
  });

  test('H37 another process takes over from a killed owner', async () => {
    const owner = await simulatedOwner(world);
    owner.kill();
    const startMs = world.clock.nowMs();
    await simulatedOwner(world, owner);
    expect(world.clock.nowMs() - startMs).toBeLessThanOrEqual(30_000);
    await payMs();
    owner.start();
    await untilIdle();
  });

  test.each([5, 10, 20, 30, 40])(
    'H37 an owner that is frozen %i ms after a start sends nothing once another took over',
    async (afterMs) => {
      const refs = [await world.pay('success final=0s')];
      await world.pass(afterMs);
      const owner = await simulatedOwner(world);
      owner.frozen = true;
      await simulatedOwner(world, owner);
      await world.pass(SILENCE_MS);
      const writers: string[] = [];
      const { life } = owner;
      world.system.onWrite.push((process) => writers.push(process));
      owner.frozen = false;
      refs.push(await world.pay('success final=0s'));
      await allPaidOnce(world, refs);
      expect(await simulatedOwner(world)).not.toBe(owner);
      expect(writers).not.toContain(life?.name);
      await untilIdle();
    },
  );
});
