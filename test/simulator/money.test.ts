import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { convertBack, convertForward, formatMinor, parseMinor, parseRate } from '../../simulator/money.ts';
import { createBody, newPartnerOrderId, SimulatorClient, textAt } from './support/simulator-client.ts';

describe('amounts keep every digit', () => {
  let service: SimulatorClient;
  beforeAll(async () => {
    service = await SimulatorClient.start();
  });
  afterAll(() => service.close());

  test.each(['9999999999999999.99', '9007199254740993.01', '0.01', '10'])(
    '%s enters as a JSON number and leaves in every answer with the same digits',
    async (amount) => {
      const number = newPartnerOrderId();
      const wire = `${formatMinor(parseMinor(amount) ?? 0n)}`;
      const quoted = await service.call('POST', '/v1/payments/fee', {
        rawBody: `{"instructed_amount":{"currency":"CNY","amount":${amount}},"exchange":{"origin_currency":"USD","target_currency":"CNY"},"payer_id":"p","type":"WITHDRAW"}`,
      });
      expect(quoted.text).toContain(`"target_money":{"currency":"CNY","amount":${wire}}`);
      const body = { ...createBody(number), lockRateId: textAt(quoted.json, 'data.lock_rate_id') };
      const created = await service.call('POST', '/v2/b2b/currents/createCnyOrder', {
        rawBody: JSON.stringify(body).replace('"amount":712.34', `"amount":${amount}`),
      });
      expect(created.text).toContain(`"targetMoney":{"currency":"CNY","amount":${wire}}`);
      const result = await service.untilStatus(number, 'SUCCESS');
      expect(result.text).toContain(`"receive_target_amount":${wire}`);
      expect((await service.detail(number)).text).toContain(`"target_amount":${wire}`);
      expect(service.control.ledgerOf(number).orders[0]?.target.amount).toBe(wire);
    },
  );

  test('shows a balance of 9999999999999999.99 exactly, and subtracts a debit exactly', async () => {
    const payer_id = newPartnerOrderId();
    const quoted = await service.quote({ payer_id });
    expect(quoted.text).toContain('"avail_money":{"currency":"USD","amount":9999999999999999.99}');
    const lockRateId = textAt(quoted.json, 'data.lock_rate_id');
    await service.create({ ...createBody(newPartnerOrderId()), lockRateId, platform: 'sim:stuck' });
    expect((await service.quote({ payer_id })).text).toContain('"amount":9999999999999899.49}');
  });

  test.each(['1e3', '1.001', '99999999999999999', '-1', '0', '"5"', 'null'])(
    'refuses the amount %s',
    async (amount) => {
      const reply = await service.call('POST', '/v1/payments/fee', {
        rawBody: `{"instructed_amount":{"currency":"CNY","amount":${amount}},"exchange":{"origin_currency":"USD","target_currency":"CNY"},"payer_id":"p","type":"WITHDRAW"}`,
      });
      expect(reply.json).toMatchObject({ code: 900002 });
    },
  );
});

describe('conversion', () => {
  test('rounds half up in both directions', () => {
    const rate = parseRate('0.005') ?? expect.fail('no rate');
    expect([convertForward(100n, rate), convertForward(99n, rate), convertForward(300n, rate)]).toEqual([
      1n,
      0n,
      2n,
    ]);
    expect(convertBack(100n, parseRate('8') ?? rate)).toBe(13n);
  });

  test.each(['', '0', 'x', '1.', '-1', '1e2'])('rejects the rate %j', (text) => {
    expect(parseRate(text)).toBeUndefined();
  });
});
