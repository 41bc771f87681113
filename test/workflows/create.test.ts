import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import type { TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

/** The confirmation window begins where the create's own deadline ends: with a call timeout of 2 s, after 9 s. */
const SHORT_WINDOW = { PAYMENTS_CALL_TIMEOUT: '2s', PAYOUTS_CONFIRMATION_WINDOW: '1s' };

// In parallel, because each of them mostly waits.
describe.concurrent('a create of unknown outcome', () => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await startWorld({ env: SHORT_WINDOW });
  });
  afterAll(() => world.stop());

  test('H134 an answer that takes longer than the heartbeat timeout counts', async () => {
    const world = await startWorld({ env: { PAYMENTS_CALL_TIMEOUT: '20s' } });
    try {
      const ref = await world.payWithFault({ kind: 'latency', ms: 15_000, effect: 'after' }, 'success');
      expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
      const { events } = await world.history(ref);
      const asked = (events ?? []).map(
        ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name,
      );
      expect(asked).toContain('createPayout');
      expect(asked).not.toContain('confirmOrder');
    } finally {
      await world.stop();
    }
  });

  test('H2 an open payout goes to review once PAYMENTS_REPEATED_CREATE=safe is removed', async () => {
    const world = await startWorld({
      env: {
        PAYMENTS_CALL_TIMEOUT: '2s',
        PAYOUTS_CONFIRMATION_WINDOW: '20s',
        PAYMENTS_REPEATED_CREATE: 'safe',
      },
    });
    try {
      const ref = await world.payWithFault({ kind: 'drop-before' }, 'success');
      await world.until(ref, ({ phase }) => phase === 'RECONCILING');
      await world.stopWorkers();
      await world.startWorkers({ PAYMENTS_REPEATED_CREATE: 'review' });
      await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
      expect(createsOf(world, ref).length).toBe(1);
    } finally {
      await world.stop();
    }
  });

  test('H2 only a provider that is known to refuse repeats gets another create without a person', async () => {
    const world = await startWorld({
      env: { ...SHORT_WINDOW, PAYMENTS_REPEATED_CREATE: 'safe' },
      settings: { repeatedCreate: 'refuse' },
    });
    try {
      const ref = await world.payWithFault({ kind: 'drop-before' }, 'success');
      expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
      expect(createsOf(world, ref).length).toBe(2);
      expect(debitsOf(world, ref)).toBe(1);
    } finally {
      await world.stop();
    }
  });

  test('H1 the create is lost in transit: nothing is sent again without a person, and retry pays once', async () => {
    const ref = await world.payWithFault({ kind: 'drop-before' }, 'success');
    const state = await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    expect(state.needsAttention).toBe(true);
    expect(createsOf(world, ref).length).toBe(1);
    await world.payouts.resolve(ref, { by: 'olga', created: false, then: 'retry' });
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect(debitsOf(world, ref)).toBe(1);
    expect(createsOf(world, ref).length).toBe(2);
  });

  test('H2 the order appears long after the confirmation window, in review: at most one debit', async () => {
    const ref = await world.payWithFault({ kind: 'drop-after' }, 'success readLag=1h');
    await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    await orderAppears(world, ref);
  });

  test('H2 resolve with an order is accepted only when ids and amounts match', async () => {
    const other = await world.pay('success');
    const { orderId: theirs = '' } = await world.payouts.result(other);
    // The trade query does not find the order for a long time; the order query by id does.
    const ref = await world.payWithFault({ kind: 'drop-after' }, 'success readLag=1h');
    await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    const wrong = world.payouts.resolve(ref, { by: 'olga', created: true, orderId: theirs });
    await expect(wrong).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/not this payout/) },
    });
    expect((await world.payouts.state(ref)).phase).toBe('NEEDS_REVIEW');
  });

  test('H103 a decision that arrives during a query is applied afterwards', async () => {
    const ref = await world.payWithFault({ kind: 'drop-before' }, 'success');
    await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    const held = world.hold({ operation: 'queryResult', ...ref, times: 1 }, 'before');
    await eventually(held.arrived);
    const resolved = world.payouts.resolve(ref, { by: 'olga', created: false, then: 'end' });
    await world.until(ref, ({ sentence }) => sentence.startsWith('olga has decided'));
    held.release();
    expect((await resolved).outcome).toBe('NOT_CREATED');
    expect((await world.payouts.result(ref)).reason?.code).toBe('RESOLVED_NOT_CREATED');
  });

  test('H5 unlisted codes give an unknown outcome, not a failure', async () => {
    const codes = [30077, '31999', 401, 500, 900000, 900002];
    const refs = await Promise.all(
      codes.map(async (code) => {
        return world.payWithFault({ kind: 'envelope', code, effect: 'commit' }, 'success');
      }),
    );
    const results = await Promise.all(refs.map((ref) => world.payouts.result(ref)));
    expect(results.map(({ outcome }) => outcome)).toEqual(codes.map(() => 'SUCCESS'));
    expect(refs.map((ref) => debitsOf(world, ref))).toEqual(codes.map(() => 1));
  });

  test.each([
    ['garbage', { kind: 'garbage', effect: 'commit' }],
    ['an HTML 502', { kind: 'html-502', effect: 'commit' }],
    ['a body cut short', { kind: 'cut-body' }],
    ['data: null', { kind: 'data-null' }],
    ['a redirect', { kind: 'redirect-307', location: 'http://127.0.0.1:9/' }],
  ] as const)('H26 %s instead of the answer: at most one debit, one POST', async (_name, fault) => {
    const ref = await world.payWithFault(fault, 'success');
    const state = await world.until(ref, ({ phase }) => phase === 'DONE' || phase === 'NEEDS_REVIEW');
    expect(createsOf(world, ref).length).toBe(1);
    expect(debitsOf(world, ref)).toBe(state.phase === 'DONE' ? 1 : 0);
  });

  test('H26 silence beyond the timeout, and the create takes effect later: one debit, one POST', async () => {
    const { ref, release } = await world.payHeld('before', 'success');
    await world.until(ref, ({ phase }) => phase === 'RECONCILING' || phase === 'NEEDS_REVIEW');
    release();
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect(createsOf(world, ref).length).toBe(1);
    expect(debitsOf(world, ref)).toBe(1);
  });

  test('H4 H3 a 429 that was not served is sent again automatically, with the same body except for the lock', async () => {
    const ref = await world.payWithFault({ kind: 'status', status: 429 }, 'success');
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    const creates = createsOf(world, ref);
    expect(creates.length).toBe(2);
    const bodies = creates.map(({ body }) => body.replace(/"lockRateId":"[^"]*"/, ''));
    expect(bodies[0]).toBe(bodies[1]);
    expect(debitsOf(world, ref)).toBe(1);
  });
});

/** The provider shows the order of the only create, and the payout ends without a person. */
async function orderAppears(world: TestWorld, ref: PayoutRef): Promise<void> {
  world.simulator.control.changeOrder(ref.partnerOrderId, { visible: true });
  expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
}

describe('a create whose outcome is known, or soon found', () => {
  let world: TestWorld;
  beforeAll(async () => {
    // Long timeouts: a hundred payouts at once on a busy machine must not look like an outage.
    world = await startWorld({
      env: { PAYMENTS_CALL_TIMEOUT: '20s', PAYOUTS_CONFIRMATION_WINDOW: '5m' },
    });
  });
  afterAll(() => world.stop());

  test('H1 H12 the answer is lost 100 times: one debit each, one lock each', async () => {
    const refs = await Promise.all(
      Array.from({ length: 100 }, async () => {
        return world.payWithFault({ kind: 'drop-after' }, 'success');
      }),
    );
    const results = await Promise.all(refs.map((ref) => world.payouts.result(ref)));
    expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['SUCCESS']));
    expect(refs.map((ref) => debitsOf(world, ref))).toEqual(refs.map(() => 1));
    expect(refs.map((ref) => createsOf(world, ref).length)).toEqual(refs.map(() => 1));
    const locks = refs.flatMap((ref) => createsOf(world, ref).map(({ lockRateId }) => lockRateId));
    expect(new Set(locks).size).toBe(refs.length);
  });

  test.each([
    ['H2 the answer is lost', { kind: 'drop-after' }, 'success readLag=1h'],
    [
      'H4 a 429 executes nevertheless',
      { kind: 'rate-limited-but-executes', showAfterMs: 3_600_000 },
      'success',
    ],
  ] as const)('%s, and the order appears late: one debit, no person', async (_what, fault, scenario) => {
    const ref = await world.payWithFault(fault, scenario);
    await world.until(ref, ({ phase }) => phase === 'RECONCILING');
    await orderAppears(world, ref);
  });

  test.each([
    [30005, 'REFUSED_BY_PROVIDER'],
    [30002, 'INSUFFICIENT_BALANCE'],
  ])('H5 the listed code %d leads to %s', async (code, reason) => {
    const ref = await world.payWithFault({ kind: 'envelope', code }, 'success');
    expect(await world.payouts.result(ref)).toMatchObject({
      outcome: 'NOT_CREATED',
      reason: { code: reason },
    });
    expect(debitsOf(world, ref)).toBe(0);
  });

  test('H3 an expired lock leads to a new quote, within the limits', async () => {
    const ref = await world.payWithFault({ kind: 'envelope', code: 30001 }, 'success');
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    const creates = createsOf(world, ref);
    expect(creates.length).toBe(2);
    expect(creates[0]?.lockRateId).not.toBe(creates[1]?.lockRateId);
    expect(debitsOf(world, ref)).toBe(1);
  });

  test('H13 an order at another rate, or with another lock, is flagged', async () => {
    const drift = await world.pay('drift');
    const ignored = await world.pay('lock-ignored');
    await Promise.all([world.payouts.result(drift), world.payouts.result(ignored)]);
    const states = await Promise.all([world.payouts.state(drift), world.payouts.state(ignored)]);
    expect(states.map(({ reasons }) => reasons.map(({ code }) => code))).toEqual([
      expect.arrayContaining(['ORDER_DIFFERS_FROM_QUOTE']),
      expect.arrayContaining(['ORDER_DIFFERS_FROM_QUOTE']),
    ]);
  });

  test('H17 accounts that cannot pay are refused before the create', async () => {
    const rows = [
      ['abnormal-1', 'ACCOUNT_NOT_USABLE'],
      ['closed-1', 'ACCOUNT_NOT_USABLE'],
      ['temp-only-1', 'ACCOUNT_NOT_USABLE'],
      ['unknown-1', 'ACCOUNT_NOT_USABLE'],
      ['poor-1', 'INSUFFICIENT_BALANCE'],
    ] as const;
    for (const [id, reason] of rows) {
      const ref = await world.pay('success', { clientId: id, payerId: id });
      expect(await world.payouts.result(ref)).toMatchObject({
        outcome: 'NOT_CREATED',
        reason: { code: reason },
      });
      expect(createsOf(world, ref)).toEqual([]);
    }
  });

  test('a quote outside the limits is rejected, and nothing is created', async () => {
    const ref = await world.pay('success', { limits: { maxPay: { currency: 'USD', amount: '1.00' } } });
    expect(await world.payouts.result(ref)).toMatchObject({
      outcome: 'NOT_CREATED',
      reason: { code: 'QUOTE_OUT_OF_LIMITS', message: expect.stringMatching(/1\.00 USD/) },
    });
    expect(createsOf(world, ref)).toEqual([]);
  });
});
