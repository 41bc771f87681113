import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
beforeEach(async () => {
  world = await VirtualWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '30s' } });
});
afterEach(() => world.stop());

/** A 429 to another payout makes the provider pause every call while this payout's quote is in flight. */
async function payIntoAPause(retryAfter: number): Promise<PayoutRef> {
  const { control } = world.simulator;
  const refused = () => control.calls().filter(({ status }) => status === 429).length;
  const refusedBefore = refused();
  const clientId = newPartnerOrderId();
  const held = control.addFault({
    operation: 'fee',
    times: 1,
    fault: { kind: 'hold-until-released', effect: 'after' },
  });
  const ref = await world.pay('success', { clientId });
  await eventually(
    () => control.faults().some(({ id, held: holds }) => id === held.id && holds > 0) || undefined,
  );
  control.addFault({
    operation: 'accountQuery',
    times: 1,
    fault: { kind: 'status', status: 429, retryAfter },
  });
  const other = newPartnerOrderId();
  await world.pay('success', { clientId: other });
  await eventually(() => refused() > refusedBefore || undefined);
  control.releaseFault(held.id);
  return ref;
}

async function activitiesOf(ref: PayoutRef): Promise<string[]> {
  const { events } = await world.history(ref);
  return (events ?? []).flatMap(
    ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name ?? [],
  );
}

describe('H60 a create that provably was not sent starts over without a person', () => {
  test('its turn cannot come in time, because the provider asked for a pause', async () => {
    const ref = await payIntoAPause(9);
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
    const activities = await activitiesOf(ref);
    expect(activities).not.toContain('confirmOrder');
    expect(activities.filter((name) => name === 'createPayout').length).toBeGreaterThan(1);
  });

  test('its worker is killed while the create waits for its turn', async () => {
    const [worker] = world.system.processes;
    const ref = await payIntoAPause(5);
    await eventually(async () => {
      const { raw } = await world.payouts.handle(ref).describe();
      return (
        raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'createPayout') || undefined
      );
    });
    worker?.kill();
    expect(createsOf(world, ref)).toEqual([]);
    worker?.start();
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
    expect(await activitiesOf(ref)).not.toContain('confirmOrder');
  });
});
