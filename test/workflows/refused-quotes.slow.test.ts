import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { FaultInput } from '../../simulator/index.ts';
import type { Batches } from '../../src/client/batches.ts';
import type { PayoutState } from '../../src/contract/payout.ts';
import { HOUR_MS } from '../../src/domain/time.ts';
import { batchesOf, manyRows, untilBatch } from '../support/batches.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const CODES = '900002:refused,40099:insufficient,900000:refused,http:410:refused,http:500:refused';
const WINDOW = 5;
const WORDS = 'payer P-1 is not yours';

let world: VirtualWorld;
let batches: Batches;
beforeAll(async () => {
  world = await VirtualWorld.start({
    env: { PAYMENTS_QUOTE_CODES: CODES, PAYOUTS_BATCH_WINDOW: `${WINDOW}` },
  });
  batches = batchesOf(world);
});
afterAll(() => world.stop());
afterEach(() => {
  for (const { id } of world.simulator.control.faults()) world.simulator.control.removeFault(id);
});

const refuse = (fault: FaultInput, operation: 'fee' | 'accountQuery' = 'fee') =>
  world.simulator.control.addFault({ operation, fault }).id;
const calls = (operation: 'fee' | 'accountQuery' = 'fee') =>
  world.simulator.control.calls({ operation }).length;
const isFlagged = ({ reasons }: PayoutState) => reasons.some(({ code }) => code === 'QUOTE_REFUSED');
const pay = () => world.pay('success', { clientId: newPartnerOrderId() });

describe('H244 an account check or a quote that is refused again and again', () => {
  test.each([
    ['fee', { kind: 'envelope', code: 40001, message: WORDS }, `HTTP 200 code 40001): ${WORDS}`],
    ['accountQuery', { kind: 'envelope', code: 40001, message: WORDS }, `code 40001): ${WORDS}`],
    ['fee', { kind: 'envelope', code: 403, status: 403, message: WORDS }, `code 403): ${WORDS}`],
    ['fee', { kind: 'status', status: 400, body: '<html>' }, 'HTTP 400)'],
  ] as const)(
    '%s, %j: the flag says why, and the payout continues once it is accepted',
    async (operation, fault, why) => {
      const rule = refuse(fault, operation);
      const ref = await pay();
      const state = await world.until(ref, isFlagged);
      expect(state).toMatchObject({ phase: 'QUOTING', needsAttention: true });
      const [{ message = '' } = {}] = state.reasons;
      expect(message).toContain('refused 3 times in a row');
      expect(message).toContain(why);
      world.simulator.control.removeFault(rule);
      expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS' });
      expect(await world.payouts.state(ref)).toMatchObject({ reasons: [] });
      expect(debitsOf(world, ref)).toBe(1);
    },
  );

  test('is flagged at once after a call that has waited too long', async () => {
    const outage = refuse({ kind: 'status', status: 503 });
    const ref = await pay();
    await world.until(ref, ({ reasons }) => reasons.some(({ code }) => code === 'CALL_WAITS'));
    refuse({ kind: 'envelope', code: 40001, message: WORDS });
    world.simulator.control.removeFault(outage);
    const { reasons } = await world.until(ref, ({ reasons: [first] }) => first?.code !== 'CALL_WAITS');
    expect(reasons).toMatchObject([
      { code: 'QUOTE_REFUSED', message: expect.stringContaining(`refused once: `) },
    ]);
    await world.payouts.cancel(ref, { by: 'olga' });
  });

  test('is asked for less and less often, until a person asks', async () => {
    refuse({ kind: 'envelope', code: 40001 });
    const before = calls();
    const ref = await pay();
    await world.until(ref, isFlagged);
    await world.pass(HOUR_MS);
    const inAnHour = calls() - before;
    expect(inAnHour).toBeLessThan(15);
    await world.pass(4 * HOUR_MS);
    expect(calls() - before - inAnHour).toBeLessThan(10);
    const asked = calls();
    expect(await world.payouts.poll(ref)).toMatchObject({ phase: 'QUOTING' });
    expect(calls()).toBe(asked + 1);
    await world.payouts.cancel(ref, { by: 'olga' });
  });

  test('ends by a cancellation', async () => {
    refuse({ kind: 'envelope', code: 40001 });
    const ref = await pay();
    await world.until(ref, isFlagged);
    expect(await world.payouts.cancel(ref, { by: 'olga' })).toMatchObject({ phase: 'DONE', reasons: [] });
    expect(await world.payouts.result(ref)).toMatchObject({ reason: { code: 'CANCELLED' } });
    expect(createsOf(world, ref)).toEqual([]);
  });

  test.each([
    [{ kind: 'envelope', code: 900002, message: WORDS }, 'REFUSED_BY_PROVIDER'],
    [{ kind: 'envelope', code: 40099, message: WORDS }, 'INSUFFICIENT_BALANCE'],
    [{ kind: 'envelope', code: 1, status: 410, message: WORDS }, 'REFUSED_BY_PROVIDER'],
    [{ kind: 'envelope', code: 900000, message: WORDS }, 'REFUSED_BY_PROVIDER'],
    [{ kind: 'envelope', code: 50012, status: 500, message: WORDS }, 'REFUSED_BY_PROVIDER'],
  ] as const)('ends at once, if the provider has said what %j means', async (fault, code) => {
    for (const operation of ['fee', 'accountQuery'] as const) {
      const rule = refuse(fault, operation);
      const ref = await pay();
      expect(await world.payouts.result(ref)).toMatchObject({
        outcome: 'NOT_CREATED',
        reason: { code, message: expect.stringContaining(WORDS) },
      });
      world.simulator.control.removeFault(rule);
    }
  });

  test('does not make a batch start all its rows, and the batch ends when it is canceled', async () => {
    refuse({ kind: 'envelope', code: 40001 });
    const before = calls();
    const payouts = manyRows(3 * WINDOW);
    const ref = { batchId: newPartnerOrderId() };
    await batches.start({ ...ref, payouts });
    await untilBatch(batches, ref, ({ needingAttention }) => needingAttention === WINDOW);
    await world.pass(3 * HOUR_MS);
    expect(await batches.state(ref)).toMatchObject({ started: WINDOW, phases: { QUOTING: WINDOW } });
    expect(calls() - before).toBeLessThan(20 * WINDOW);
    await batches.cancel(ref);
    expect(await batches.result(ref)).toMatchObject({
      outcomes: { NOT_CREATED: WINDOW, notStarted: 2 * WINDOW },
    });
    const [first] = payouts;
    expect(await world.payouts.result({ partnerOrderId: first?.partnerOrderId ?? '' })).toMatchObject({
      reason: { code: 'CANCELLED', message: `canceled by batch ${ref.batchId}: the batch was canceled` },
    });
  });

  test('does not end a payout of another starter when a batch that has joined it is canceled', async () => {
    const rule = refuse({ kind: 'envelope', code: 40001 });
    const [row] = manyRows(1);
    if (!row) throw new Error('a row');
    await world.payouts.start(row);
    const ref = { batchId: newPartnerOrderId() };
    await batches.start({ ...ref, payouts: [row] });
    await untilBatch(batches, ref, ({ needingAttention }) => needingAttention === 1);
    await batches.cancel(ref);
    await world.pass(60_000);
    expect(await world.payouts.state(row)).toMatchObject({ phase: 'QUOTING' });
    world.simulator.control.removeFault(rule);
    await world.payouts.poll(row);
    expect(await batches.result(ref)).toMatchObject({ outcomes: { SUCCESS: 1 } });
  });
});
