import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PaymentsError } from '../../src/payments/errors.ts';
import { type ApiOperation, OPERATIONS } from '../../src/payments/operations.ts';
import { clientFor } from './support/client.ts';
import { callOf, successBody, successCode } from './support/samples.ts';
import { type ScriptedServer, startServer } from './support/server.ts';

const STATUSES = [200, 201, 204, 302, 307, 400, 401, 403, 404, 429, 500, 502, 503];
const NAMES = Object.keys(OPERATIONS).filter((name): name is ApiOperation => name in OPERATIONS);

interface Body {
  name: string;
  /** What the envelope's code says, `success`, or how it cannot be read. */
  says: string;
  text: (operation: ApiOperation) => string;
  cut?: boolean;
}

const failing = (code: string): Body => ({
  name: `code ${code}`,
  says: code.replaceAll('"', ''),
  text: () => `{"code":${code},"message":"no","data":null}`,
});

const BODIES: Body[] = [
  { name: 'success', says: 'success', text: (operation) => successBody(operation) },
  {
    name: 'success with its code as text',
    says: 'success',
    text: (operation) => successBody(operation).replace(/"code":(\d+),"m/, '"code":"$1","m'),
  },
  ...['429', '"429"', '401', '900000', '900002', '900004', '"LOCK_GONE"', '77001'].map(failing),
  {
    name: 'success with data null',
    says: 'null-data',
    text: (operation) => `{"code":${successCode(operation) ?? 0},"message":"OK","data":null}`,
  },
  { name: '{}', says: 'unreadable', text: () => '{}' },
  { name: 'HTML', says: 'unreadable', text: () => '<html><body>Bad Gateway</body></html>' },
  { name: 'empty', says: 'empty', text: () => '' },
  { name: 'cut JSON', says: 'cut-json', text: (operation) => successBody(operation).slice(0, -5) },
  { name: 'cut on the wire', says: 'cut', cut: true, text: (operation) => successBody(operation) },
  {
    name: "the other style's success",
    says: 'foreign',
    text: (operation) => `{"code":${successCode(operation) === '200' ? 0 : 200},"message":"OK","data":{}}`,
  },
];

/** What the brief says in words, written again from it: it shares nothing with the tables in `src`. */
function expected(operation: ApiOperation, status: number, body: Body): string {
  const effect = OPERATIONS[operation].effect;
  const says = status === 204 ? 'empty' : body.says;
  if (effect === 'create') return expectedOfCreate(status, says);
  if (effect === 'once') return expectedOfOnce(operation, status, says);
  return expectedOfRead(operation, status, says);
}

function expectedOfCreate(status: number, says: string): string {
  const good = status >= 200 && status < 300;
  const bad = status >= 400 && status < 500;
  if (good && says === 'success') return 'OK';
  if (status === 429)
    return ['429', 'empty', 'unreadable'].includes(says) ? 'CREATE_REFUSED busy' : 'AMBIGUOUS';
  if ((good || bad) && says === '429') return 'CREATE_REFUSED busy';
  if ((good || bad) && says === 'LOCK_GONE') return 'CREATE_REFUSED lock-expired';
  return 'AMBIGUOUS';
}

function expectedOfOnce(operation: ApiOperation, status: number, says: string): string {
  if (status >= 500 || (status >= 300 && status < 400)) return 'AMBIGUOUS';
  if (status === 429) return expectedOfOnceLimited(operation, says);
  if (says === '429') return 'RATE_LIMITED';
  if (['cut', 'cut-json', 'null-data', 'foreign', '900000'].includes(says)) return 'AMBIGUOUS';
  if (says === 'success') return expectedOfOnceSuccess(operation, status);
  if (status === 401 || status === 403 || says === '401') return 'UNAUTHORISED';
  if (says === '900002') return 'ILLEGAL_PARAMETER';
  return /^(900004|LOCK_GONE|77001)$/.test(says) ? 'REFUSED' : 'AMBIGUOUS';
}

function expectedOfOnceLimited(operation: ApiOperation, says: string): string {
  const bare = successCode(operation) === undefined;
  if (bare && says === 'success') return 'RATE_LIMITED';
  return ['429', 'empty', 'unreadable'].includes(says) ? 'RATE_LIMITED' : 'AMBIGUOUS';
}

/** A bare record under a failing status is no envelope that could contradict it. */
function expectedOfOnceSuccess(operation: ApiOperation, status: number): string {
  if (status < 300) return 'OK';
  const bare = successCode(operation) === undefined;
  return bare && (status === 401 || status === 403) ? 'UNAUTHORISED' : 'AMBIGUOUS';
}

function expectedOfRead(operation: ApiOperation, status: number, says: string): string {
  if (status >= 300 && status < 400) return 'MALFORMED_ANSWER';
  if (says === '429' || status === 429) return 'RATE_LIMITED';
  if (status === 401 || status === 403) return 'UNAUTHORISED';
  if (says === '900000') return 'SYSTEM_ERROR';
  if (status >= 500) return 'UNAVAILABLE';
  const named: Record<string, string> = {
    '401': 'UNAUTHORISED',
    '900002': 'ILLEGAL_PARAMETER',
    '900004': 'ORDER_NOT_EXIST',
    LOCK_GONE: 'REFUSED',
    '77001': 'REFUSED',
    cut: 'UNAVAILABLE',
  };
  const code = named[says];
  if (code) return code;
  return status < 300 ? expectedOfGoodRead(operation, says) : 'MALFORMED_ANSWER';
}

function expectedOfGoodRead(operation: ApiOperation, says: string): string {
  if (says === 'success') return 'OK';
  if (says === 'null-data' && (operation === 'accounts' || operation === 'ping')) return 'OK';
  if (says === 'unreadable') return 'MALFORMED_ANSWER unless {} is a record';
  return operation === 'ping' && says === 'foreign' ? 'OK' : 'MALFORMED_ANSWER';
}

describe('H26 every status with every body has one meaning, for every operation', () => {
  let server: ScriptedServer;
  let elsewhere: ScriptedServer;
  beforeAll(async () => {
    server = await startServer(() => undefined, true);
    elsewhere = await startServer((_request, response) => response.end('{}'), true);
  });
  afterAll(() => Promise.all([server.close(), elsewhere.close()]));

  test.each(NAMES)('H26 %s', async (operation) => {
    const client = clientFor(server.origin, {
      createCodes: new Map([
        ['429', 'busy'],
        ['LOCK_GONE', 'lock-expired'],
      ]),
    });
    for (const status of STATUSES)
      for (const body of BODIES) {
        server.seen.length = 0;
        server.script = scriptOf(status, body, operation, elsewhere.origin);
        const [got, error] = await settle(callOf(client, operation));
        const where = `${operation}: ${status} with ${body.name}`;
        expect(server.seen, where).toHaveLength(1);
        expect(got, where).toBe(adjusted(expected(operation, status, body), operation, body));
        expect(error?.mayHaveTakenEffect ?? false, where).toBe(got === 'AMBIGUOUS');
      }
    expect(elsewhere.seen).toHaveLength(0);
  });
});

/** `{}` is a bare record: enough for ping, which reads nothing, and too little for everything else. */
function adjusted(words: string, operation: ApiOperation, body: Body): string {
  if (words !== 'MALFORMED_ANSWER unless {} is a record') return words;
  return operation === 'ping' && body.name === '{}' ? 'OK' : 'MALFORMED_ANSWER';
}

function scriptOf(
  status: number,
  body: Body,
  operation: ApiOperation,
  location: string,
): ScriptedServer['script'] {
  return (_request, response) => {
    const text = body.text(operation);
    const length = Buffer.byteLength(text);
    response.writeHead(status, {
      ...(status >= 300 && status < 400 && { location: `${location}/stolen` }),
      ...(status !== 204 && { 'content-length': body.cut ? length + 10 : length }),
    });
    if (body.cut && status !== 204) response.write(text, () => response.destroy());
    else response.end(status === 204 ? undefined : text);
  };
}

async function settle(call: Promise<unknown>): Promise<[string, PaymentsError?]> {
  try {
    await call;
    return ['OK'];
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    const meaning = 'meaning' in error ? ` ${error.meaning}` : '';
    return [error.code + meaning, error];
  }
}

describe('H26 rows spelt out', () => {
  const rows: [ApiOperation, number, string, string][] = [
    ['createPayout', 200, '{"code":"0","message":"OK","data":null}', 'AMBIGUOUS'],
    ['createPayout', 200, '{"code":429}', 'CREATE_REFUSED'],
    ['createPayout', 200, '{"code":429,"code":0}', 'AMBIGUOUS'],
    ['createPayout', 429, '', 'CREATE_REFUSED'],
    ['createPayout', 429, '{"code":0,"message":"OK","data":{}}', 'AMBIGUOUS'],
    ['createPayout', 429, '{"code":200,"message":"SUCCESS"}', 'AMBIGUOUS'],
    ['createPayout', 500, '{"code":429}', 'AMBIGUOUS'],
    ['createPayout', 401, '', 'AMBIGUOUS'],
    ['createPayout', 200, '{"code":900000}', 'AMBIGUOUS'],
    ['tradeResult', 200, '{"code":900004,"message":"order not exist"}', 'ORDER_NOT_EXIST'],
    ['tradeResult', 404, 'Not Found', 'MALFORMED_ANSWER'],
    ['tradeResult', 503, '{"code":900004}', 'UNAVAILABLE'],
    ['tradeResult', 200, '{"code":"200","data":[]}', 'MALFORMED_ANSWER'],
    ['accounts', 200, '{"code":200,"message":"SUCCESS"}', 'MALFORMED_ANSWER'],
    ['exchangeCode', 200, '{"code":10010,"message":"code used"}', 'REFUSED'],
    ['openReceivingAccount', 201, '{}', 'AMBIGUOUS'],
    ['quote', 200, '{"code":0,"message":"ok","data":{}}', 'MALFORMED_ANSWER'],
  ];

  test.each(rows)('H26 %s: HTTP %i with %s is %s', async (operation, status, body, code) => {
    const server = await startServer((_request, response) => response.writeHead(status).end(body));
    const [got] = await settle(callOf(clientFor(server.origin), operation));
    expect(got.split(' ')[0]).toBe(code);
  });

  test('H27 900002 on a query says that the query is wrong, and nothing about the payout', async () => {
    const server = await startServer((_request, response) => response.end('{"code":900002}'));
    const [code, error] = await settle(callOf(clientFor(server.origin), 'tradeResult'));
    expect([code, error?.mayHaveTakenEffect]).toEqual(['ILLEGAL_PARAMETER', false]);
  });

  test('H5 without a listed code no answer proves that a create did not happen', async () => {
    const server = await startServer((_request, response) => response.writeHead(429).end('{"code":429}'));
    const client = clientFor(server.origin, { createCodes: new Map() });
    expect(await settle(callOf(client, 'createPayout'))).toMatchObject(['AMBIGUOUS', {}]);
  });

  test('H4 a listed code leads to its meaning, as number or as text', async () => {
    for (const code of ['7', '"7"']) {
      const server = await startServer((_request, response) => response.end(`{"code":${code}}`));
      const client = clientFor(server.origin, { createCodes: new Map([['7', 'insufficient']]) });
      expect((await settle(callOf(client, 'createPayout')))[0]).toBe('CREATE_REFUSED insufficient');
    }
  });
});
