import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOKEN_LANES, tokenTaskQueue, tokenWorkflowId } from '../../src/contract/ids.ts';
import { renewUpdate, tokenStateQuery } from '../../src/contract/workflows.ts';
import type { GatedCall } from '../../src/payments/options.ts';
import { pacedSlots } from '../../src/workers/rate-limit/slots.ts';
import { Turns } from '../../src/workers/rate-limit/turns.ts';
import { authorized } from '../support/authorized.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

describe('H61 token calls pass the calls that wait for them', () => {
  const order = (calls: GatedCall[]) => {
    const turns = new Turns();
    for (const call of calls) turns.add({ call, go: () => undefined, refuse: () => undefined });
    return calls.map(() => turns.next()?.call);
  };
  const dueRefresh = { operation: 'refreshUserToken', background: true } as const;
  const urgentRefresh = { operation: 'refreshUserToken' } as const;
  const exchange = { operation: 'exchangeCode', background: true } as const;
  const create = { operation: 'createPayout' } as const;
  const application = { operation: 'applicationToken' } as const;

  test('order: application token, urgent refresh, create; then due refreshes and exchanges with the rest', () => {
    const quote = { operation: 'quote' } as const;
    expect(order([exchange, dueRefresh, quote, create, urgentRefresh, application])).toEqual([
      application,
      urgentRefresh,
      create,
      exchange,
      dueRefresh,
      quote,
    ]);
  });

  test('hundreds of due refreshes and exchanges do not delay a create', () => {
    const flood = Array.from({ length: 300 }, (_, at) => (at % 2 ? { ...dueRefresh } : { ...exchange }));
    expect(order([...flood, create])[0]).toBe(create);
  });
});

describe('H61 slots of calls that wait behind creates', () => {
  test('open at a fixed pace, and only a limited number at once', async () => {
    const clock = new FakeClock();
    const slots = pacedSlots(2, 1_000, clock);
    const { signal } = new AbortController();
    let reserved = 0;
    const reserve = () =>
      slots.reserveSlot(undefined, signal).then(() => {
        reserved += 1;
      });
    await reserve();
    slots.markSlotUsed();
    const second = reserve();
    await clock.advance(999);
    expect(reserved).toBe(1);
    await clock.until(second);
    slots.markSlotUsed();
    await clock.advance(9_000);
    const third = reserve();
    await clock.advance(60);
    expect(reserved).toBe(2);
    slots.releaseSlot();
    await clock.until(third);
  });
});

describe('H61 a hanging token endpoint', () => {
  let world: VirtualWorld;
  beforeAll(async () => {
    world = await VirtualWorld.start({
      env: { PAYMENTS_CALL_TIMEOUT: '1m' },
      settings: { userTokenSeconds: 3_600 },
    });
  });
  afterAll(() => world.stop());

  const renewal = (openId?: string) => world.client.workflow.getHandle(tokenWorkflowId('default', openId));

  test('for users, delays neither the application token nor a payout', async () => {
    const users = await Promise.all(Array.from({ length: 4 }, () => authorized(world)));
    const held = world.hold({ operation: 'oauthToken' }, 'before');
    try {
      for (const openId of users)
        await renewal(openId).startUpdate(renewUpdate, { waitForStage: 'ACCEPTED' });
      // Both slots of the queue are taken, and two refreshes wait for one.
      await eventually(() =>
        world.simulator.control.faults().some((rule) => rule.held >= 2) ? true : undefined,
      );
      const { renewals } = await renewal().query(tokenStateQuery);
      expect(await renewal().executeUpdate(renewUpdate)).toMatchObject({ renewals: renewals + 1 });
      expect((await world.payouts.result(await world.pay('success final=0s'))).outcome).toBe('SUCCESS');
    } finally {
      held.release();
    }
  });

  test('each kind of token call has its own queue', () => {
    const queues = TOKEN_LANES.map((lane) => tokenTaskQueue('test', 'default', lane));
    expect(new Set(queues).size).toBe(TOKEN_LANES.length);
  });
});
