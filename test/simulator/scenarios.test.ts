import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseScenario, SCENARIOS } from '../../simulator/orders/scenario.ts';
import {
  createBody,
  newPartnerOrderId,
  SimulatorClient,
  textAt,
  until,
  valueAt,
} from './support/simulator-client.ts';

describe('an order follows its scenario', () => {
  let service: SimulatorClient;
  beforeAll(async () => {
    service = await SimulatorClient.start();
  });
  afterAll(() => service.close());

  async function paid(scenario: string): Promise<string> {
    const number = newPartnerOrderId();
    expect((await service.pay(number, scenario)).json).toMatchObject({ code: 0 });
    return number;
  }
  const data = async (number: string) => valueAt((await service.result(number)).json, 'data');
  const detail = async (number: string) => valueAt((await service.detail(number)).json, 'data');
  const v2Status = async (number: string) => {
    const orderId = service.control.ledgerOf(number).orders[0]?.orderId ?? '';
    return valueAt((await service.order(orderId)).json, 'data.status');
  };
  /** Queries again until the trade's answers match. */
  const untilDetail = (number: string, wanted: object) =>
    until(async () => {
      const seen = await detail(number);
      return matches(seen, wanted) ? seen : undefined;
    });

  test('success: processing, then final with its sums, detail, debit and times', async () => {
    const number = await paid('success final=1h');
    expect(await data(number)).toMatchObject({
      status: 'PROCESSING',
      audit_status: 'PROCESSING',
      complete_flag: false,
      receive_target_amount: 0,
    });
    expect(await detail(number)).toMatchObject({ pay_account_detail: [], pay_distribute_detail: [] });
    service.control.changeOrder(number, { status: 'SUCCESS' });
    expect(await data(number)).toMatchObject({
      status: 'SUCCESS',
      audit_status: 'APPROVED',
      complete_flag: true,
      receive_target_amount: 712.34,
      failed_target_amount: 0,
      target_currency: 'CNY',
      create_time: expect.any(Number),
      finish_time: expect.any(Number),
    });
    expect(await data(number)).not.toHaveProperty('error_msg');
    expect(await detail(number)).toMatchObject({
      pay_account_detail: [
        { pay_currency: 'USD', pay_amount: 100.5, fee_amount: 0.5, pay_actual_amount: 100 },
      ],
      pay_distribute_detail: [{ target_amount: 712.34, status: 'SUCCESS', refund_flag: false }],
    });
    expect(await v2Status(number)).toBe('success');
  });

  test('failure: an error text, an empty create_time, and the failed payment', async () => {
    const number = await paid('failure');
    await service.untilStatus(number, 'FAILED');
    expect(await data(number)).toMatchObject({
      error_msg: expect.stringMatching(/refused/),
      create_time: '',
      failed_target_amount: 712.34,
    });
    expect(await detail(number)).toMatchObject({ pay_distribute_detail: [{ status: 'FAILED' }] });
    expect(await v2Status(number)).toBe('fail');
  });

  test('failure detail=none: final, without any executed payment', async () => {
    const number = await paid('failure detail=none');
    await service.untilStatus(number, 'FAILED');
    expect(await detail(number)).toMatchObject({ pay_distribute_detail: [], failed_target_amount: 0 });
  });

  test('failed-received: FAILED, although sums and payments say that everything arrived', async () => {
    const number = await paid('failed-received');
    await service.untilStatus(number, 'FAILED');
    expect(await data(number)).toMatchObject({
      complete_flag: true,
      receive_target_amount: 712.34,
      failed_target_amount: 0,
    });
    expect(await detail(number)).toMatchObject({
      status: 'FAILED',
      pay_distribute_detail: [{ status: 'SUCCESS', target_amount: 712.34 }],
    });
    expect(service.control.ledgerOf(number).orders).toMatchObject([{ status: 'SUCCESS' }]);
    const forAWhile = await paid('failed-received answers=1 final=0ms');
    expect(await data(forAWhile)).toMatchObject({ status: 'FAILED' });
    expect(await data(forAWhile)).toMatchObject({ status: 'SUCCESS' });
  });

  test('debit-differs: the detail reports a larger debit than the order costs', async () => {
    const number = await paid('debit-differs percent=10 answers=1');
    await service.untilStatus(number, 'SUCCESS');
    const taken = (amount: number) => ({ pay_account_detail: [{ pay_amount: amount, fee_amount: 0.5 }] });
    expect(await detail(number)).toMatchObject(taken(110.55));
    expect(await detail(number)).toMatchObject(taken(100.5));
    expect(service.control.ledgerOf(number).orders).toMatchObject([{ pay: { amount: '100.50' } }]);
  });

  test.each([
    ['account', 'bankAccountNumber'],
    ['name', 'bankAccountName'],
    ['bank', 'bankName'],
  ] as const)('other-beneficiary field=%s: the order pays into another account', async (field, name) => {
    const number = await paid(`other-beneficiary field=${field}`);
    const [order] = service.control.ledgerOf(number).orders;
    const asked = createBody(number).receiver;
    const { bankAccountNumber, bankAccountName, bankName } = asked;
    const told = valueAt((await service.order(order?.orderId ?? '')).json, 'data.receiver');
    expect(told).toMatchObject({ ...order?.beneficiary, outOrderId: number });
    expect(order?.beneficiary[name]).not.toBe(asked[name]);
    expect({ ...order?.beneficiary, [name]: asked[name] }).toEqual({
      bankAccountNumber,
      bankAccountName,
      bankName,
    });
  });

  test('no-out-order-id: the order does not echo the outOrderId; trade queries find it by that id', async () => {
    const number = newPartnerOrderId();
    const created = await service.pay(number, 'no-out-order-id');
    expect(valueAt(created.json, 'data.receiver.outOrderId')).toBeNull();
    const order = await service.order(textAt(created.json, 'data.orderId'));
    expect(valueAt(order.json, 'data.receiver.outOrderId')).toBeNull();
    expect(await data(number)).toMatchObject({ partner_order_id: number });
  });

  test('refund after=0ms: the payment is returned before any query can see it', async () => {
    const number = await paid('refund after=0ms final=0ms');
    expect(await data(number)).toMatchObject({ status: 'SUCCESS' });
    expect(await detail(number)).toMatchObject({
      pay_distribute_detail: [{ status: 'SUCCESS', refund_flag: true }],
    });
  });

  test.each([
    ['percent=3', 'success'],
    ['field=name', 'success'],
    ['field=iban', 'other-beneficiary'],
  ])('rejects %s in the scenario %s', (parameter, name) => {
    expect(() => parseScenario(`${name} ${parameter}`)).toThrow(/belong|none of/);
  });

  test.each([
    ['split splits=4', 'SUCCESS', 4, 0],
    ['partial splits=3 failed=1', 'PARTIAL_SUCCESS', 3, 1],
    ['partial splits=7 failed=5', 'PARTIAL_SUCCESS', 7, 5],
  ])(
    '%s: ends as %s with %d payments of which %d failed, exact to the cent',
    async (scenario, status, all, failed) => {
      const number = await paid(scenario);
      await service.untilStatus(number, status);
      const [order] = service.control.ledgerOf(number).orders;
      const cents = (wanted: string) =>
        (order?.splits ?? [])
          .filter((split) => split.status === wanted)
          .reduce((total, split) => total + Number(split.target.amount.replace('.', '')), 0);
      expect(order?.splits.length).toBe(all);
      expect(order?.splits.filter((split) => split.status === 'FAILED').length).toBe(failed);
      expect(cents('SUCCESS') + cents('FAILED')).toBe(71_234);
      expect(await data(number)).toMatchObject({
        receive_target_amount: cents('SUCCESS') / 100,
        failed_target_amount: cents('FAILED') / 100,
      });
    },
  );

  test('rejected: the audit rejects the order, which fails without a payment', async () => {
    const number = await paid('rejected');
    await service.untilStatus(number, 'FAILED');
    expect(await data(number)).toMatchObject({ audit_status: 'REJECTED' });
    expect(await detail(number)).toMatchObject({ pay_distribute_detail: [] });
  });

  test.each([
    ['returned', 'RETURNED'],
    ['declined', 'DECLINED'],
  ])('%s: waits for material, and continues after final=', async (name, auditStatus) => {
    const waiting = await paid(name);
    expect(await data(waiting)).toMatchObject({ status: 'PROCESSING', audit_status: auditStatus });
    const goesOn = await paid(`${name} final=50ms`);
    await service.untilStatus(goesOn, 'SUCCESS');
    expect(await data(goesOn)).toMatchObject({ audit_status: 'APPROVED' });
  });

  test('stuck and slow: stay open until the control API ends them', async () => {
    for (const scenario of ['stuck', 'slow final=1h']) {
      const number = await paid(scenario);
      expect(await data(number)).toMatchObject({ status: 'PROCESSING' });
      service.control.changeOrder(number, { status: 'PARTIAL_SUCCESS' });
      expect(await data(number)).toMatchObject({ status: 'PARTIAL_SUCCESS', complete_flag: true });
    }
  });

  test('refund: money is returned after the success', async () => {
    const number = await paid('refund after=50ms');
    await service.untilStatus(number, 'SUCCESS');
    await untilDetail(number, {
      pay_distribute_detail: [{ status: 'SUCCESS', refund_flag: true, refund_reason: expect.any(String) }],
    });
    expect(service.control.ledgerOf(number).orders[0]?.refunds).toBe(1);
  });

  test('complete-late: the status is final before all payments are complete', async () => {
    const number = await paid('complete-late answers=2');
    await service.untilStatus(number, 'SUCCESS');
    expect(await data(number)).toMatchObject({ status: 'SUCCESS', complete_flag: false });
    expect(await data(number)).toMatchObject({ status: 'SUCCESS', complete_flag: true });
  });

  test('detail-late: the detail is empty for a while after the end', async () => {
    const number = await paid('detail-late answers=1');
    await service.untilStatus(number, 'SUCCESS');
    expect(await detail(number)).toMatchObject({ status: 'SUCCESS', pay_distribute_detail: [] });
    expect(await detail(number)).toMatchObject({ pay_distribute_detail: [{ status: 'SUCCESS' }] });
  });

  test('sums-wrong: the payments do not add up, for a number of answers or permanently', async () => {
    const number = await paid('sums-wrong answers=1');
    await service.untilStatus(number, 'SUCCESS');
    expect(await detail(number)).toMatchObject({ pay_distribute_detail: [{ target_amount: 356.16 }, {}] });
    expect(await detail(number)).toMatchObject({ pay_distribute_detail: [{ target_amount: 356.17 }, {}] });
  });

  test('an anomaly ends after for=', async () => {
    const number = await paid('sums-wrong for=100ms');
    await service.untilStatus(number, 'SUCCESS');
    await untilDetail(number, { pay_distribute_detail: [{ target_amount: 356.17 }, {}] });
  });

  test('drift: the order has a rate 5 % worse than the locked one', async () => {
    const reply = await service.pay(newPartnerOrderId(), 'drift');
    expect(reply.json).toMatchObject({
      data: {
        exchange: { exchangeRate: 6.76723 },
        payMoney: { amount: 105.79 },
        targetMoney: { amount: 712.34 },
      },
    });
  });

  test('lock-ignored: the order names no lock', async () => {
    expect((await service.pay(newPartnerOrderId(), 'lock-ignored')).json).toMatchObject({
      code: 0,
      data: { lockRateId: null },
    });
  });

  test('v2-disagrees: the order query reports failure, the trade query success', async () => {
    const number = await paid('v2-disagrees');
    await service.untilStatus(number, 'SUCCESS');
    expect(await v2Status(number)).toBe('fail');
  });

  test('unknown-status: a status outside the specification', async () => {
    const number = await paid('unknown-status status=ODD');
    expect(await data(number)).toMatchObject({ status: 'ODD' });
  });

  test('a scenario set for an outOrderId takes precedence over the one in the request', async () => {
    const number = newPartnerOrderId();
    service.control.setScenario(number, 'failure');
    await service.pay(number, 'success');
    await service.untilStatus(number, 'FAILED');
  });

  test('a platform that is not a scenario means success', async () => {
    const number = newPartnerOrderId();
    await service.pay(number, 'x', { platform: 'AMAZON' });
    await service.untilStatus(number, 'SUCCESS');
  });

  test('rejects a misspelled scenario instead of treating it as success', async () => {
    const reply = await service.pay(newPartnerOrderId(), 'sucess');
    expect(textAt(reply.json, 'message')).toMatch(/^illegal param: platform: sucess is none of/);
  });

  test('times are in seconds if configured', async () => {
    service.control.changeSettings({ timestampUnit: 's' });
    const before = Math.floor(Date.now() / 1000);
    const number = await paid('stuck');
    const seconds = Number(valueAt(await data(number), 'create_time'));
    service.control.changeSettings({ timestampUnit: 'ms' });
    expect(seconds).toBeGreaterThanOrEqual(before);
    expect(seconds).toBeLessThanOrEqual(Date.now() / 1000);
  });

  test('the detail can be a single object, and empty can be null or absent', async () => {
    service.control.changeSettings({ detailShape: 'object', emptyDetail: 'null' });
    const open = await paid('stuck');
    expect(await detail(open)).toMatchObject({ pay_account_detail: null });
    service.control.changeSettings({ emptyDetail: 'absent' });
    expect(await detail(open)).not.toHaveProperty('pay_account_detail');
    service.control.changeOrder(open, { status: 'SUCCESS' });
    expect(await detail(open)).toMatchObject({ pay_distribute_detail: { status: 'SUCCESS' } });
    service.control.changeSettings({ detailShape: 'list', emptyDetail: 'list' });
  });
});

describe('scenario texts', () => {
  test.each(SCENARIOS)('%s needs no parameters', (name) => {
    expect(parseScenario(name).name).toBe(name);
  });

  test.each([
    '',
    'nothing',
    'success speed=1',
    'success final=soon',
    'success splits=0',
    'success failed=1',
    'partial splits=2 failed=2',
    'success for=1s',
    'success notify=shouted',
    'failure detail=some',
    'success constructor=1',
  ])('rejects %j', (text) => {
    expect(() => parseScenario(text)).toThrow();
  });
});

function matches(seen: unknown, wanted: object): boolean {
  try {
    expect(seen).toMatchObject(wanted);
    return true;
  } catch {
    return false;
  }
}
