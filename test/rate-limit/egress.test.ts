import type { Client } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { Ownership } from '../../src/workers/rate-limit/ownership.ts';
import type { World } from '../../worlds/engine/world.ts';
import { fastTrip } from '../../worlds/payouts/payout-world.ts';
import type { Process } from '../../worlds/process/life.ts';
import type { Trip } from '../../worlds/provider/transport.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { simulatedOwner } from '../support/lease-owner.ts';
import { strictWorld } from '../support/rate-limit.ts';
import { VirtualWorld } from '../support/virtual-world.ts';
import { allPaidOnce, expectAtMost, payUntilBusy } from '../support/workers.ts';

const LIMIT = 20;
const PAYOUTS = 30;

describe('H131 the lease owner reaches Temporal, but its calls do not reach the provider', () => {
  const REFUSED: Trip = { connectMs: 1, requestMs: 1, answerMs: 1, fate: 'refused' };
  let world: VirtualWorld;
  let refused: Process | undefined;

  beforeEach(async () => {
    refused = undefined;
    const trip = (system: World, process: Process) => (process === refused ? REFUSED : fastTrip(system));
    world = await VirtualWorld.start({ ...strictWorld(LIMIT), workers: 2, trip });
    await world.startWorkers();
  });
  afterEach(() => world.stop());

  test.each([
    [
      'calls get no answer',
      (owner: Process) => {
        owner.cutOffFromProvider = true;
      },
    ],
    [
      'connections are refused',
      (owner: Process) => {
        refused = owner;
      },
    ],
  ])('%s: it releases the lease to a process whose calls arrive', async (_what, breaks) => {
    const refs = await payUntilBusy(world, PAYOUTS, LIMIT);
    const broken = await simulatedOwner(world);
    breaks(broken);
    await simulatedOwner(world, broken);
    await allPaidOnce(world, refs);
    expectAtMost(world, LIMIT);
  });
});

describe('H131 releasing the lease', () => {
  const place = { environment: 'test', appId: 'app-1' };

  /** `waiting`: the processes that poll for the lease.  */
  function ownershipBeside(waiting: string[], { temporalAheadMs = 0, polledAgoMs = 0 } = {}) {
    const clock = new FakeClock();
    const stamp = (agoMs: number) => {
      const seconds = Math.floor((clock.wallMs() + temporalAheadMs - agoMs) / 1_000);
      return { seconds, nanos: 0 };
    };
    const pollers = () => waiting.map((identity) => ({ identity, lastAccessTime: stamp(polledAgoMs) }));
    const lease = () => ({ raw: { pendingActivities: [{ lastHeartbeatTime: stamp(1_000) }] } });
    const client = {
      options: { namespace: 'default' },
      workflow: { getHandle: () => ({ describe: async () => lease() }) },
      workflowService: { describeTaskQueue: async () => ({ pollers: pollers() }) },
    } as unknown as Client;
    const runtime = { ...PROCESS_RUNTIME, clock };
    return { clock, ownership: new Ownership({ client, identity: 'me', keys: [place], runtime }) };
  }

  test('keeps the lease while no other process waits for it, so that calls continue to be tried', async () => {
    const { ownership } = ownershipBeside(['me']);
    expect(await ownership.backOff(place, false)).toBe(false);
    expect(ownership.isBackingOff('app-1')).toBe(false);
  });

  test.each([-12, 12])(
    "Temporal's clock, %i hours off, hides no waiting process and revives none",
    async (hours) => {
      const temporalAheadMs = hours * 3_600_000;
      for (const polledAgoMs of [60_000, 80_000]) {
        const { ownership } = ownershipBeside(['me', 'another'], { temporalAheadMs, polledAgoMs });
        expect(await ownership.backOff(place, false)).toBe(polledAgoMs === 60_000);
      }
    },
  );

  test('steps back for a while after a release, longer each time, up to a limit', async () => {
    const { clock, ownership } = ownershipBeside(['me', 'another']);
    for (const [least, most] of [
      [15_000, 22_500],
      [30_000, 45_000],
      [60_000, 90_000],
      [120_000, 180_000],
      [120_000, 180_000],
    ] as const) {
      expect(await ownership.backOff(place, false)).toBe(true);
      await clock.advance(least - 1);
      expect(ownership.isBackingOff('app-1')).toBe(true);
      await clock.advance(most - least + 1);
      expect(ownership.isBackingOff('app-1')).toBe(false);
    }
  });

  test('starts with the shortest time again once its calls reached the provider', async () => {
    const { clock, ownership } = ownershipBeside(['me', 'another']);
    for (let times = 0; times < 4; times += 1) await ownership.backOff(place, false);
    await clock.advance(1_000_000);
    await ownership.backOff(place, true);
    await clock.advance(22_500);
    expect(ownership.isBackingOff('app-1')).toBe(false);
  });
});
