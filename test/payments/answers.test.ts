import { describe, expect, test } from 'vitest';
import { read, refusedField } from './support/records.ts';
import { DATA } from './support/samples.ts';

describe('the samples of the specification are read', () => {
  test('a quote', async () => {
    expect(await read('quote', DATA.quote)).toEqual({
      lockRateId: 'L-1',
      available: { currency: 'USD', amount: '5000.00' },
      exchangeRate: '7.0',
      originCurrency: 'USD',
      targetCurrency: 'CNY',
      pay: { currency: 'USD', amount: '101.50' },
      target: { currency: 'CNY', amount: '700.00' },
      fee: { currency: 'USD', amount: '1.50' },
    });
  });

  test('a quote whose lock is named lock_fee_id, and one in an envelope', async () => {
    const other = DATA.quote.replace('lock_rate_id', 'lock_fee_id');
    expect(await read('quote', other)).toMatchObject({ lockRateId: 'L-1' });
    expect(await read('quote', `{"code":0,"message":"OK","data":${other}}`)).toMatchObject({
      lockRateId: 'L-1',
    });
    const both = DATA.quote.replace('{', '{"lock_fee_id":"L-2",');
    expect(await refusedField('quote', both)).toBe('lock_rate_id');
  });

  test('a payout order', async () => {
    expect(await read('payoutOrder', DATA.payoutOrder)).toEqual({
      orderId: 'O-1',
      status: 'pending',
      pay: { currency: 'USD', amount: '101.50' },
      target: { currency: 'CNY', amount: '700.00' },
      fee: { currency: 'USD', amount: '1.50' },
      lockRateId: 'L-1',
      exchangeRate: '7.0',
      originCurrency: 'USD',
      targetCurrency: 'CNY',
      partnerOrderId: 'P-1',
      bankAccountNumber: '6222',
      bankAccountName: 'Zhang San',
    });
  });

  test('a trade result', async () => {
    expect(await read('tradeResult', DATA.tradeResult)).toEqual({
      orderId: 'O-1',
      clientId: 'C-1',
      partnerOrderId: 'P-1',
      complete: true,
      received: { currency: 'CNY', amount: '700.00' },
      failed: { currency: 'CNY', amount: '0.00' },
      targetCurrency: 'CNY',
      status: 'SUCCESS',
      auditStatus: 'APPROVED',
      createdAt: '2023-11-14T22:13:20.000Z',
      finishedAt: '2023-11-14T22:15:00.000Z',
    });
  });

  test('a receiving account keeps unknown fields, and numbers with every digit', async () => {
    expect(await read('openReceivingAccount', DATA.openReceivingAccount)).toEqual({
      id: 'R-1',
      bank: { number: '123456789012345678901234567890' },
    });
    expect(await read('receivingAccountDetail', DATA.receivingAccountDetail)).toMatchObject({
      code: 'BANK-7',
    });
    expect(await read('receivingAccountBalance', DATA.receivingAccountBalance)).toEqual({
      balance: { currency: 'USD', amount: '12.30' },
      accountIds: ['A-1', 'A-2'],
    });
  });

  test('tokens, accounts, and a client without an account', async () => {
    expect(await read('exchangeCode', DATA.exchangeCode)).toEqual({
      accessToken: 'user-token',
      openId: 'U-1',
      expiresInSeconds: 2592000,
      refreshToken: 'refresh-2',
      refreshTokenExpiresInSeconds: 15552000,
    });
    expect(await read('applicationToken', DATA.applicationToken)).toEqual({
      accessToken: 'app-token',
      expiresInSeconds: 7200,
    });
    expect(await read('accounts', 'null')).toBeNull();
    expect(await read('accounts', DATA.accounts)).toEqual({
      clientId: 'C-1',
      accounts: [
        {
          accountType: 'AVAIL_ACCOUNT',
          available: { currency: 'USD', amount: '10.50' },
          frozen: { currency: 'USD', amount: '0.00' },
          currency: 'USD',
          status: 'NORMAL',
        },
      ],
    });
  });
});

const SPLIT = `{"distribute_id":"D-1","target_currency":"CNY","target_amount":"5.5","status":"SUCCESS",
  "finish_time":"1700000000","error_msg":"","refund_reason":null,"refund_flag":"false"}`;
const DEBIT = `{"account_id":"A-1","account_type":"AVAIL_ACCOUNT","pay_currency":"USD","pay_amount":1,
  "fee_amount":0.1,"pay_actual_amount":0.9}`;

describe('trade details in several shapes', () => {
  const detail = (debits: string | undefined, splits: string | undefined) => {
    const data = DATA.tradeDetail.replace(/"pay_account_detail".*$/s, '');
    const parts = [
      debits !== undefined && `"pay_account_detail":${debits}`,
      splits !== undefined && `"pay_distribute_detail":${splits}`,
    ].filter(Boolean);
    return `${data.replace(/,\s*$/, '')}${parts.length > 0 ? ',' : ''}${parts.join(',')}}`;
  };

  test.each(['[]', 'null', '{}', '""', undefined])(
    'H23 %s means no entries, and gives no zero amount',
    async (none) => {
      const answer = await read('tradeDetail', detail(none, none));
      expect(answer).toMatchObject({ debits: [], splits: [] });
      expect(answer).not.toHaveProperty('received');
    },
  );

  test.each([
    [DEBIT, SPLIT],
    [`[${DEBIT}]`, `[${SPLIT}]`],
  ])('a single object is read as an array of one', async (debits, splits) => {
    expect(await read('tradeDetail', detail(debits, splits))).toMatchObject({
      debits: [
        {
          accountId: 'A-1',
          accountType: 'AVAIL_ACCOUNT',
          pay: { currency: 'USD', amount: '1.00' },
          fee: { currency: 'USD', amount: '0.10' },
          actual: { currency: 'USD', amount: '0.90' },
        },
      ],
      splits: [
        {
          distributeId: 'D-1',
          target: { currency: 'CNY', amount: '5.50' },
          status: 'SUCCESS',
          finishedAt: '2023-11-14T22:13:20.000Z',
          refunded: false,
        },
      ],
    });
  });

  test('names a bad entry with its index', async () => {
    const bad = SPLIT.replace('"5.5"', '"5.555"');
    expect(await refusedField('tradeDetail', detail('[]', `[${SPLIT},${bad}]`))).toBe(
      'data.pay_distribute_detail.1.target_amount',
    );
    expect(await refusedField('tradeDetail', detail('"x"', '[]'))).toBe('data.pay_account_detail.0');
  });

  test('H22 reads refund_flag as boolean or text only', async () => {
    for (const [written, meant] of [
      ['true', true],
      ['"true"', true],
      ['false', false],
    ] as const) {
      const split = SPLIT.replace('"false"', written);
      expect(await read('tradeDetail', detail('[]', split))).toMatchObject({ splits: [{ refunded: meant }] });
    }
    for (const bad of ['1', '"yes"', 'null'])
      expect(await refusedField('tradeDetail', detail('[]', SPLIT.replace('"false"', bad)))).toBe(
        'data.pay_distribute_detail.0.refund_flag',
      );
  });

  test('H245 a payment that failed was not returned, whatever its refund_flag says', async () => {
    for (const [status, refunded] of [
      ['SUCCESS', true],
      ['FAILED', false],
    ] as const) {
      const split = SPLIT.replace('"false"', 'true').replace('SUCCESS', status);
      expect(await read('tradeDetail', detail('[]', split))).toMatchObject({
        splits: [{ status, refunded }],
      });
    }
  });
});
