import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type SimulatorControlClient, simulatorControl } from '../../simulator/index.ts';
import { simulatorEnvironment } from '../../simulator/settings.ts';
import { RingLog } from '../../simulator/state/ledger.ts';
import { newPartnerOrderId, SimulatorClient, valueAt } from './support/simulator-client.ts';

const REFUSED = [
  [{ SIMULATOR_LISTEN: '127.0.0.1:0', SIMULATOR_SETTINGS: '{"speed":1}' }, /speed/],
  [{ SIMULATOR_LISTEN: '127.0.0.1:0', SIMULATOR_APPS: '{' }, /SIMULATOR_APPS/],
] as const;

describe('the control API', () => {
  let service: SimulatorClient;
  let client: SimulatorControlClient;
  beforeAll(async () => {
    service = await SimulatorClient.start();
    client = simulatorControl(service.simulator.url);
  });
  afterEach(() => service.control.reset());
  afterAll(() => service.close());

  async function open(): Promise<string> {
    const number = newPartnerOrderId();
    await service.pay(number, 'stuck');
    return number;
  }
  const data = async (number: string) => valueAt((await service.result(number)).json, 'data');
  const detail = async (number: string) => valueAt((await service.detail(number)).json, 'data');

  test('returns the same over HTTP as in process', async () => {
    const number = await open();
    const { control } = service;
    expect(await client.ledger()).toEqual(control.ledger());
    expect(await client.ledgerOf(number)).toEqual(control.ledgerOf(number));
    expect(await client.calls()).toEqual(control.calls());
    expect(await client.calls({ operation: 'fee' })).toMatchObject([
      { operation: 'fee', status: 200, code: 0 },
    ]);
    expect(await client.counts()).toEqual(control.counts());
    expect(await client.settings()).toEqual(control.settings());
    expect(await client.faults()).toEqual([]);
  });

  test('plantOrder: adds an order that was not created through us, for another beneficiary, under our partnerOrderId', async () => {
    const number = newPartnerOrderId();
    const { orderId } = service.control.plantOrder({
      partnerOrderId: number,
      instructedAmount: { currency: 'CNY', amount: '55.50' },
      scenario: 'failure final=0ms',
    });
    expect(await data(number)).toMatchObject({ order_id: orderId, status: 'FAILED' });
    expect(valueAt((await service.order(orderId)).json, 'data')).toMatchObject({
      targetMoney: { currency: 'CNY', amount: 55.5 },
      lockRateId: null,
      receiver: { outOrderId: number, bankAccountName: 'Somebody Else' },
    });
    expect(service.control.ledgerOf(number)).toMatchObject({ debits: 1, creates: [] });
    expect(() => service.control.plantOrder({ partnerOrderId: number, originCurrency: 'XXX' })).toThrow();
  });

  test('changeOrder: changes the account of the beneficiary', async () => {
    const number = await open();
    service.control.changeOrder(number, { receiver: { bankAccountNumber: '1' } });
    const [order] = service.control.ledgerOf(number).orders;
    expect(order?.beneficiary).toMatchObject({ bankAccountNumber: '1', bankAccountName: 'Li Lei' });
    expect(valueAt((await service.order(order?.orderId ?? '')).json, 'data.receiver')).toMatchObject({
      bankAccountNumber: '1',
    });
  });

  test('makes the same changes over HTTP as in process', async () => {
    const number = newPartnerOrderId();
    await client.setScenario(number, 'failure');
    await client.setAccounts('payer-1', [{ currency: 'USD', available: '500.00' }]);
    expect((await client.changeSettings({ feeRate: '0.01' })).feeRate).toBe('0.01');
    await client.changeApp('demo-app', { redirectUri: 'https://one.example/cb' });
    const { id } = await client.addFault({ operation: 'fee', times: 1, fault: { kind: 'html-502' } });
    expect((await service.quote()).status).toBe(502);
    expect(await client.releaseFault(id)).toEqual({ released: 0 });
    await client.removeFault(id);
    await client.removeFaults();
    expect((await service.pay(number)).json).toMatchObject({ data: { payMoney: { amount: 101 } } });
    await service.untilStatus(number, 'FAILED');
    expect((await client.authorize({ appId: 'demo-app' })).code).toMatch(/^code-/);
    await client.changeApp('demo-app', { redirectUri: null });
    await client.notify({ partnerOrderId: number });
    const { orderId } = await client.plantOrder({ partnerOrderId: 'planted' });
    expect(orderId).toBe(service.control.ledgerOf('planted').orders[0]?.orderId);
    expect(await client.expireTokens({ kind: 'user' })).toEqual({ expired: 0 });
    await client.reset();
    expect((await client.counts()).orders).toBe(0);
    expect((await client.settings()).feeRate).toBe('0.005');
  });

  test('reports invalid requests and missing objects', async () => {
    await expect(client.setScenario('x', 'nonsense')).rejects.toThrow(/400.*nonsense is none of/);
    await expect(client.changeOrder('x', { status: 'SUCCESS' })).rejects.toThrow(/404.*no order x/);
    await expect(client.changeApp('x', {})).rejects.toThrow(/404/);
    expect((await service.call('POST', '/_sim/faults', { rawBody: '{' })).status).toBe(400);
    expect(() => service.control.changeSettings({ callsPerSecond: 0 })).toThrow();
  });

  test('changes an order: status, audit, completeness, v2 status, lock, splits', async () => {
    const number = await open();
    const { control } = service;
    control.changeOrder(number, { auditStatus: 'MYSTERY', status: 'ODD' });
    expect(await data(number)).toMatchObject({
      audit_status: 'MYSTERY',
      status: 'ODD',
      complete_flag: false,
    });
    await client.changeOrder(number, {
      status: 'SUCCESS',
      complete: false,
      v2Status: 'fail',
      lockRateId: 'LR-x',
    });
    expect(await data(number)).toMatchObject({ status: 'SUCCESS', complete_flag: false });
    const orderId = control.ledgerOf(number).orders[0]?.orderId ?? '';
    expect((await service.order(orderId)).json).toMatchObject({
      data: { status: 'fail', lockRateId: 'LR-x' },
    });
    control.changeOrder(number, { splits: [{ index: 0, amount: '1.00', status: 'FAILED', refund: true }] });
    expect(await detail(number)).toMatchObject({
      pay_distribute_detail: [{ target_amount: 1, status: 'FAILED', refund_flag: true }],
      failed_target_amount: 1,
    });
    expect(() => control.changeOrder(number, { splits: [{ index: 9 }] })).toThrow(/no split 9/);
  });

  test('changes, removes or corrupts any field of any answer, and keeps every digit', async () => {
    const number = await open();
    await client.changeOrder(number, {
      answers: { queryResult: { status: 7, target_currency: null, receive_target_amount: '12' } },
    });
    const changed = await data(number);
    expect(changed).toMatchObject({ status: 7, receive_target_amount: '12' });
    expect(changed).not.toHaveProperty('target_currency');
    await service.call('POST', `/_sim/orders/${number}`, {
      rawBody: '{"answers":{"queryPayDetail":{"receive_target_amount":9007199254740993.01}}}',
    });
    expect((await service.detail(number)).text).toContain('"receive_target_amount":9007199254740993.01');
    await client.changeOrder(number, { answers: { queryResult: null } });
    expect(await data(number)).toMatchObject({ status: 'PROCESSING', target_currency: 'CNY' });
  });

  test('trade answers can name another client than the request', async () => {
    const number = await open();
    service.control.changeOrder(number, { echoClientId: 'somebody-else' });
    expect(await data(number)).toMatchObject({ client_id: 'somebody-else' });
    expect(await detail(number)).toMatchObject({ client_id: 'somebody-else' });
    service.control.changeOrder(number, { echoClientId: null });
    expect(await data(number)).toMatchObject({ client_id: 'client-1' });
  });

  test('the status page shows orders, the rate limit and faults, and escapes what it shows', async () => {
    await service.pay('<b>&number', 'stuck');
    service.control.addFault({ id: 'my-rule', operation: 'fee', fault: { kind: 'garbage' } });
    const page = await service.get('/_sim', { authorization: '' });
    expect(page.text).toContain('&lt;b&gt;&amp;number');
    expect(page.text).toMatch(/Calls in the last second[\s\S]*PROCESSING[\s\S]*my-rule/);
  });

  test('reset clears everything except tokens', async () => {
    await open();
    service.control.reset();
    expect(service.control.ledger()).toEqual({
      orders: [],
      creates: [],
      notifications: [],
      debits: {},
      paidTwice: [],
      receivingAccounts: [],
    });
    expect((await service.get('/v2/httpbin/get')).status).toBe(200);
  });
});

test('the call log drops its oldest entries and keeps the count', () => {
  const log = new RingLog<number>(100);
  for (let entry = 0; entry < 1000; entry += 1) log.add(entry);
  expect(log.list().length).toBeLessThanOrEqual(125);
  expect(log.list().at(-1)).toBe(999);
  expect(log.total).toBe(1000);
});

describe('the environment of the program', () => {
  test('treats an empty variable as absent', () => {
    const read = simulatorEnvironment({ SIMULATOR_SETTINGS: '', SIMULATOR_APPS: '', SIMULATOR_LISTEN: '' });
    expect(read).toEqual({ SIMULATOR_LISTEN: '127.0.0.1:8090' });
  });

  test.each(REFUSED)('refuses %j with the reason', (env, why) => {
    expect(() => simulatorEnvironment(env)).toThrow(why);
  });
});
