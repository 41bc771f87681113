import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { PaymentsClient } from '../../src/payments/client.ts';
import { safeServiceCode } from '../../src/payments/errors.ts';
import { type ApiOperation, OPERATION_NAMES } from '../../src/payments/operations.ts';
import type { CallEvent, PaymentsClientOptions } from '../../src/payments/options.ts';
import { clientFor, failureOf } from './support/client.ts';
import { CREATE, successBody } from './support/samples.ts';
import { answers, deadOrigin, type Script, startServer } from './support/server.ts';

const CANARY = 'CANARY7c1e';

/** The canary is in every secret and every personal field of every operation. */
const CALLS: Record<ApiOperation, (client: PaymentsClient) => Promise<unknown>> = {
  ping: (client) => client.ping(),
  exchangeCode: (client) => client.exchangeCode(`code-${CANARY}`),
  refreshUserToken: (client) => client.refreshUserToken(`refresh-${CANARY}`),
  applicationToken: (client) => client.applicationToken(),
  openReceivingAccount: (client) => client.openReceivingAccount({ payerId: CANARY, currency: 'USD' }),
  receivingAccountBalance: (client) => client.receivingAccountBalance(CANARY, 'USD'),
  receivingAccountDetail: (client) => client.receivingAccountDetail(CANARY),
  quote: (client) =>
    client.quote({
      payerId: CANARY,
      type: 'WITHDRAW',
      instructedAmount: { currency: 'CNY', amount: '1' },
      originCurrency: 'USD',
      targetCurrency: 'CNY',
    }),
  createPayout: (client) => client.createPayout({ ...CREATE, receiver: personal() }),
  payoutOrder: (client) => client.payoutOrder(CANARY),
  tradeResult: (client) => client.tradeResult({ clientId: CANARY, partnerOrderId: CANARY }),
  tradeDetail: (client) => client.tradeDetail({ clientId: CANARY, partnerOrderId: CANARY }),
  accounts: (client) => client.accounts({ clientId: CANARY }),
};

/** Each answers with the canary wherever an error could quote it. */
const FAULTS: Record<string, Script> = {
  success: (request, response) => {
    const operation = request.url.includes('createCny') ? 'createPayout' : 'tradeResult';
    response.end(successBody(operation));
  },
  'quoted in every place': answers(
    200,
    `{"code":"${CANARY.repeat(9)}","message":"${CANARY}","data":{"${CANARY}":"${CANARY}"}}`,
  ),
  'a bad success': answers(
    200,
    `{"code":0,"message":"${CANARY}","data":{"order_id":"${CANARY}","orderId":7}}`,
  ),
  'style B, bad': answers(200, `{"code":200,"message":"${CANARY}","data":{"client_id":"${CANARY}"}}`),
  limited: answers(429, CANARY),
  unauthorized: answers(401, `{"code":401,"message":"${CANARY}"}`),
  system: answers(200, `{"code":900000,"message":"${CANARY}"}`),
  illegal: answers(200, `{"code":900002,"message":"${CANARY}"}`),
  'no order': answers(200, `{"code":900004,"message":"${CANARY}"}`),
  redirect: answers(307, '', { location: `/v2/token/get?app_secret=${CANARY}` }),
  html: answers(502, `<html>${CANARY}</html>`),
  reset: (_request, response) => response.socket?.resetAndDestroy(),
  'no HTTP': (_request, response) => response.socket?.end(`${CANARY} is no HTTP\r\n\r\n`),
  silence: () => undefined,
  'a stalled body': (_request, response) => response.writeHead(200, { 'content-length': '99' }).write(CANARY),
};

describe('H45 errors and events contain no secret and no personal data', () => {
  test.each(Object.keys(FAULTS))('H45 %s', async (fault) => {
    const server = await startServer(FAULTS[fault] ?? answers(500, ''));
    await everyOperationIsSilent(server.origin, fault);
  });

  test('H45 connection refused, unknown host, no TLS', async () => {
    const plain = await startServer(answers(200, '{}'));
    const dead = await deadOrigin();
    for (const origin of [dead, 'https://no-such-host.invalid', plain.origin.replace('http:', 'https:')])
      await everyOperationIsSilent(origin, origin);
  });

  test('H45 a token source, gate or signer whose error quotes its secret', async () => {
    const quoting = () => Promise.reject(new Error(`bad ${CANARY}`, { cause: CANARY }));
    for (const broken of [{ gate: { pass: quoting } }, { signer: { sign: quoting } }])
      await everyOperationIsSilent((await startServer(answers(500, ''))).origin, 'quoting', broken);
    await everyOperationIsSilent(await deadOrigin(), 'tokens', { tokens: { token: quoting } });
  });

  test('H45 a request that validation rejects', async () => {
    const client = clientFor(await deadOrigin(), { appSecret: CANARY });
    const bad = { ...CREATE, type: CANARY, receiver: { ...personal(), idCardNumber: `${CANARY}\n` } };
    const errors = [
      await failureOf(client.createPayout(bad)),
      await failureOf(client.payoutOrder(`../${CANARY}`)),
      await failureOf(client.exchangeCode(`${CANARY}\n`)),
      await failureOf(client.accounts({ clientId: 'C', extraInfo: CANARY })),
    ];
    for (const error of errors) expect(error.code).toBe('INVALID_REQUEST');
    for (const error of errors) expectSilent(error, error.operation);
  });
});

async function everyOperationIsSilent(
  origin: string,
  fault: string,
  options: Partial<PaymentsClientOptions> = {},
): Promise<void> {
  const events: CallEvent[] = [];
  const client = clientFor(origin, {
    appSecret: `secret-${CANARY}`,
    tokens: { token: async () => `token-${CANARY}` },
    timeouts: { totalMs: 250 },
    onCall: (event) => events.push(event),
    ...options,
  });
  await Promise.all(
    OPERATION_NAMES.map(async (operation) => {
      const error: unknown = await CALLS[operation](client).catch((thrown: unknown) => thrown);
      expectSilent(error, `${operation}: ${fault}`, error instanceof Error);
    }),
  );
  expect(events).toHaveLength(OPERATION_NAMES.length);
  expect(JSON.stringify(events) + inspect(client, { depth: 10, showHidden: true })).not.toContain(CANARY);
}

function expectSilent(error: unknown, where: string, isError = true): void {
  if (!isError) return;
  const stack = error instanceof Error ? error.stack : '';
  const everything = [
    String(error),
    stack,
    JSON.stringify(error),
    inspect(error, { depth: 10, showHidden: true }),
  ];
  expect(everything.join('\n'), where).not.toContain(CANARY);
  expect(error instanceof Error && error.cause, where).toBeUndefined();
}

function personal() {
  return {
    ...CREATE.receiver,
    bankAccountNumber: `6222${CANARY}`,
    bankAccountName: CANARY,
    idCardNumber: CANARY,
    bankBranchName: CANARY,
  };
}

test('does not repeat an invalid provider code', () => {
  expect([safeServiceCode('429'), safeServiceCode('a b'), safeServiceCode('x'.repeat(33))]).toEqual([
    '429',
    'unreadable',
    'unreadable',
  ]);
});
