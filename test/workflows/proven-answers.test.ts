/** Answers end a payout only with what they prove. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { SettingsChange } from '../../simulator/index.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutState } from '../../src/contract/payout.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { payoutRequest } from '../support/requests.ts';
import { resetBefore } from '../support/resets.ts';
import { newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

async function worldWith(env: Environment = {}, settings: SettingsChange = {}): Promise<TestWorld> {
  const world = await startWorld({ env, settings });
  onTestFinished(() => world.stop());
  return world;
}

const inReview = ({ phase }: PayoutState) => phase === 'NEEDS_REVIEW';
const codesOf = ({ reasons }: PayoutState) => reasons.map(({ code }) => code);

function queriesOf(world: TestWorld, { partnerOrderId }: PayoutRef): number {
  return world.simulator.control
    .calls()
    .filter((call) => call.operation === 'queryResult' && call.partnerOrderId === partnerOrderId).length;
}

function plant(world: TestWorld, partnerOrderId: string, bankAccountNumber?: string): void {
  const { payerId, receiver } = payoutRequest(partnerOrderId);
  const { bankAccountName, bankName } = receiver;
  const account = bankAccountNumber ?? receiver.bankAccountNumber;
  world.simulator.control.plantOrder({
    partnerOrderId,
    payerId,
    receiver: { bankAccountNumber: account, bankAccountName, bankName },
  });
}

describe('a listed code of a create', () => {
  test.each([
    ...[30005, 30002, 30001].map((code) => [code, '0s', 'at once'] as const),
    ...[30005, 30002, 30001].map((code) => [code, '1s', 'after the lag of reads'] as const),
  ])(
    'H230 %d to a create that took effect: its order is paid once (readLag=%s: it appears %s)',
    async (code, readLag) => {
      const world = await worldWith({ PAYMENTS_READ_LAG: '1500ms', PAYOUTS_CONFIRMATION_WINDOW: '1m' });
      const fault = { kind: 'envelope', code, effect: 'commit' } as const;
      const ref = await world.payWithFault(fault, `success readLag=${readLag} notify=none`);
      expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
      expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
    },
  );

  test('H230 a refusal ends the payout only after a trade query that knows no order', async () => {
    const world = await worldWith({ PAYOUTS_CONFIRMATION_WINDOW: '10m' });
    const partnerOrderId = newPartnerOrderId();
    const held = world.simulator.control.addFault({
      operation: 'queryResult',
      partnerOrderId,
      fault: { kind: 'envelope', code: 900000 },
    });
    world.simulator.control.addFault({
      operation: 'createCnyOrder',
      partnerOrderId,
      times: 1,
      fault: { kind: 'envelope', code: 30005 },
    });
    const ref = await world.pay('success', { partnerOrderId });
    await world.until(ref, ({ phase }) => phase === 'RECONCILING');
    world.simulator.control.removeFault(held.id);
    const { outcome, reason } = await world.payouts.result(ref);
    expect([outcome, reason?.code]).toEqual(['NOT_CREATED', 'REFUSED_BY_PROVIDER']);
    expect(queriesOf(world, ref)).toBeGreaterThan(0);
    expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 0]);
  });

  test('H230 a refusal with PAYOUTS_CREATE_CHECK=always sends nothing more', async () => {
    const world = await worldWith({ PAYOUTS_CREATE_CHECK: 'always' });
    const ref = await world.payWithFault({ kind: 'envelope', code: 30005 }, 'success');
    expect((await world.payouts.result(ref)).outcome).toBe('NOT_CREATED');
    expect(createsOf(world, ref).length).toBe(1);
  });

  test('H230 a Workflow Reset to the confirmation of a refusal sends nothing again', async () => {
    const world = await worldWith();
    const ref = await world.payWithFault({ kind: 'envelope', code: 30001 }, 'success readLag=1h');
    await world.until(ref, ({ orderId }) => orderId !== undefined);
    await resetBefore(world, world.payouts.handle(ref), 'confirmOrder');
    await world.until(ref, inReview);
    expect(createsOf(world, ref).length).toBe(2);
    world.simulator.control.changeOrder(ref.partnerOrderId, { visible: true });
    // The order has the terms of a quote that the run before the reset has sent.
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect(debitsOf(world, ref)).toBe(1);
  });

  test('H230 a listed HTTP status counts like a code, where the body has none', async () => {
    const world = await worldWith({ PAYMENTS_CREATE_CODES: 'http:401:busy' });
    const ref = await world.payWithFault({ kind: 'status', status: 401 }, 'success');
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([2, 1]);
    const other = await world.payWithFault({ kind: 'envelope', code: 70012, status: 401 }, 'success');
    await world.until(other, inReview);
    expect(createsOf(world, other).length).toBe(1);
  });
});

describe('a number that was used', () => {
  const DUPLICATE = { PAYMENTS_CREATE_CODES: '429:busy,30003:duplicate', PAYMENTS_REPEATED_CREATE: 'safe' };
  const refusing = () => worldWith(DUPLICATE, { repeatedCreate: 'refuse' });

  test('H236 for an order of this payout: the payout tracks it', async () => {
    const world = await refusing();
    const partnerOrderId = newPartnerOrderId();
    plant(world, partnerOrderId);
    const ref = await world.pay('success', { partnerOrderId });
    const state = await world.until(ref, (one) => inReview(one) || one.phase === 'DONE');
    // The planted order has no lock and another price, which a person judges.
    expect(debitsOf(world, ref)).toBe(1);
    expect(createsOf(world, ref).length).toBe(1);
    expect(state.outcome).not.toBe('NOT_CREATED');
  });

  test('H236 for the order of another system: a person decides', async () => {
    const world = await refusing();
    const partnerOrderId = newPartnerOrderId();
    plant(world, partnerOrderId, '6217000000009999999');
    const ref = await world.pay('success', { partnerOrderId });
    const state = await world.until(ref, inReview);
    expect(codesOf(state)).toContain('ORDER_DIFFERS_FROM_REQUEST');
    expect(createsOf(world, ref).length).toBe(1);
  });

  test('H236 and no order is known: the create is not sent again without a person', async () => {
    const world = await refusing();
    const ref = await world.payWithFault({ kind: 'envelope', code: 30003 }, 'success');
    const state = await world.until(ref, inReview);
    expect(state.sentence).toMatch(/was used before/);
    expect(createsOf(world, ref).length).toBe(1);
  });
});

describe('H233 trade queries with order ids of their own', () => {
  test('with PAYMENTS_TRADE_ORDER_ID=own, a payout follows its trade and reports its orderId', async () => {
    const world = await worldWith({ PAYMENTS_TRADE_ORDER_ID: 'own' }, { tradeOrderId: 'own' });
    const ref = await world.pay('split');
    const result = await world.payouts.result(ref);
    expect(result).toMatchObject({ outcome: 'SUCCESS', orderId: expect.stringMatching(/^PO/) });
    expect(codesOf(await world.payouts.state(ref))).toEqual([]);
  });

  test('without it, a person binds both ids, and the review is over', async () => {
    const world = await worldWith({}, { tradeOrderId: 'own' });
    const ref = await world.pay('slow');
    const { orderId = '', reviewedOrderIds = [] } = await world.until(ref, inReview);
    expect(reviewedOrderIds).toEqual([`T-${orderId}`]);
    const bind = (tradeOrderId: string) =>
      world.payouts.resolve(ref, { by: 'olga', created: true, orderId, tradeOrderId });
    await expect(bind('T-another')).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/tradeOrderId: the review shows/) },
    });
    await bind(`T-${orderId}`);
    const result = await world.payouts.result(ref);
    expect(result).toMatchObject({ outcome: 'SUCCESS', orderId });
    expect(result.decisions).toMatchObject([{ action: 'resolve', orderId, tradeOrderId: `T-${orderId}` }]);
    expect(debitsOf(world, ref)).toBe(1);
  });

  test('an order that only a trade query names is bound by a person', async () => {
    const world = await worldWith({ PAYMENTS_TRADE_ORDER_ID: 'own' }, { tradeOrderId: 'own' });
    const ref = await world.payWithFault({ kind: 'drop-after' }, 'success');
    const { reviewedOrderIds: [tradeOrderId = ''] = [] } = await world.until(ref, inReview);
    const orderId = tradeOrderId.replace(/^T-/, '');
    await world.payouts.resolve(ref, { by: 'olga', created: true, orderId, tradeOrderId });
    expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS', orderId });
    expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
  });
});

describe('H234 a provider that masks or normalizes what it repeats', () => {
  test('a masked beneficiary is compared as far as it is visible', async () => {
    const world = await worldWith({}, { echo: 'masked' });
    const paid = await world.pay('success');
    const found = await world.payWithFault({ kind: 'drop-after' }, 'success');
    const outcomes = await Promise.all([paid, found].map((ref) => world.payouts.result(ref)));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['SUCCESS', 'SUCCESS']);
    expect(codesOf(await world.payouts.state(paid))).toEqual([]);
    const other = await world.pay('other-beneficiary');
    expect(codesOf(await world.until(other, inReview))).toContain('ORDER_DIFFERS_FROM_REQUEST');
  });

  test('with PAYMENTS_ECHO=exact, a masked beneficiary goes to review', async () => {
    const world = await worldWith({ PAYMENTS_ECHO: 'exact' }, { echo: 'masked' });
    const ref = await world.pay('success');
    expect(codesOf(await world.until(ref, inReview))).toContain('ORDER_DIFFERS_FROM_REQUEST');
  });

  test('with PAYMENTS_ECHO=normalized, ids may be in upper case and without dashes', async () => {
    const world = await worldWith({ PAYMENTS_ECHO: 'normalized' }, { echo: 'normalized' });
    const ref = await world.pay('success');
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  });
});

describe('H235 "order not exist" for a pair of client and payer', () => {
  const LEARNED = { PAYMENTS_CLIENT_PAIRS: 'learned' };
  const clientOfPayer = { 'payer-1': 'client-1' };

  test('a wrong pair: nothing is sent again, and the payout does not end, although no order is shown', async () => {
    const world = await worldWith(LEARNED, { clientOfPayer });
    const clientId = 'client-2';
    const busy = newPartnerOrderId();
    const refused = newPartnerOrderId();
    for (const [partnerOrderId, code] of [
      [busy, 429],
      [refused, 30005],
    ] as const)
      world.simulator.control.addFault({
        operation: 'createCnyOrder',
        partnerOrderId,
        times: 1,
        fault: { kind: 'envelope', code, effect: 'commit' },
      });
    for (const partnerOrderId of [busy, refused]) {
      const ref = await world.pay('success', { partnerOrderId, clientId });
      const state = await world.until(ref, inReview);
      expect(state.sentence).toMatch(/check that they belong together/);
      expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
    }
  });

  test('a pair counts once a payout of it has ended with an order', async () => {
    const world = await worldWith(LEARNED, { clientOfPayer });
    const first = await world.payWithFault({ kind: 'envelope', code: 30005 }, 'success');
    await world.until(first, inReview);
    await world.payouts.result(await world.pay('success'));
    const second = await world.payWithFault({ kind: 'envelope', code: 30005 }, 'success');
    expect((await world.payouts.result(second)).outcome).toBe('NOT_CREATED');
    const busy = await world.payWithFault({ kind: 'status', status: 429 }, 'success');
    expect((await world.payouts.result(busy)).outcome).toBe('SUCCESS');
    expect([createsOf(world, busy).length, debitsOf(world, busy)]).toEqual([2, 1]);
  });

  test('an order that is created and never shown is flagged, with the advice to check the client', async () => {
    const world = await worldWith(LEARNED, { clientOfPayer });
    const ref = await world.pay('success', { clientId: 'client-2' });
    const flagged = await world.until(ref, (state) => codesOf(state).includes('ORDER_NOT_FOUND'));
    expect(flagged.outcome).toBeUndefined();
    await world.until(ref, ({ reasons }) =>
      reasons.some(({ message }) => message.includes('check the clientId')),
    );
  });
});

test('H231 amounts with exponents, and a rate of zero, are read', async () => {
  const world = await worldWith({}, { numberStyle: 'exponent', defaultBalance: '100000000.00' });
  const ref = await world.pay('split', { instructedAmount: { currency: 'CNY', amount: '10000000.00' } });
  const result = await world.payouts.result(ref);
  expect(result).toMatchObject({ outcome: 'SUCCESS', received: { amount: '10000000.00' } });
  const second = await world.payWithFault({ kind: 'drop-after' }, 'success readLag=1h');
  await world.until(second, ({ phase }) => phase === 'RECONCILING');
  world.simulator.control.changeOrder(second.partnerOrderId, {
    visible: true,
    answers: { queryDetail: { exchange: { exchangeRate: 0 } } },
  });
  expect((await world.payouts.result(second)).outcome).toBe('SUCCESS');
});

test.each([
  { shownRate: 'inverse', shownBalance: 'unreadable' },
  { shownRate: 'zero', shownBalance: 'absent' },
] as const)('H221 and H223 what is shown beside the amounts ends no payout: %o', async (shown) => {
  const world = await worldWith({}, shown);
  const ref = await world.pay('success', { limits: { minRate: '7' } });
  expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  const dear = await world.pay('success', { limits: { minRate: '8' } });
  expect((await world.payouts.result(dear)).reason?.code).toBe('QUOTE_OUT_OF_LIMITS');
});

test('H242 an order that is not visible yet is an answer, between queries on connections that are reset', async () => {
  const world = await worldWith({ PAYOUTS_CONFIRMATION_WINDOW: '10m' });
  const partnerOrderId = newPartnerOrderId();
  const isReset = { kind: 'drop-before' } as const;
  const isUnknown = { kind: 'envelope', code: 900004 } as const;
  for (const fault of [isReset, isUnknown, isReset])
    world.simulator.control.addFault({ operation: 'queryResult', partnerOrderId, times: 1, fault });
  world.simulator.control.addFault({ operation: 'queryResult', partnerOrderId, fault: isUnknown });
  const ref = await world.pay('success', { partnerOrderId });
  const state = await world.until(ref, () => queriesOf(world, ref) > 4);
  expect(codesOf(state)).toEqual([]);
});
