import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ApiOperation } from '../../src/payments/operations.ts';
import { toIso } from '../../src/payments/wire/timestamps.ts';
import { clientFor, failureOf } from './support/client.ts';
import { callOf, DATA, successBody } from './support/samples.ts';
import { answers, startServer } from './support/server.ts';

/** The answer to `operation` when the service's record is `data`. */
async function read(operation: ApiOperation, data: string): Promise<unknown> {
  const server = await startServer(answers(200, successBody(operation, data)));
  return callOf(clientFor(server.origin), operation);
}

async function refusedField(operation: ApiOperation, data: string): Promise<unknown> {
  const server = await startServer(answers(200, successBody(operation, data)));
  const error = await failureOf(callOf(clientFor(server.origin), operation));
  return 'field' in error ? error.field : error.message;
}

const without = (data: string, field: string) =>
  data.replace(new RegExp(`"${field}":("[^"]*"|[^,}]+),?`), '').replace(',}', '}');
const replaced = (data: string, field: string, value: string) =>
  data.replace(new RegExp(`"${field}":("[^"]*"|[^,}]+)`), `"${field}":${value}`);

describe("the specification's samples are read", () => {
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

  test('a quote whose lock is called lock_fee_id, and one in an envelope', async () => {
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

  test('a receiving account keeps unknown fields, numbers with all their digits', async () => {
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

describe('trade details come in several shapes', () => {
  const detail = (debits: string | undefined, splits: string | undefined) => {
    const data = DATA.tradeDetail.replace(/"pay_account_detail".*$/s, '');
    const parts = [
      debits !== undefined && `"pay_account_detail":${debits}`,
      splits !== undefined && `"pay_distribute_detail":${splits}`,
    ].filter(Boolean);
    return `${data.replace(/,\s*$/, '')}${parts.length > 0 ? ',' : ''}${parts.join(',')}}`;
  };

  test.each(['[]', 'null', '{}', '""', undefined])(
    'H23 %s means that there are none, and no zero is invented',
    async (none) => {
      const answer = await read('tradeDetail', detail(none, none));
      expect(answer).toMatchObject({ debits: [], splits: [] });
      expect(answer).not.toHaveProperty('received');
    },
  );

  test.each([
    [DEBIT, SPLIT],
    [`[${DEBIT}]`, `[${SPLIT}]`],
  ])('an object is one entry, as an array of one is', async (debits, splits) => {
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

  test('a bad entry is named with its place', async () => {
    const bad = SPLIT.replace('"5.5"', '"5.555"');
    expect(await refusedField('tradeDetail', detail('[]', `[${SPLIT},${bad}]`))).toBe(
      'data.pay_distribute_detail.1.target_amount',
    );
    expect(await refusedField('tradeDetail', detail('"x"', '[]'))).toBe('data.pay_account_detail.0');
  });

  test('H22 refund_flag is read as boolean or text, and nothing else', async () => {
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
});

describe('H15 an answer about something else is no answer', () => {
  test.each([
    ['tradeResult', 'client_id', 'data.client_id'],
    ['tradeResult', 'partner_order_id', 'data.partner_order_id'],
    ['tradeDetail', 'client_id', 'data.client_id'],
    ['tradeDetail', 'partner_order_id', 'data.partner_order_id'],
    ['accounts', 'client_id', 'data.client_id'],
    ['payoutOrder', 'orderId', 'data.orderId'],
  ] as const)('H15 %s with another %s', async (operation, field, path) => {
    expect(await refusedField(operation, replaced(DATA[operation], field, '"someone-else"'))).toBe(path);
  });

  test('H15 a create answered with another number is ambiguous, without one it is not', async () => {
    const other = successBody('createPayout', replaced(DATA.createPayout, 'outOrderId', '"P-2"'));
    const server = await startServer(answers(200, other));
    const error = await failureOf(callOf(clientFor(server.origin), 'createPayout'));
    expect(error).toMatchObject({ code: 'AMBIGUOUS', mayHaveTakenEffect: true });
    expect(error.message).toContain('receiver.outOrderId');
    expect(await read('createPayout', replaced(DATA.createPayout, 'outOrderId', 'null'))).toMatchObject({
      orderId: 'O-1',
    });
  });

  test('H15 a refreshed token of another user is not believed', async () => {
    const server = await startServer(answers(200, successBody('refreshUserToken')));
    const client = clientFor(server.origin);
    expect((await failureOf(client.refreshUserToken('r', { openId: 'U-2' }))).code).toBe('AMBIGUOUS');
    expect(await client.refreshUserToken('r', { openId: 'U-1' })).toMatchObject({ openId: 'U-1' });
  });
});

describe('H24 statuses are kept as written', () => {
  test('H24 any status of at most 16 and any audit status of at most 32 characters', async () => {
    for (const [status, audit] of [
      ['PROCESSING', 'RETURNED'],
      ['WHAT_IS_THIS', 'DECLINED'],
      ['x'.repeat(16), 'y'.repeat(32)],
    ] as const) {
      const data = replaced(
        replaced(DATA.tradeResult, 'status', `"${status}"`),
        'audit_status',
        `"${audit}"`,
      );
      expect(await read('tradeResult', data)).toMatchObject({ status, auditStatus: audit });
    }
  });

  test('H24 longer ones, numbers and nothing are refused by name', async () => {
    for (const bad of ['""', 'null', '7', `"${'x'.repeat(17)}"`])
      expect(await refusedField('tradeResult', replaced(DATA.tradeResult, 'status', bad))).toBe(
        'data.status',
      );
    const audit = replaced(DATA.tradeResult, 'audit_status', `"${'y'.repeat(33)}"`);
    expect(await refusedField('tradeResult', audit)).toBe('data.audit_status');
    expect(await read('tradeResult', without(DATA.tradeResult, 'audit_status'))).not.toHaveProperty(
      'auditStatus',
    );
  });

  test.each([
    'order_id',
    'client_id',
    'partner_order_id',
    'complete_flag',
    'target_currency',
    'failed_target_amount',
  ])('a result without %s is refused by name', async (field) => {
    expect(await refusedField('tradeResult', without(DATA.tradeResult, field))).toBe(`data.${field}`);
  });

  test('lengths: ids over 64 and currencies over 3 (result) or 8 (detail) are refused, descriptions cut', async () => {
    const long = `"${'i'.repeat(65)}"`;
    expect(await refusedField('tradeResult', replaced(DATA.tradeResult, 'order_id', long))).toBe(
      'data.order_id',
    );
    const four = replaced(DATA.tradeResult, 'target_currency', '"CNYX"');
    expect(await refusedField('tradeResult', four)).toBe('data.target_currency');
    expect(await read('tradeDetail', replaced(DATA.tradeDetail, 'target_currency', '"CNYX"'))).toBeTruthy();
    const wordy = DATA.tradeResult.replace('{', `{"error_msg":"${'m'.repeat(300)}",`);
    expect(await read('tradeResult', wordy)).toMatchObject({ errorMessage: 'm'.repeat(128) });
  });
});

describe('H25 times are read by magnitude and never hide a result', () => {
  test.each<[string, string | undefined]>([
    ['1700000000', '2023-11-14T22:13:20.000Z'],
    ['1700000000123', '2023-11-14T22:13:20.123Z'],
    ['"1700000000"', '2023-11-14T22:13:20.000Z'],
    ['" 1700000000123 "', '2023-11-14T22:13:20.123Z'],
    ...['""', 'null', '0', '-5', '1.5', '"soon"', 'true', '{}', '[]', '1e12', '9999999999999999'].map(
      (written): [string, undefined] => [written, undefined],
    ),
  ])('H25 create_time %s', async (written, meant) => {
    const answer = await read('tradeResult', DATA.tradeResult.replace('1700000000,', `${written},`));
    expect(answer).toMatchObject({ status: 'SUCCESS' });
    if (meant === undefined) expect(answer).not.toHaveProperty('createdAt');
    else expect(answer).toHaveProperty('createdAt', meant);
  });

  test('H25 no value at all makes the reader throw', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const iso = toIso(value);
        expect(iso === undefined || !Number.isNaN(Date.parse(iso))).toBe(true);
      }),
    );
  });
});
