/** The simulator answers the same without a socket as behind one. */
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type InProcessRequest,
  type InProcessSimulator,
  type Simulator,
  simulatorInProcess,
  startSimulator,
} from '../../simulator/index.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { feeBody, textAt } from './support/simulator-client.ts';

const TOKEN = '/v2/token/get?app_id=demo-app&app_secret=demo-secret';
const ORDER = '/v2/b2b/currents/queryDetail';
const FEE = '/v1/payments/fee';
const LONG = 'x'.repeat(100);

interface Told {
  status: number;
  headers: Record<string, unknown>;
  text: string;
}

type Ask = (request: InProcessRequest) => Promise<Told>;

let simulator: Simulator;
let inProcess: InProcessSimulator;
beforeAll(async () => {
  const settings = { callsPerSecond: 1000 };
  simulator = await startSimulator({ settings });
  inProcess = simulatorInProcess({ settings, runtime: PROCESS_RUNTIME, deliver: async () => 200 });
});
afterAll(() => Promise.all([simulator.close(), inProcess.close()]));

const overHttp: Ask = async ({ method, path, headers, body }) => {
  const answer = await request(`${simulator.url}${path}`, { method, headers, body: body ?? null });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
};

const inHere: Ask = async (asked) => {
  const answer = await inProcess.request(asked);
  if (answer.is !== 'answer') throw new Error(answer.is);
  return { status: answer.status, headers: answer.headers, text: answer.body.toString() };
};

/** With its own token. Omits fresh ids, and the headers that a connection adds. */
async function comparable(ask: Ask, { headers, ...rest }: InProcessRequest): Promise<Told> {
  const { text: tokenText } = await ask({ method: 'GET', path: TOKEN, headers: {} });
  const authorization = `Bearer ${textAt(JSON.parse(tokenText), 'data.access_token')}`;
  const told = await ask({ ...rest, headers: { Authorization: authorization, ...headers } });
  expect(told.headers['date']).toBeTypeOf('string');
  const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...kept } = told.headers;
  return { ...told, headers: kept, text: told.text.replaceAll(/[0-9a-f]{8}-?[0-9a-f-]{24,27}/g, 'ID') };
}

function got(path: string): InProcessRequest {
  return { method: 'GET', path, headers: {} };
}

function posted(text: string): InProcessRequest {
  return {
    method: 'POST',
    path: FEE,
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from(text),
  };
}

describe('the answer equals the one over HTTP to', () => {
  test.each<[string, InProcessRequest, number]>([
    ['a request for a token', got(TOKEN), 200],
    ['a field that is given twice', got(`${TOKEN}&app_id=demo-app`), 200],
    ['encoded fields', got(`${TOKEN.replace('demo-app', 'demo%2Dapp')}&x=+`), 200],
    ['no fields', got('/v2/token/get'), 200],
    ['another method', { ...got(TOKEN), method: 'POST' }, 404],
    ['a slash too much', got('/v2/token/get/'), 404],
    ['other letters', got(TOKEN.replace('token', 'Token')), 404],
    ['an unknown path', got('/v2/nothing?x=1'), 404],
    ['an invalid token', { ...got(`${ORDER}/PO1`), headers: { Authorization: 'T' } }, 401],
    ['a query of an order', got(`${ORDER}/PO%2F1?x=1`), 200],
    ['a query of an empty order', got(`${ORDER}/`), 200],
    ['a query of a long order', got(`${ORDER}/${LONG}`), 200],
    ['a query of an order whose encoding is long', got(`${ORDER}/%41${LONG.slice(1)}`), 200],
    ['a query of a balance', got('/v1/accounts/receiving-account/p%20/USD'), 200],
    ['a request for a quote', posted(JSON.stringify(feeBody())), 200],
    ['a body that is not JSON', posted('{'), 200],
    ['no body', { method: 'POST', path: FEE, headers: {} }, 200],
  ])('%s', async (_what, asked, status) => {
    const told = await comparable(inHere, asked);
    expect(told).toEqual(await comparable(overHttp, asked));
    expect(told.status).toBe(status);
  });

  test('a query of too long an order, except for the message', async () => {
    const asked = got(`${ORDER}/${LONG}x`);
    expect((await inHere(asked)).status).toBe(414);
    expect((await overHttp(asked)).status).toBe(414);
  });

  test('the example call that returns the request', async () => {
    const asked = { ...got('/v2/httpbin/get?a=1&b='), headers: { 'X-Request-Id': 'r-1' } };
    const shown = async (ask: Ask): Promise<unknown> => JSON.parse((await comparable(ask, asked)).text);
    expect(await shown(overHttp)).toMatchObject({ data: { args: { a: '1', b: '' } } });
    expect(await shown(inHere)).toEqual({
      code: 0,
      message: 'OK',
      data: { args: { a: '1', b: '' }, headers: { 'x-request-id': 'r-1' } },
    });
  });
});

test('closing cuts open answers, with the part that was sent, and drops later requests', async () => {
  const closing = simulatorInProcess({ runtime: PROCESS_RUNTIME, deliver: async () => 200 });
  closing.control.addFault({ times: 1, fault: { kind: 'hold-until-released' } });
  const held = closing.request(got(TOKEN));
  closing.control.addFault({ fault: { kind: 'slow-body', ms: 600_000 } });
  const half = closing.request(got(TOKEN));
  // Both have arrived. The half is sent in the microtasks that follow.
  await new Promise(setImmediate);
  expect(closing.control.faults().map(({ hit }) => hit)).toEqual([1, 1]);
  await closing.close();
  expect([await held, await half]).toEqual([{ is: 'dropped' }, { is: 'broken-response', status: 200 }]);
  expect(await closing.request(got(TOKEN))).toEqual({ is: 'dropped' });
});
