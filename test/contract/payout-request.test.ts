import { describe, expect, test } from 'vitest';
import { checkPayoutRequest } from '../../src/contract/payout-request.ts';
import { createPayoutRequest } from '../../src/payments/wire/requests.ts';
import { payoutOrderResponse } from '../../src/payments/wire/responses.ts';
import { payoutRequest } from '../support/requests.ts';

const valid = payoutRequest('p-1');

function problems(body: unknown): string[] {
  const checked = checkPayoutRequest(body);
  return checked.ok ? [] : checked.errors.map(({ path }) => path);
}

describe('payout requests are validated', () => {
  test('fills in defaults and normalizes amounts to two decimals', () => {
    const checked = checkPayoutRequest({ ...valid, instructedAmount: { currency: 'CNY', amount: '10' } });
    expect(checked).toMatchObject({
      ok: true,
      value: { app: 'default', approval: 'none', instructedAmount: { currency: 'CNY', amount: '10.00' } },
    });
  });

  test('names every bad field at once', () => {
    const body = {
      ...valid,
      clientId: '',
      partnerOrderId: 'x'.repeat(65),
      type: 'GIFT',
      receiver: { ...valid.receiver, bankName: 7 },
      surprise: true,
    };
    expect(problems(body).sort()).toEqual([
      'clientId',
      'partnerOrderId',
      'receiver.bankName',
      'surprise',
      'type',
    ]);
  });

  test.each([
    ['a JSON number', 10.5],
    ['three decimals', '10.001'],
    ['an exponent', '1e3'],
    ['a negative', '-1'],
    ['a plus sign', '+1'],
    ['zero', '0.00'],
    ['17 digits', '12345678901234567'],
    ['a comma', '10,50'],
    ['white space', ' 10'],
    ['nothing', ''],
    ['not a number', 'NaN'],
    ['other digits', '١٠'],
  ])('H14 rejects %s as an amount', (_name, amount) => {
    expect(problems({ ...valid, instructedAmount: { currency: 'CNY', amount } })).toEqual([
      'instructedAmount.amount',
    ]);
  });

  test('H14 accepts the largest amount with every digit', () => {
    const checked = checkPayoutRequest({
      ...valid,
      instructedAmount: { currency: 'CNY', amount: '9999999999999999.99' },
    });
    expect(checked.ok && checked.value.instructedAmount.amount).toBe('9999999999999999.99');
  });

  test.each([null, undefined, 7, 'text', [], {}])('rejects %j, which is not a request', (body) => {
    expect(problems(body).length).toBeGreaterThan(0);
  });

  test.each(["p'1", 'p"1', 'p\\1', 'p`1', 'p\n1', ' p1', 'p1 '])(
    'rejects the partnerOrderId %j',
    (partnerOrderId) => {
      expect(problems({ ...valid, partnerOrderId })).toEqual(['partnerOrderId']);
    },
  );

  test('H220 requires the amount in the currency in which it is received', () => {
    for (const currency of ['EUR', valid.originCurrency])
      expect(problems({ ...valid, instructedAmount: { currency, amount: '1' } })).toEqual([
        'instructedAmount.currency',
      ]);
  });

  test('H220 requires a target currency that the provider takes, by default CNY', () => {
    const euros = {
      ...{ ...valid, targetCurrency: 'EUR', instructedAmount: { currency: 'EUR', amount: '1' } },
      receiver: { ...valid.receiver, bankAccountCurrency: 'EUR' },
    };
    expect(problems(euros)).toEqual(['targetCurrency']);
    expect(checkPayoutRequest(euros, ['CNY', 'EUR']).ok).toBe(true);
    expect(checkPayoutRequest(valid, ['EUR']).ok).toBe(false);
  });

  test('requires limits in the currencies of the payout', () => {
    expect(problems({ ...valid, limits: { maxPay: { currency: 'CNY', amount: '1' } } })).toEqual([
      'limits.maxPay.currency',
    ]);
  });

  test('requires an offset in notBefore', () => {
    expect(problems({ ...valid, notBefore: '2026-01-01T00:00:00' })).toEqual(['notBefore']);
    expect(problems({ ...valid, notBefore: '2026-01-01T00:00:00+08:00' })).toEqual([]);
  });

  test.each(['clientId', 'payerId', 'partnerOrderId', 'remittancePurposeCode', 'platform', 'openId'])(
    'rejects half of a surrogate pair in %s, which could not be transmitted',
    (field) => {
      expect(problems({ ...valid, [field]: 'x\ud800' })).toEqual([field]);
    },
  );

  test('H136 the longest accepted text can be sent, and read back from the order', () => {
    const long = 'x'.repeat(256);
    const names = { bankName: long, bankAccountName: long, bankBranchName: long, province: long, city: long };
    const body = { ...valid, platform: long, receiver: { ...valid.receiver, ...names } };
    expect(problems(body)).toEqual([]);
    const { clientId: _client, payerId: _payer, ...sent } = body;
    expect(createPayoutRequest.safeParse({ ...sent, lockRateId: 'L-1' }).error).toBeUndefined();
    const order = {
      ...{ orderId: 'O-1', status: 'pending', receiver: names },
      ...{ payMoney: { currency: 'USD', amount: '1' }, targetMoney: { currency: 'CNY', amount: '7' } },
      serviceCharge: { finalFee: { currency: 'USD', amount: '0' } },
    };
    expect(payoutOrderResponse.safeParse(order).data).toMatchObject({
      bankName: long,
      bankAccountName: long,
    });
  });
});
