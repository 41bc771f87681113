/** The provider's answers, through the real client without a network. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { randomAnswer, randomRecord } from '../../simulator/answers/random-answer.ts';
import type { OperationName } from '../../simulator/faults/rules.ts';
import { type JsonObject, parseJson } from '../../simulator/json.ts';
import { pick, type Random, whole } from '../../simulator/runtime.ts';
import {
  addMoney,
  compareMoney,
  fromMinorUnits,
  normalizeAmount,
  toMinorUnits,
} from '../../src/contract/money.ts';
import { PaymentsClient } from '../../src/payments/client.ts';
import {
  exactNumberText,
  isJsonObject,
  NotJsonError,
  numbersToText,
  readExactJson,
  readPlainJson,
  writeExactJson,
} from '../../src/payments/exact-json.ts';
import {
  type ApiOperation,
  type Exchange,
  OPERATION_NAMES,
  OPERATIONS,
  PaymentsError,
  type Transport,
} from '../../src/payments/index.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { demand, type Edge, type Judge, type Verdict } from '../edge.ts';
import { seldom } from '../http.ts';
import { documents, shown } from '../inputs/documents.ts';
import { normalizedOrUndefined } from '../money.ts';

interface Input {
  operation: ApiOperation;
  exchange: Exchange;
}

/** The simulator's name of an operation, the request, and the fields that a plausible answer echoes. */
interface Asked {
  name: OperationName;
  call: (client: PaymentsClient) => Promise<unknown>;
  echo: JsonObject;
}

const money = (currency: string, amount: string) => ({ currency, amount });
const CREATE = {
  ...{ partnerOrderId: 'P-1', lockRateId: 'L-1', type: 'WITHDRAW', remittancePurposeCode: 'GOODS' },
  ...{ instructedAmount: money('CNY', '700.00'), originCurrency: 'USD', targetCurrency: 'CNY' },
  receiver: {
    ...{ bankCountry: 'CN', bankName: 'Some Bank', bankAccountCurrency: 'CNY', bankAccountName: 'Zhang San' },
    ...{
      bankAccountNumber: '6222000011112222',
      idCardNumber: '110101199003071234',
      cardHoldType: 'Personal',
    },
  },
};
const QUOTE = {
  ...{ payerId: 'payer-1', type: 'WITHDRAW', instructedAmount: money('CNY', '700.00') },
  ...{ originCurrency: 'USD', targetCurrency: 'CNY' },
};
const KEY = { clientId: 'C-1', partnerOrderId: 'P-1' };
const TRADE = { client_id: 'C-1', partner_order_id: 'P-1' };

const ASKED: Readonly<Record<ApiOperation, Asked>> = {
  ping: { name: 'httpbin', call: (client) => client.ping(), echo: {} },
  exchangeCode: { name: 'oauthToken', call: (client) => client.exchangeCode('code'), echo: {} },
  refreshUserToken: {
    name: 'oauthToken',
    call: (client) => client.refreshUserToken('refresh', { openId: 'U-1' }),
    echo: { open_id: 'U-1' },
  },
  applicationToken: { name: 'token', call: (client) => client.applicationToken(), echo: {} },
  openReceivingAccount: {
    name: 'receivingAccountCreate',
    call: (client) => client.openReceivingAccount({ payerId: 'p', currency: 'USD' }),
    echo: {},
  },
  receivingAccountBalance: {
    name: 'receivingAccountBalance',
    call: (client) => client.receivingAccountBalance('payer-1', 'USD'),
    echo: {},
  },
  receivingAccountDetail: {
    name: 'receivingAccountDetail',
    call: (client) => client.receivingAccountDetail('A-1'),
    echo: {},
  },
  quote: { name: 'fee', call: (client) => client.quote(QUOTE), echo: {} },
  createPayout: {
    name: 'createCnyOrder',
    call: (client) => client.createPayout(CREATE),
    echo: { receiver: { outOrderId: 'P-1' } },
  },
  payoutOrder: { name: 'queryDetail', call: (client) => client.payoutOrder('O-1'), echo: { orderId: 'O-1' } },
  tradeResult: { name: 'queryResult', call: (client) => client.tradeResult(KEY), echo: TRADE },
  tradeDetail: { name: 'queryPayDetail', call: (client) => client.tradeDetail(KEY), echo: TRADE },
  accounts: {
    name: 'accountQuery',
    call: (client) => client.accounts({ clientId: 'C-1' }),
    echo: { client_id: 'C-1' },
  },
};

const OPAQUE: readonly ApiOperation[] = ['openReceivingAccount', 'receivingAccountDetail'];
const STATUSES = [201, 204, 299, 301, 304, 400, 401, 403, 404, 418, 429, 500, 502, 503, 504, 599, 600, 999];
const RETRY_AFTER = [
  '0',
  '1',
  '99999',
  '100000',
  '-1',
  '1.5',
  'Wed, 21 Oct 2026 07:28:00 GMT',
  '',
  'x'.repeat(1_000),
];
const CODES = ['ECONNRESET', 'UND_ERR_SOCKET', 'TOTAL_TIMEOUT', 'BODY_TOO_LARGE'];

const about = fc.record({
  operation: fc.constantFrom(...OPERATION_NAMES),
  status: seldom(200, STATUSES),
  retryAfter: seldom<string | undefined>(undefined, RETRY_AFTER),
  broken: seldom<string | undefined>(undefined, [undefined, undefined, undefined, ...CODES]),
});

export const wire: Edge<Input> = {
  name: 'wire',
  inputs: documents((random, { operation }) => drawAnswer(random, operation), about).map(
    ({ about: how, bytes }) => {
      const { operation, status, retryAfter, broken } = how;
      const isCut = broken !== undefined && bytes.length % 2 === 0;
      if (isCut)
        return {
          operation,
          exchange: {
            kind: 'broken-response',
            status,
            transportCode: broken,
            tooLarge: broken === 'BODY_TOO_LARGE',
          },
        };
      if (broken !== undefined)
        return { operation, exchange: { kind: 'no-response', transportCode: broken } };
      return { operation, exchange: { kind: 'response', status, body: bytes, retryAfter } };
    },
  ),
  open,
  show: ({ operation, exchange }) =>
    `${operation}: ${exchange.kind} ${'status' in exchange ? exchange.status : ''} ${exchange.kind === 'response' ? shown(exchange.body) : ''}`,
};

/** Half as in the spec, in the envelope of the operation; half the simulator's random answers. */
function drawAnswer(random: Random, operation: ApiOperation): unknown {
  const { name, echo } = ASKED[operation];
  const seed = whole(random, 0, 0x7fffffff);
  if (random() < 0.5) return parsedOrText(randomAnswer(name, seed, { echo }).body);
  const record = parseJson(randomRecord(name, seed));
  const data = isJsonObject(record) ? withEcho(record, echo) : record;
  const { style } = OPERATIONS[operation];
  if (style === 'plain' && random() < 0.7) return data;
  return { code: style === 'B' ? 200 : 0, message: pick(random, ['OK', '']), data };
}

function parsedOrText(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function withEcho(record: Record<string, unknown>, echo: Record<string, unknown>): unknown {
  const inner = Object.entries(echo).map(([key, value]) => [
    key,
    isJsonObject(value) && isJsonObject(record[key]) ? { ...record[key], ...value } : value,
  ]);
  return { ...record, ...Object.fromEntries(inner) };
}

const SECRETS = ['fuzz-app-secret', 'fuzz-token', '6222000011112222', 'Zhang San'];

async function open(): Promise<Judge<Input>> {
  let exchange: Exchange = { kind: 'no-response', transportCode: 'UNKNOWN' };
  let sends = 0;
  const transport: Transport = {
    exchange: async ({ mayWrite }) => {
      if (mayWrite?.() === false) return { kind: 'withheld', reason: 'gate' };
      sends += 1;
      return exchange;
    },
    close: async () => undefined,
  };
  const client = new PaymentsClient({
    ...{
      baseUrl: 'http://127.0.0.1:9',
      authUrl: 'http://127.0.0.1:9',
      appId: 'app',
      appSecret: 'fuzz-app-secret',
    },
    tokens: { token: async () => 'fuzz-token' },
    ...{ gatewayToken: 'application', tradeToken: 'application', tradeAuthScheme: 'Bearer' },
    signer: { sign: () => ({}) },
    echo: 'visible',
    createCodes: new Map([['429', 'busy']]),
    runtime: PROCESS_RUNTIME,
    transport: () => transport,
  });
  return {
    judge: async (input) => {
      exchange = input.exchange;
      sends = 0;
      const verdict = await judged(client, input);
      demand(sends === 1, `sent ${sends} times`);
      if (exchange.kind === 'response') demandReaders(exchange.body);
      return verdict;
    },
    settle: async () => undefined,
    close: () => client.close(),
  };
}

async function judged(client: PaymentsClient, { operation, exchange }: Input): Promise<Verdict> {
  let value: unknown;
  try {
    value = await ASKED[operation].call(client);
  } catch (error) {
    demandError(error, operation, exchange);
    return 'refused';
  }
  demand(exchange.kind === 'response', 'returned a result without an answer');
  demand(
    exchange.status >= 200 && exchange.status < 300,
    `believed an answer with status ${exchange.status}`,
  );
  // A record whose fields the spec does not define may contain any values under these names.
  if (!OPAQUE.includes(operation)) demandExactMoney(value, digitsIn(exchange.body));
  return 'accepted';
}

function demandError(error: unknown, operation: ApiOperation, exchange: Exchange): void {
  demand(
    error instanceof PaymentsError,
    `threw ${error instanceof Error ? `${error.name}: ${error.message}` : typeof error}`,
  );
  demand(
    error.code !== 'INVALID_REQUEST' && error.code !== 'NOT_SENT',
    `failed as ${error.code} after it was sent`,
  );
  demand(error.message.length < 600, 'an error quotes the answer');
  for (const secret of SECRETS) demand(!error.message.includes(secret), 'an error contains a secret');
  const { effect } = OPERATIONS[operation];
  const said = 'status' in exchange && exchange.status < 500 && exchange.kind === 'response';
  if (effect !== 'read' && !said)
    demand(error.mayHaveTakenEffect, 'reports no effect although the effect is unknown');
  demand(
    error.code !== 'MALFORMED_ANSWER' || !error.message.includes('cannot use') || hasField(error),
    'names no field',
  );
}

function hasField(error: PaymentsError): boolean {
  return error.field !== undefined || error.message.includes('cannot use the response');
}

/** Every amount in the answer, in normalized form. */
function digitsIn(body: Buffer): ReadonlySet<string> {
  const amounts = new Set<string>();
  collect(readExactJson(body, { replaceBadBytes: true }), amounts);
  return amounts;
}

function collect(value: unknown, amounts: Set<string>): void {
  const text = typeof value === 'string' ? value : exactNumberText(value);
  if (text !== undefined) {
    const amount = normalizedOrUndefined(text);
    if (amount !== undefined) amounts.add(amount);
  } else if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) collect(inner, amounts);
}

/** Every amount has exactly the digits that the provider sent. */
function demandExactMoney(value: unknown, written: ReadonlySet<string>): void {
  if (typeof value !== 'object' || value === null) return;
  if ('currency' in value && 'amount' in value && typeof value.amount === 'string') {
    const { amount } = value;
    demand(/^\d{1,16}\.\d\d$/.test(amount), 'an amount is not normalized');
    demand(written.has(amount), 'an amount has digits that the answer does not contain');
    demand(fromMinorUnits(toMinorUnits(amount)) === amount, 'an amount changes in minor units');
    demand(normalizeAmount(amount) === amount, 'an amount changes when it is normalized again');
    const same = { currency: 'USD', amount };
    demand(compareMoney(addMoney(same, same), same) >= 0, 'twice an amount is less than the amount');
  }
  for (const inner of Object.values(value)) demandExactMoney(inner, written);
}

/** The exact reader accepts what `JSON.parse` accepts, except repeated keys, excessive depth and invalid UTF-8. */
function demandReaders(bytes: Buffer): void {
  const exact = readBy((body) => readExactJson(body), bytes);
  const plain = readBy((body) => readPlainJson(body), bytes);
  const native = nativelyRead(bytes);
  demand(!('value' in exact) || native.ok, 'the exact reader accepted invalid JSON');
  demand(!('value' in plain) || 'value' in exact, 'the plain reader accepted what the exact one rejects');
  if ('problem' in exact) {
    demand(exact.problem !== 'not JSON' || !native.ok, 'the exact reader rejected valid JSON');
    return;
  }
  const { value } = exact;
  numbersToText(value);
  if (value === undefined) return;
  const again = readExactJson(writeExactJson(value), { maxDepth: 64 });
  demand(isDeepStrictEqual(again, value), 'changes when it is written and read again');
}

function readBy(read: (bytes: Buffer) => unknown, bytes: Buffer): { value: unknown } | { problem: string } {
  try {
    return { value: read(bytes) };
  } catch (error) {
    demand(
      error instanceof NotJsonError,
      `a reader threw ${error instanceof Error ? error.message : typeof error}`,
    );
    return { problem: error.message };
  }
}

function nativelyRead(bytes: Buffer): { ok: boolean } {
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  try {
    JSON.parse(text);
    return { ok: true };
  } catch {
    return { ok: false };
  }
}
