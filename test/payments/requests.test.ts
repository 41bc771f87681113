import { describe, expect, test } from 'vitest';
import type { PaymentsClient } from '../../src/payments/client.ts';
import { type ApiOperation, OPERATION_NAMES } from '../../src/payments/operations.ts';
import type { PaymentsClientOptions } from '../../src/payments/options.ts';
import { clientFor, failureOf } from './support/client.ts';
import { CREATE, callOf, KEY, QUOTE, successBody } from './support/samples.ts';
import { answers, type SeenRequest, startServer } from './support/server.ts';

async function sent(
  operation: ApiOperation,
  options: Partial<PaymentsClientOptions> = {},
  openId?: string,
): Promise<SeenRequest> {
  const server = await startServer(answers(200, successBody(operation)));
  await callOf(clientFor(server.origin, options), operation, openId === undefined ? {} : { openId });
  const [request] = server.seen;
  if (!request) throw new Error('nothing was sent');
  return request;
}

describe('requests match the specification', () => {
  test.each([
    ['ping', 'GET', '/v2/httpbin/get'],
    ['exchangeCode', 'POST', '/v3/b2b/oauth/token'],
    ['refreshUserToken', 'POST', '/v3/b2b/oauth/token'],
    ['applicationToken', 'GET', '/v2/token/get?app_id=app-1&app_secret=app-secret'],
    ['openReceivingAccount', 'POST', '/v1/accounts/receiving-account'],
    ['receivingAccountBalance', 'GET', '/v1/accounts/receiving-account/payer-1/USD'],
    ['receivingAccountDetail', 'GET', '/v1/payments/receving-account/A-1'],
    ['quote', 'POST', '/v1/payments/fee'],
    ['createPayout', 'POST', '/v2/b2b/currents/createCnyOrder'],
    ['payoutOrder', 'GET', '/v2/b2b/currents/queryDetail/O-1'],
    ['tradeResult', 'POST', '/v1/mid-open-api/trade/payout/queryResult'],
    ['tradeDetail', 'POST', '/v1/mid-open-api/trade/payout/queryPayDetail'],
    ['accounts', 'POST', '/v1/mid-open-api/account/query'],
  ] as const)('%s is %s %s', async (operation, method, url) => {
    const request = await sent(operation);
    expect([request.method, request.url]).toEqual([method, url]);
    expect(request.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(request.headers['content-type']).toBe(method === 'POST' ? 'application/json' : undefined);
  });

  test('bodies', async () => {
    expect(JSON.parse((await sent('exchangeCode')).body)).toEqual({
      app_id: 'app-1',
      app_secret: 'app-secret',
      grant_type: 'authorization_code',
      code: 'auth-code',
    });
    expect(JSON.parse((await sent('refreshUserToken')).body)).toMatchObject({
      grant_type: 'refresh_token',
      refresh_token: 'refresh',
    });
    expect((await sent('openReceivingAccount')).body).toBe('{"payer_id":"p","currency":"USD"}');
    expect((await sent('quote')).body).toBe(
      '{"instructed_amount":{"currency":"CNY","amount":700.00},"exchange":{"origin_currency":"USD",' +
        '"target_currency":"CNY"},"payer_id":"payer-1","type":"WITHDRAW"}',
    );
    expect((await sent('tradeResult')).body).toBe('{"client_id":"C-1","partner_order_id":"P-1"}');
    expect((await sent('accounts')).body).toBe('{"client_id":"C-1"}');
  });

  test('H3 the same create request gives the same bytes', async () => {
    const [first, second] = [await sent('createPayout'), await sent('createPayout')];
    expect(first.body).toBe(second.body);
    const { partnerOrderId, originCurrency, targetCurrency, ...rest } = CREATE;
    expect(JSON.parse(first.body)).toEqual({
      ...rest,
      outOrderId: partnerOrderId,
      exchange: { originCurrency, targetCurrency },
      instructedAmount: { currency: 'CNY', amount: 700 },
    });
  });
});

describe('tokens are sent where the settings say', () => {
  const tradeOps: readonly ApiOperation[] = ['tradeResult', 'tradeDetail', 'accounts'];
  const tokenless: readonly ApiOperation[] = ['exchangeCode', 'refreshUserToken', 'applicationToken'];

  test.each(OPERATION_NAMES)('%s', async (operation) => {
    const settings = { gatewayToken: 'user', tradeToken: 'application', tradeAuthScheme: 'none' } as const;
    const { headers } = await sent(operation, settings, 'U-1');
    const gateway = tokenless.includes(operation) ? undefined : 'Bearer user-tokenU-1';
    expect(headers.authorization).toBe(tradeOps.includes(operation) ? 'application-token' : gateway);
  });

  test('H243 a call has the token of its turn, and not the one from before its wait', async () => {
    const server = await startServer(answers(200, successBody('createPayout')));
    let text = 'old';
    const tokens = { token: async () => text };
    const gate = {
      pass: async () => {
        // A renewal during the wait, with which the provider revokes the old token.
        text = 'new';
      },
    };
    await clientFor(server.origin, { tokens, gate }).createPayout(CREATE);
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer new']);
  });

  test('H243 a call that has lost its token during its wait is not sent after its deadline', async () => {
    const server = await startServer(answers(200, successBody('createPayout')));
    const known = [Promise.resolve('old')];
    const tokens = { token: () => known.pop() ?? new Promise<string>(() => undefined) };
    const deadline = performance.now() + 50;
    const error = await failureOf(clientFor(server.origin, { tokens }).createPayout(CREATE, { deadline }));
    expect(error).toMatchObject({ code: 'NOT_SENT', reason: 'deadline' });
    expect(server.seen).toEqual([]);
  });

  const unwritable = ['a token', 'töken', 'token\n', ''];
  test.each(unwritable)(
    'H133 does not send a token that no header can carry, %j, and counts it as rejected',
    async (text) => {
      const server = await startServer(answers(200, successBody('accounts')));
      const rejected: unknown[] = [];
      const tokens = {
        token: async () => text,
        rejected: (...token: unknown[]) => void rejected.push(token),
      };
      const failure = await failureOf(callOf(clientFor(server.origin, { tokens }), 'accounts'));
      expect(failure).toMatchObject({ code: 'NOT_SENT' });
      expect(failure.message).toBe('accounts: not sent (token: UnwritableToken)');
      expect(rejected).toEqual([['application', undefined, text]]);
      expect(server.seen).toEqual([]);
    },
  );

  test('H15 never uses a user token without its user', async () => {
    const server = await startServer(answers(200, successBody('quote')));
    const error = await failureOf(clientFor(server.origin, { gatewayToken: 'user' }).quote(QUOTE));
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', fields: [{ path: 'openId' }] });
    expect(server.seen).toHaveLength(0);
  });

  test('H44 reports a rejected token with its user, also from an ambiguous create', async () => {
    const server = await startServer(answers(401, ''));
    const rejected: unknown[] = [];
    const tokens = {
      token: async () => 'old',
      rejected: (...told: unknown[]) => void rejected.push(told),
    };
    const client = clientFor(server.origin, { tokens, gatewayToken: 'user' });
    expect((await failureOf(client.createPayout(CREATE, { openId: 'U-1' }))).code).toBe('AMBIGUOUS');
    expect((await failureOf(client.tradeResult(KEY))).code).toBe('UNAUTHORIZED');
    expect(rejected).toEqual([
      ['user', 'U-1', 'old'],
      ['application', undefined, 'old'],
    ]);
  });
});

describe('validation before the send', () => {
  const long = 'x'.repeat(65);
  test.each<[string, (client: PaymentsClient) => Promise<unknown>, string[]]>([
    ['number over 64', (c) => c.createPayout({ ...CREATE, partnerOrderId: long }), ['partnerOrderId']],
    ['unknown type', (c) => c.createPayout({ ...CREATE, type: 'GIFT' }), ['type']],
    [
      'empty and missing',
      (c) => c.createPayout({ ...CREATE, lockRateId: '', originCurrency: 'U$' }),
      ['lockRateId', 'originCurrency'],
    ],
    [
      'receiver',
      (c) => c.createPayout({ ...CREATE, receiver: { ...CREATE.receiver, bankName: 'a\u0000' } }),
      ['receiver.bankName'],
    ],
    [
      'trade key',
      (c) => c.tradeResult({ clientId: long, partnerOrderId: '' }),
      ['clientId', 'partnerOrderId'],
    ],
    ['extra info', (c) => c.accounts({ clientId: 'C', extraInfo: '{' }), ['extraInfo']],
    ['half a character', (c) => c.quote({ ...QUOTE, payerId: '\ud800' }), ['payerId']],
  ])('rejects %s and sends nothing', async (_name, call, paths) => {
    const server = await startServer(answers(200, '{}'));
    const error = await failureOf(call(clientFor(server.origin)));
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', fields: paths.map((path) => ({ path })) });
    expect(server.seen).toHaveLength(0);
  });
});

describe('the authorization link', () => {
  test('uses the spelling of the table, or that of the sample links', async () => {
    const client = clientFor('https://gw.example', { authUrl: 'https://auth.example/web/' });
    expect(client.authorizationUrl({ state: 'a b&c' }).href).toBe(
      'https://auth.example/web/entrance/authorization?app_id=app-1&response_type=code' +
        '&redirect_uri=https%3A%2F%2Fshop.example%2Fcallback&state=a+b%26c',
    );
    expect(client.authorizationUrl({ spelling: 'camel' }).search).toMatch(
      /^\?appId=app-1&responseType=code&redirectUri=[^&]+$/,
    );
  });
});
