import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createBody,
  feeBody,
  newPartnerOrderId,
  SimulatorClient,
  textAt,
  valueAt,
} from './support/simulator-client.ts';

const TRADE = ['queryResult', 'queryPayDetail'] as const;
const tradePath = (name: string) => `/v1/mid-open-api/trade/payout/${name}`;

describe('every endpoint answers as the specification says', () => {
  let service: SimulatorClient;
  beforeAll(async () => {
    service = await SimulatorClient.start();
  });
  afterAll(() => service.close());

  test('the example call returns the request without the token', async () => {
    const reply = await service.get('/v2/httpbin/get?a=1');
    expect(reply.json).toMatchObject({ code: 0, message: 'OK', data: { args: { a: '1' } } });
    expect(reply.text).not.toContain(service.token);
  });

  test('a receiving account is opened with 201, and found by payer and by id', async () => {
    const opened = await service.post('/v1/accounts/receiving-account', { payer_id: 'p1', currency: 'USD' });
    expect(opened.status).toBe(201);
    const id = textAt(opened.json, 'data.id');
    const balance = await service.get('/v1/accounts/receiving-account/p1/USD');
    expect(valueAt(balance.json, 'data')).toEqual({ balance: '0.00', accounts: [id] });
    const detail = await service.get(`/v1/payments/receving-account/${id}`);
    expect(valueAt(detail.json, 'data')).toMatchObject({ id, payer_id: 'p1', currency: 'USD' });
  });

  test('accepts the spelling currnecy', async () => {
    const opened = await service.post('/v1/accounts/receiving-account', { payer_id: 'p2', currnecy: 'EUR' });
    expect(opened.status).toBe(201);
    expect(valueAt(opened.json, 'data.currency')).toBe('EUR');
  });

  test.each([
    [{ currency: 'USD' }, 'payer_id'],
    [{ payer_id: 'p1' }, 'currency'],
    [{ payer_id: 'p1', currency: 'USD', bank_location: 'Mars' }, 'bank_location'],
  ])('refuses the receiving account request %j because of %s', async (body, field) => {
    const reply = await service.post('/v1/accounts/receiving-account', body);
    expect(reply.json).toEqual({ code: 900002, message: `illegal param: ${field}`, data: null });
  });

  test('refuses an unknown receiving account', async () => {
    expect((await service.get('/v1/payments/receving-account/none')).json).toMatchObject({ code: 40400 });
  });

  test('a quote contains its lock, the balance, rate, fee and both amounts', async () => {
    const reply = await service.quote();
    expect(reply.json).toMatchObject({
      code: 0,
      data: {
        lock_rate_id: expect.stringMatching(/^LR/),
        avail_money: { currency: 'USD' },
        exchange: { exchange_rate: 7.1234, origin_currency: 'USD', target_currency: 'CNY' },
        pay_money: { currency: 'USD', amount: 100.5 },
        target_money: { currency: 'CNY', amount: 712.34 },
        service_charge: { final_fee: { currency: 'USD', amount: 0.5 } },
      },
    });
  });

  test('an amount in the origin currency is what leaves the account before the fee', async () => {
    const reply = await service.quote({ instructed_amount: { currency: 'USD', amount: 200 } });
    expect(valueAt(reply.json, 'data')).toMatchObject({
      pay_money: { amount: 201 },
      target_money: { amount: 1424.68 },
    });
  });

  test.each([
    [{ payer_id: '' }, 'payer_id'],
    [{ type: undefined }, 'type'],
    [{ instructed_amount: { currency: 'CNY', amount: '10' } }, 'instructed_amount.amount'],
    [{ instructed_amount: { currency: 'CNY', amount: -1 } }, 'instructed_amount.amount'],
    [{ instructed_amount: { currency: 'CNY', amount: 1.005 } }, 'instructed_amount.amount'],
    [{ instructed_amount: { currency: 'GBP', amount: 1 } }, 'instructed_amount.currency'],
    [{ exchange: { origin_currency: 'USD', target_currency: 'XXX' } }, 'exchange'],
  ])('refuses a quote with %j because of %s', async (change, field) => {
    expect((await service.quote(change)).json).toMatchObject({
      code: 900002,
      message: `illegal param: ${field}`,
    });
  });

  test('create and order query return the order in camelCase', async () => {
    const number = newPartnerOrderId();
    const created = await service.pay(number, 'stuck');
    expect(created.json).toMatchObject({
      code: 0,
      message: 'OK',
      data: {
        status: 'pending',
        payMoney: { currency: 'USD', amount: 100.5 },
        targetMoney: { currency: 'CNY', amount: 712.34 },
        serviceCharge: { finalFee: { currency: 'USD', amount: 0.5 }, feeRate: null },
        receiver: { outOrderId: number, lastName: null },
        exchange: { originCurrency: 'USD', targetCurrency: 'CNY', rateId: null, exchangeRate: 7.1234 },
        deliveryDate: null,
      },
    });
    const found = await service.order(textAt(created.json, 'data.orderId'));
    expect(valueAt(found.json, 'data')).toEqual(valueAt(created.json, 'data'));
    expect((await service.order('nobody')).json).toMatchObject({ code: 900004 });
  });

  test.each([
    [{ type: 'GIFT' }, 'type'],
    [{ remittancePurposeCode: '' }, 'remittancePurposeCode'],
    [{ outOrderId: 'x'.repeat(65) }, 'outOrderId'],
    [{ receiver: { ...createBody('x').receiver, idCardNumber: undefined } }, 'receiver.idCardNumber'],
    [{ exchange: { originCurrency: 'USD', targetCurrency: 'EUR' } }, 'exchange.targetCurrency'],
  ])('refuses a create with %j because of %s, and pays nothing', async (change, field) => {
    const before = service.control.counts().orders;
    const reply = await service.create({ ...createBody(newPartnerOrderId()), lockRateId: 'x', ...change });
    expect(reply.json).toMatchObject({ code: 900002, message: `illegal param: ${field}` });
    expect(service.control.counts().orders).toBe(before);
  });

  test.each(TRADE)('%s uses style B, echoes the client, and reports unknown orders', async (name) => {
    const number = newPartnerOrderId();
    await service.pay(number, 'stuck');
    const ask = (partner_order_id: string) =>
      service.post(tradePath(name), { client_id: 'c-9', partner_order_id });
    expect((await ask(number)).json).toMatchObject({
      code: 200,
      message: 'SUCCESS',
      data: { client_id: 'c-9', partner_order_id: number, status: 'PROCESSING', complete_flag: false },
    });
    expect((await ask('nobody')).json).toEqual({ code: 900004, message: 'order not exist', data: null });
    expect((await ask('x'.repeat(65))).json).toMatchObject({ code: 900002 });
  });

  test.each(['', '{', '[]', 'null'])('the body %j is an illegal parameter, not a crash', async (rawBody) => {
    const reply = await service.call('POST', tradePath('queryResult'), { rawBody });
    expect(reply.json).toMatchObject({ code: 900002, data: null });
  });

  test.each([
    ['anybody', 'NORMAL', 'AVAIL_ACCOUNT'],
    ['abnormal-1', 'ABNORMAL', 'AVAIL_ACCOUNT'],
    ['closed-1', 'CLOSED', 'AVAIL_ACCOUNT'],
    ['temp-only-1', 'NORMAL', 'TEMP_ACCOUNT'],
  ])('the accounts of %s are %s %s', async (client_id, account_status, account_type) => {
    const reply = await service.post('/v1/mid-open-api/account/query', { client_id, currency: 'USD' });
    expect(reply.json).toMatchObject({
      code: 200,
      data: { client_id, account_info_list: [{ currency: 'USD', account_status, account_type }] },
    });
  });

  test('an unknown client has no accounts, a poor one has 1.00, and invalid input is refused', async () => {
    const ask = (body: object) => service.post('/v1/mid-open-api/account/query', body);
    expect((await ask({ client_id: 'unknown-1' })).text).toBe('{"code":200,"message":"SUCCESS","data":null}');
    expect((await ask({ client_id: 'poor-1' })).text).toContain('"avail_balance":1.00');
    expect((await ask({ client_id: 'c', account_type: 'NONE' })).json).toMatchObject({
      data: { account_info_list: [] },
    });
    expect((await ask({})).json).toMatchObject({ code: 900002 });
    expect((await ask({ client_id: 'c', extra_info: '{' })).json).toMatchObject({ code: 900002 });
  });

  test('a path outside the specification is not found', async () => {
    expect((await service.get('/v9/nothing')).status).toBe(404);
  });

  test('requires a signature over the raw body if configured', async () => {
    service.control.changeSettings({ signatureSecret: 'key' });
    const rawBody = '{"client_id":"c","partner_order_id":"none"}';
    const path = tradePath('queryResult');
    const signed = createHmac('sha256', 'key').update(rawBody).digest('hex');
    const unsigned = await service.call('POST', path, { rawBody });
    const wrong = await service.call('POST', path, {
      rawBody: `${rawBody} `,
      headers: { 'x-signature': signed },
    });
    const right = await service.call('POST', path, { rawBody, headers: { 'x-signature': signed } });
    service.control.changeSettings({ signatureSecret: '' });
    expect([unsigned, wrong, right].map((reply) => valueAt(reply.json, 'code'))).toEqual([401, 401, 900004]);
  });

  test('with the bare style, /v1 answers have no envelope', async () => {
    service.control.changeSettings({ v1Envelope: 'bare' });
    const reply = await service.post('/v1/payments/fee', feeBody());
    service.control.changeSettings({ v1Envelope: 'A' });
    expect(reply.json).toMatchObject({ lock_rate_id: expect.any(String) });
  });
});
