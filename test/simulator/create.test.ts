import { afterEach, describe, expect, test } from 'vitest';
import { standingClock } from '../support/standing-clock.ts';
import {
  createBody,
  newPartnerOrderId,
  SimulatorClient,
  textAt,
  valueAt,
} from './support/simulator-client.ts';

let service: SimulatorClient | undefined;
async function started(settings: object = {}): Promise<SimulatorClient> {
  service = await SimulatorClient.start({ settings });
  return service;
}
afterEach(() => service?.close());

describe('a lock can be used once', () => {
  test('a second payout with the same lock is refused, and nothing is debited for it', async () => {
    const sim = await started();
    const lockRateId = await sim.lock();
    const [first, second] = [newPartnerOrderId(), newPartnerOrderId()];
    expect((await sim.create({ ...createBody(first), lockRateId })).json).toMatchObject({ code: 0 });
    expect((await sim.create({ ...createBody(second), lockRateId })).json).toMatchObject({
      code: 30001,
      message: 'lock expired',
    });
    expect(sim.control.ledgerOf(second)).toMatchObject({ debits: 0, creates: [{ effect: 'refused' }] });
  });

  test('expired, unknown and missing locks are refused with the configured code', async () => {
    const sim = await started({ lockLifetimeMs: 0, lockExpiredCode: 31234 });
    const locks = [await sim.lock(), 'LR-unknown', undefined];
    for (const lockRateId of locks)
      expect((await sim.create({ ...createBody(newPartnerOrderId()), lockRateId })).json).toMatchObject({
        code: 31234,
      });
  });

  test('a lock for another amount is refused and stays usable', async () => {
    const sim = await started();
    const lockRateId = await sim.lock();
    const other = { instructedAmount: { currency: 'CNY', amount: 712.35 } };
    const refused = await sim.create({ ...createBody(newPartnerOrderId()), lockRateId, ...other });
    expect(refused.json).toMatchObject({ code: 30004 });
    expect((await sim.create({ ...createBody(newPartnerOrderId()), lockRateId })).json).toMatchObject({
      code: 0,
    });
  });

  test('without required locks, an order without a lock gets the current price', async () => {
    const sim = await started({ lockRequired: false });
    const reply = await sim.create(createBody(newPartnerOrderId()));
    expect(reply.json).toMatchObject({ code: 0, data: { lockRateId: null } });
  });
});

describe('accounts that can pay', () => {
  test.each([
    ['poor-1', 30002, '1.00'],
    ['temp-only-1', 30002, '0.00'],
    ['unknown-1', 30002, '0.00'],
    ['abnormal-1', 30005, '9999999999999999.99'],
    ['closed-1', 30005, '9999999999999999.99'],
  ])('%s is refused with %d and has %s available', async (payer_id, code, available) => {
    const sim = await started();
    const quoted = await sim.quote({ payer_id });
    expect(quoted.text).toContain(`"avail_money":{"currency":"USD","amount":${available}}`);
    const lockRateId = textAt(quoted.json, 'data.lock_rate_id');
    expect((await sim.create({ ...createBody(newPartnerOrderId()), lockRateId })).json).toMatchObject({
      code,
    });
    expect(sim.control.counts().debits).toBe(0);
  });

  test('balances set by a test count, and shrink with every payout', async () => {
    const sim = await started();
    sim.control.setAccounts('payer-1', [{ currency: 'USD', available: '101.00' }]);
    expect((await sim.pay(newPartnerOrderId())).json).toMatchObject({ code: 0 });
    expect((await sim.pay(newPartnerOrderId())).json).toMatchObject({ code: 30002 });
    sim.control.setAccounts('payer-1', null);
    expect((await sim.quote()).text).toContain('"avail_money":{"currency":"USD","amount":0.00}');
  });

  test('failed amounts return to the payer', async () => {
    const sim = await started();
    sim.control.setAccounts('payer-1', [{ currency: 'USD', available: '100.50' }]);
    const number = newPartnerOrderId();
    await sim.pay(number, 'failure');
    await sim.untilStatus(number, 'FAILED');
    expect((await sim.quote()).text).toContain('"avail_money":{"currency":"USD","amount":100.50}');
    expect(sim.control.ledgerOf(number).orders[0]?.returned.amount).toBe('100.50');
  });
});

describe('a repeated outOrderId', () => {
  test('pays again by default, so that a double payment shows in the ledger', async () => {
    const sim = await started();
    const number = newPartnerOrderId();
    const first = textAt((await sim.pay(number)).json, 'data.orderId');
    const second = textAt((await sim.pay(number)).json, 'data.orderId');
    expect(second).not.toBe(first);
    expect(sim.control.ledgerOf(number)).toMatchObject({
      debits: 2,
      debited: [{ currency: 'USD', amount: '201.00' }],
    });
    expect(sim.control.counts().paidTwice).toBe(1);
    expect(sim.control.ledger().paidTwice).toEqual([number]);
    expect(valueAt((await sim.result(number)).json, 'data.order_id')).toBe(first);
  });

  test('is refused if configured, before its lock is used', async () => {
    const sim = await started({ repeatedCreate: 'refuse' });
    const number = newPartnerOrderId();
    await sim.pay(number);
    const lockRateId = await sim.lock();
    expect((await sim.create({ ...createBody(number), lockRateId })).json).toMatchObject({ code: 30003 });
    expect((await sim.create({ ...createBody(newPartnerOrderId()), lockRateId })).json).toMatchObject({
      code: 0,
    });
    expect(sim.control.ledgerOf(number).debits).toBe(1);
  });
});

describe('queries may lag behind', () => {
  test('trade queries find an order only after its lag; the order query finds it at once', async () => {
    const sim = await started();
    const number = newPartnerOrderId();
    const created = await sim.pay(number, 'success readLag=1h');
    expect((await sim.result(number)).json).toMatchObject({ code: 900004 });
    expect((await sim.detail(number)).json).toMatchObject({ code: 900004 });
    expect((await sim.order(textAt(created.json, 'data.orderId'))).json).toMatchObject({ code: 0 });
    sim.control.changeOrder(number, { visible: true });
    expect((await sim.result(number)).json).toMatchObject({ code: 200 });
  });

  test('the lag can be a setting, and ends by itself', async () => {
    const clock = standingClock();
    const sim = await started({ readLagMs: 150 });
    const number = newPartnerOrderId();
    await sim.pay(number);
    clock.advance(149);
    expect((await sim.result(number)).json).toMatchObject({ code: 900004 });
    clock.advance(1);
    expect((await sim.result(number)).json).toMatchObject({ code: 200 });
  });
});
