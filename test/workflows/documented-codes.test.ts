import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FaultInput, FaultRuleInput } from '../../simulator/index.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

/**
 * Every documented code at every operation that a payout uses: only bad input fails a workflow. Before any send, a permanent
 * refusal ends the payout NOT_CREATED; after a send, the payout stays open until the provider answers.
 */
const CODES = [429, 900000, 900002, 900004];
const SHORT_CALLS = { PAYMENTS_CALL_TIMEOUT: '200ms', PAYOUTS_CONFIRMATION_WINDOW: '1s' };

let world: TestWorld;
beforeAll(async () => {
  world = await startWorld({ env: SHORT_CALLS });
});
afterAll(() => world.stop());

type Operation = NonNullable<FaultRuleInput['operation']>;

describe('H55 a documented code before any send', () => {
  test.each([
    ['fee', 900002],
    ['accountQuery', 900002],
  ] as const)('%s answered with %d ends the payout NOT_CREATED', async (operation, code) => {
    const clientId = newPartnerOrderId();
    const held = world.simulator.control.addFault({ operation, fault: { kind: 'envelope', code } });
    const ref = await world.pay('success', { clientId });
    const result = await world.payouts.result(ref);
    world.simulator.control.removeFault(held.id);
    expect(result).toMatchObject({ outcome: 'NOT_CREATED', reason: { code: 'REFUSED_BY_PROVIDER' } });
    expect(createsOf(world, ref)).toEqual([]);
  });

  test.each(
    (['fee', 'accountQuery'] as Operation[]).flatMap((operation) =>
      CODES.filter((code) => code !== 900002).map((code) => [operation, code] as const),
    ),
  )('%s answered with %d, twice, only delays the payout', async (operation, code) => {
    world.simulator.control.addFault({ operation, times: 2, fault: { kind: 'envelope', code } });
    const ref = await world.pay('success', { clientId: newPartnerOrderId() });
    const { outcome } = await world.payouts.result(ref);
    // A code that is undocumented for this operation may also be final, but never a failure.
    expect(['SUCCESS', 'NOT_CREATED']).toContain(outcome);
    expect(debitsOf(world, ref)).toBe(outcome === 'SUCCESS' ? 1 : 0);
  });

  test('a doubtful start whose confirmation is refused as illegal stays open, flagged, and continues once answered', async () => {
    const body = payoutRequest(newPartnerOrderId(), { platform: 'sim:success' });
    const rule = world.simulator.control.addFault({
      operation: 'queryResult',
      partnerOrderId: body.partnerOrderId,
      fault: { kind: 'envelope', code: 900002 },
    });
    const handle = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${body.partnerOrderId}`,
      args: [body],
    });
    await world.until(body, ({ reasons }) => reasons.some(({ code }) => code === 'PROVIDER_NOT_ANSWERING'));
    world.simulator.control.removeFault(rule.id);
    expect(await handle.result()).toMatchObject({ outcome: 'SUCCESS' });
    expect(createsOf(world, body).length).toBe(1);
  });
});

describe('H55 a documented code after a send', () => {
  const confirms = CODES.filter((code) => code !== 900004);
  test.each(confirms)(
    'the confirmation answered with %d is not an answer: the payout stays open',
    async (code) => {
      const partnerOrderId = newPartnerOrderId();
      const { control } = world.simulator;
      control.addFault({
        operation: 'createCnyOrder',
        partnerOrderId,
        times: 1,
        fault: { kind: 'drop-after' },
      });
      const rule = control.addFault({
        operation: 'queryResult',
        partnerOrderId,
        fault: { kind: 'envelope', code },
      });
      const ref = await world.pay('success', { partnerOrderId });
      const state = await world.until(ref, ({ phase }) => phase === 'RECONCILING');
      expect(state.outcome).toBeUndefined();
      if (code === 900002)
        await world.until(ref, ({ reasons }) => reasons.some((one) => one.code === 'PROVIDER_NOT_ANSWERING'));
      control.removeFault(rule.id);
      expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
      expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
    },
  );

  const afterCreate = (['queryResult', 'queryPayDetail'] as Operation[]).flatMap((operation) =>
    CODES.map((code) => [operation, code] as const),
  );
  test.each(afterCreate)('%s answered with %d for a while has no lasting effect', async (operation, code) => {
    const fault: FaultInput = { kind: 'envelope', code };
    const ref = await world.payWithFault(fault, 'success', operation);
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect(debitsOf(world, ref)).toBe(1);
  });

  test.each(CODES)(
    'the order query answered with %d for a found order: compared later, then adopted',
    async (code) => {
      const partnerOrderId = newPartnerOrderId();
      const { control } = world.simulator;
      const lost: FaultInput = { kind: 'drop-after' };
      control.addFault({ operation: 'createCnyOrder', partnerOrderId, times: 1, fault: lost });
      // The order query has only the order's id, so this rule matches any payout's next one: only one runs here at a time.
      control.addFault({ operation: 'queryDetail', times: 1, fault: { kind: 'envelope', code } });
      const ref = await world.pay('success', { partnerOrderId });
      expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
      expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
    },
  );
});
