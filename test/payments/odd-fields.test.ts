import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { timestampToIso } from '../../src/payments/wire/scalars.ts';
import { clientFor, failureOf } from './support/client.ts';
import { read, refusedField, replaced, without } from './support/records.ts';
import { callOf, DATA, successBody } from './support/samples.ts';
import { answers, startServer } from './support/server.ts';

describe('H15 an answer about another object is rejected', () => {
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

  test('H15 a create answered with another id is ambiguous; without an id it is not', async () => {
    const other = successBody('createPayout', replaced(DATA.createPayout, 'outOrderId', '"P-2"'));
    const server = await startServer(answers(200, other));
    const error = await failureOf(callOf(clientFor(server.origin), 'createPayout'));
    expect(error).toMatchObject({ code: 'AMBIGUOUS', mayHaveTakenEffect: true });
    expect(error.message).toContain('receiver.outOrderId');
    expect(await read('createPayout', replaced(DATA.createPayout, 'outOrderId', 'null'))).toMatchObject({
      orderId: 'O-1',
    });
  });

  test('H15 rejects a refreshed token of another user', async () => {
    const server = await startServer(answers(200, successBody('refreshUserToken')));
    const client = clientFor(server.origin);
    expect((await failureOf(client.refreshUserToken('r', { openId: 'U-2' }))).code).toBe('AMBIGUOUS');
    expect(await client.refreshUserToken('r', { openId: 'U-1' })).toMatchObject({ openId: 'U-1' });
  });
});

describe('H24 statuses are kept verbatim', () => {
  test('H24 accepts any status of up to 16 and any audit status of up to 32 characters', async () => {
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

  test('H24 rejects longer statuses, numbers and missing values by field name', async () => {
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
  ])('rejects a result without %s by field name', async (field) => {
    expect(await refusedField('tradeResult', without(DATA.tradeResult, field))).toBe(`data.${field}`);
  });

  test('rejects ids over 64 and currencies over 3 (result) or 8 (detail) characters, and truncates descriptions', async () => {
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

describe("H17 one unreadable row does not spoil the answer about a client's accounts", () => {
  const good =
    '{"account_type":"AVAIL_ACCOUNT","avail_balance":1,"frozen_balance":0,"currency":"USD","account_status":"NORMAL"}';
  const rows = (...all: string[]) => `{"client_id":"C-1","account_info_list":[${all.join()}]}`;
  const usd = { accountType: 'AVAIL_ACCOUNT', currency: 'USD', status: 'NORMAL' };

  test.each([
    ['no status', without(good, 'account_status'), { currency: 'USD', accountType: 'AVAIL_ACCOUNT' }],
    [
      'a currency that is no code',
      replaced(good, 'currency', '" US-Dollars "'),
      { currency: 'US-Dollars', accountType: 'AVAIL_ACCOUNT' },
    ],
    ['no currency', replaced(good, 'currency', 'null'), { accountType: 'AVAIL_ACCOUNT' }],
    ['a number for its type', replaced(good, 'account_type', '7'), { currency: 'USD' }],
    ['nothing in it', '{}', {}],
    ['null', 'null', {}],
    ['text', '"AVAIL_ACCOUNT"', {}],
    ['a number', '7.50', {}],
    ['a list', '[1]', {}],
  ])('H17 %s: sets the row aside with the names it has, and reads the others', async (_what, odd, named) => {
    expect(await read('accounts', rows(odd, good))).toMatchObject({ accounts: [usd], unread: [named] });
  });

  test('H17 an answer without unreadable rows lists none; an invalid list is rejected', async () => {
    expect(await read('accounts', rows(good))).not.toHaveProperty('unread');
    expect(await refusedField('accounts', '{"client_id":"C-1","account_info_list":{}}')).toBe(
      'data.account_info_list',
    );
  });
});

describe('H223 a balance of any sign and scale is read, and an unreadable one hides nothing else', () => {
  test.each<[string, string | undefined]>([
    ['1.0E7', '10000000.00'],
    ['1E+7', '10000000.00'],
    ['"1.005E3"', '1005.00'],
    ['-0.01', '-0.01'],
    ['-5', '-5.00'],
    ['12345678.125', '12345678.125'],
    ['1E-3', '0.001'],
    ['99999999999999999999.99', '99999999999999999999.99'],
    ...['null', '""', '"1,000.00"', '1E99', '"n/a"', 'true', '{}'].map((written): [string, undefined] => [
      written,
      undefined,
    ]),
  ])('%s', async (written, meant) => {
    const usd = meant === undefined ? {} : { available: { currency: 'USD', amount: meant } };
    const accounts = await read('accounts', replaced(DATA.accounts, 'avail_balance', written));
    expect(accounts).toEqual({
      clientId: 'C-1',
      accounts: [
        {
          accountType: 'AVAIL_ACCOUNT',
          ...usd,
          currency: 'USD',
          status: 'NORMAL',
          frozen: { currency: 'USD', amount: '0.00' },
        },
      ],
    });
    const quoted = await read('quote', DATA.quote.replace('"amount":5000', `"amount":${written}`));
    expect(quoted).toMatchObject({ lockRateId: 'L-1', ...usd });
    if (meant === undefined) expect(quoted).not.toHaveProperty('available');
  });
});

describe('H25 times are read by magnitude and never hide a result', () => {
  test.each<[string, string | undefined]>([
    ['1700000000', '2023-11-14T22:13:20.000Z'],
    ['1700000000123', '2023-11-14T22:13:20.123Z'],
    ['"1700000000"', '2023-11-14T22:13:20.000Z'],
    ['" 1700000000123 "', '2023-11-14T22:13:20.123Z'],
    ['1.7E12', '2023-11-14T22:13:20.000Z'],
    ...['""', 'null', '0', '-5', '1.5', '"soon"', 'true', '{}', '[]', '1e16', '9999999999999999'].map(
      (written): [string, undefined] => [written, undefined],
    ),
  ])('H25 create_time %s', async (written, meant) => {
    const answer = await read('tradeResult', DATA.tradeResult.replace('1700000000,', `${written},`));
    expect(answer).toMatchObject({ status: 'SUCCESS' });
    if (meant === undefined) expect(answer).not.toHaveProperty('createdAt');
    else expect(answer).toHaveProperty('createdAt', meant);
  });

  test('H25 no value makes the reader throw', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const iso = timestampToIso(value);
        expect(iso === undefined || !Number.isNaN(Date.parse(iso))).toBe(true);
      }),
    );
  });
});
