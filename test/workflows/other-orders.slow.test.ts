import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FaultInput } from '../../simulator/index.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import type { AgreedQuote } from '../../src/contract/payout.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

const SHORT_CALLS = { PAYMENTS_CALL_TIMEOUT: '500ms', PAYOUTS_CONFIRMATION_WINDOW: '1s' };
const usd = (amount: number) => ({ currency: 'USD', amount });

let world: TestWorld;
beforeAll(async () => {
  world = await startWorld({ env: SHORT_CALLS });
});
afterAll(() => world.stop());

type Patch = Record<string, unknown>;

/** The create's answer is lost, and the order query answers for the found order with `patch`. */
async function payFound(patch: Patch): Promise<PayoutRef> {
  const partnerOrderId = newPartnerOrderId();
  const held = world.holdCreate(partnerOrderId, 'after');
  const ref = await world.pay('slow final=1h', { partnerOrderId });
  await eventually(held.arrived);
  world.simulator.control.changeOrder(partnerOrderId, { answers: { queryDetail: patch } });
  // Released only after the call timeout: the answer comes too late to count.
  await world.until(ref, ({ phase }) => phase !== 'CREATING');
  held.release();
  return ref;
}

const receiver = (over: Patch) => ({
  receiver: {
    outOrderId: null,
    bankAccountNumber: null,
    bankAccountName: null,
    bankName: null,
    ...over,
  },
});

/** The create takes effect and is answered with an order that the test defines. */
function answered(over: Patch): FaultInput {
  const money = { currency: 'CNY', amount: 100 };
  const data = {
    orderId: 'o-1',
    status: 'pending',
    payMoney: usd(1),
    targetMoney: money,
    serviceCharge: { finalFee: usd(0) },
    ...over,
  };
  const body = JSON.stringify({ code: 0, message: 'OK', data });
  return { kind: 'status', status: 200, body, effect: 'commit' };
}

describe('H54 an order under our partnerOrderId that is not this payout', () => {
  const foreign: [string, Patch][] = [
    ['account number', receiver({ bankAccountNumber: '6222020000009999' })],
    ['account name', receiver({ bankAccountName: 'Somebody Else' })],
    ['bank', receiver({ bankName: 'Another Bank' })],
    ['partner order id', receiver({ outOrderId: 'another' })],
    ['target amount', { targetMoney: { currency: 'CNY', amount: 1 } }],
    ['target currency', { targetMoney: { currency: 'EUR', amount: 100 } }],
    ['pay amount', { payMoney: usd(99_999) }],
    ['fee', { serviceCharge: { finalFee: usd(999) } }],
    ['lock', { lockRateId: 'another-lock' }],
    ['exchange currencies', { exchange: { originCurrency: 'EUR', targetCurrency: 'CNY', exchangeRate: 7 } }],
  ];
  test.each(foreign)('another %s: review, never an outcome', async (_field, patch) => {
    const ref = await payFound(patch);
    const state = await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    expect(state.reasons.map(({ code }) => code)).toContain('ORDER_DIFFERS_FROM_REQUEST');
    expect(state.outcome).toBeUndefined();
    expect(createsOf(world, ref).length).toBe(1);
  });

  test('it is adopted as soon as the provider gives the correct answer', async () => {
    const ref = await payFound(receiver({ bankAccountName: 'Somebody Else' }));
    await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    const { control } = world.simulator;
    control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS', answers: { queryDetail: null } });
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    const { reasons } = await world.payouts.state(ref);
    expect(reasons).toEqual([]);
    expect(debitsOf(world, ref)).toBe(1);
  });

  test('fields that the spec allows to be null prove nothing: the order is adopted, also by resolve', async () => {
    const found = await payFound(receiver({}));
    await world.until(found, ({ phase }) => phase === 'PROCESSING');
    const named = await payFound(receiver({ bankName: 'Another Bank' }));
    await world.until(named, ({ phase }) => phase === 'NEEDS_REVIEW');
    world.simulator.control.changeOrder(named.partnerOrderId, {
      answers: { queryDetail: receiver({}) },
    });
    const [order] = world.simulator.control.ledgerOf(named.partnerOrderId).orders;
    const by = 'olga';
    // Polls adopt it too, and may be faster.
    const said = world.payouts.resolve(named, { by, created: true, orderId: order?.orderId ?? '' });
    await said.catch(() => undefined);
    await world.until(named, ({ phase }) => phase === 'PROCESSING');
  });

  test("the create's answer has another beneficiary: it is rejected, and the order is confirmed", async () => {
    const partnerOrderId = newPartnerOrderId();
    const fault = answered({ receiver: { bankAccountNumber: '1' } });
    world.simulator.control.addFault({ operation: 'createCnyOrder', partnerOrderId, times: 1, fault });
    const held = world.hold({ operation: 'queryResult', partnerOrderId }, 'before');
    const ref = await world.pay('success', { partnerOrderId });
    const seen = await world.until(ref, ({ phase }) => phase === 'RECONCILING');
    held.release();
    // A busy machine may also flag slow answers.
    expect(seen.reasons.map(({ code }) => code)).toContain('ORDER_DIFFERS_FROM_REQUEST');
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect((await world.payouts.state(ref)).reasons).toEqual([]);
    expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
  });

  test('an earlier start under this id had another body: its order is not adopted', async () => {
    const body = payoutRequest(newPartnerOrderId(), { platform: 'sim:success' });
    await world.payouts.start(body);
    await world.payouts.result(body);
    await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${body.partnerOrderId}`,
      args: [{ ...body, remittancePurposeCode: 'ANOTHER' }],
    });
    const state = await world.until(body, ({ phase }) => phase === 'NEEDS_REVIEW');
    expect(state.sentence).toContain('another body');
    expect(createsOf(world, body).length).toBe(1);
    const { reviewedOrderIds = [] } = state;
    const decision = { by: 'olga', created: false } as const;
    // The order is there, so nothing is sent again. A person may say that it belongs to the other body.
    const again = world.payouts.resolve(body, { ...decision, then: 'retry', reviewedOrderIds });
    await expect(again).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/was not sent again/) },
    });
    const unnamed = world.payouts.resolve(body, { ...decision, then: 'end' });
    await expect(unnamed).rejects.toMatchObject({
      cause: {
        type: 'NotAcceptedNow',
        message: expect.stringMatching(/^reviewedOrderIds: must name order .* not this payout/),
      },
    });
    await world.payouts.resolve(body, { ...decision, then: 'end', reviewedOrderIds });
    await world.until(body, ({ phase }) => phase === 'DONE');
    expect((await world.payouts.result(body)).reason?.code).toBe('RESOLVED_NOT_CREATED');
    expect([createsOf(world, body).length, debitsOf(world, body)]).toEqual([1, 1]);
  });
});

describe('H264 the order of a terminated run', () => {
  /** The payout is terminated after its create call, then started again, and the order query answers with `patch`. */
  async function restarted(patch: Patch): Promise<{ ref: PayoutRef; orderId: string; paid?: AgreedQuote }> {
    const ref = await payFound(receiver({}));
    const { orderId = '', quote } = await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    await world.payouts.handle(ref).terminate('by an operator');
    const { control } = world.simulator;
    control.changeOrder(ref.partnerOrderId, { answers: { queryDetail: { ...receiver({}), ...patch } } });
    await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${ref.partnerOrderId}`,
      args: [payoutRequest(ref.partnerOrderId, { platform: 'sim:slow final=1h' })],
    });
    return { ref, orderId, ...(quote && { paid: quote }) };
  }

  test.each<[string, Patch]>([
    ['its quote', {}],
    ['no lock, and the money of its quote', { lockRateId: null }],
  ])('with %s is adopted with that quote', async (_terms, patch) => {
    const { ref, orderId, paid } = await restarted(patch);
    const state = await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    expect(state).toMatchObject({ orderId, quote: paid, reasons: [] });
    expect(createsOf(world, ref).length).toBe(1);
  });

  test.each<[string, Patch]>([
    ['another fee', { serviceCharge: { finalFee: usd(999) } }],
    ['no lock and another fee', { lockRateId: null, serviceCharge: { finalFee: usd(999) } }],
    ['another lock', { lockRateId: 'another-lock' }],
  ])('with %s: review, and a person who names it accepts the difference', async (_terms, patch) => {
    const { ref, orderId, paid } = await restarted(patch);
    await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    await world.payouts.resolve(ref, { by: 'olga', created: true, orderId });
    const state = await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    expect(state).toMatchObject({ orderId, quote: paid });
    expect(state.reasons.map(({ code }) => code)).toContain('ORDER_DIFFERS_FROM_QUOTE');
    expect(createsOf(world, ref).length).toBe(1);
  });
});

describe('H21 the trade query names another order than the create', () => {
  test('it takes precedence with an order that matches, and the payout is flagged until its end', async () => {
    const ref = await world.payWithFault(answered({ orderId: 'never-existed' }), 'success');
    const result = await world.payouts.result(ref);
    const [order] = world.simulator.control.ledgerOf(ref.partnerOrderId).orders;
    expect(result).toMatchObject({ outcome: 'SUCCESS', orderId: order?.orderId });
    const { needsAttention, reasons } = await world.payouts.state(ref);
    expect(needsAttention).toBe(true);
    expect(reasons.map(({ code }) => code)).toContain('SEVERAL_ORDERS');
  });

  test('the order that it replaces is not forgotten: a later decision must name it', async () => {
    const ref = await world.payWithFault(answered({ orderId: 'replaced' }), 'stuck');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    const [order] = world.simulator.control.ledgerOf(ref.partnerOrderId).orders;
    await world.until(ref, ({ orderId }) => orderId === order?.orderId);
    // Now the provider denies the other order, too.
    world.simulator.control.changeOrder(ref.partnerOrderId, {
      visible: false,
      answers: { queryDetail: { orderId: 'another' } },
    });
    const { reviewedOrderIds } = await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    expect(reviewedOrderIds).toEqual(['replaced']);
    const decision = { by: 'olga', created: false, then: 'end' } as const;
    await expect(world.payouts.resolve(ref, decision)).rejects.toThrow();
    expect(createsOf(world, ref)).toHaveLength(1);
  });

  test('an order that does not match never becomes the outcome', async () => {
    const other = await world.pay('success');
    const { orderId } = await world.payouts.result(other);
    const ref = await world.pay('slow final=1h');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    const lie = { order_id: orderId };
    world.simulator.control.changeOrder(ref.partnerOrderId, {
      status: 'SUCCESS',
      answers: { queryResult: lie, queryPayDetail: lie },
    });
    const seen = await world.until(ref, ({ reasons }) =>
      reasons.some(({ code }) => code === 'SEVERAL_ORDERS'),
    );
    expect(seen.outcome).toBeUndefined();
    world.simulator.control.changeOrder(ref.partnerOrderId, {
      answers: { queryResult: null, queryPayDetail: null },
    });
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect((await world.payouts.state(ref)).reasons).toEqual([]);
  });
});
