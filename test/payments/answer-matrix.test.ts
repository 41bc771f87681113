import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiOperation, OPERATION_NAMES, OPERATIONS } from '../../src/payments/operations.ts';
import { clientFor } from './support/client.ts';
import { callOf, successBody, successCode } from './support/samples.ts';
import { type ScriptedServer, startServer } from './support/server.ts';
import { settle } from './support/settle.ts';

const STATUSES = [200, 201, 204, 302, 307, 400, 401, 403, 404, 429, 500, 502, 503];

interface Body {
  name: string;
  /** What the envelope's code says, `success`, or why it cannot be read. */
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

/** The rules in words, written independently of the tables in `src`. */
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
  // 201 Created contradicts every error code (H232).
  if (status === 201) return 'AMBIGUOUS';
  if ((good || bad) && says === '429') return 'CREATE_REFUSED busy';
  if ((good || bad) && says === 'LOCK_GONE') return 'CREATE_REFUSED lock-expired';
  return 'AMBIGUOUS';
}

function expectedOfOnce(operation: ApiOperation, status: number, says: string): string {
  if (status >= 500 || (status >= 300 && status < 400)) return 'AMBIGUOUS';
  if (status === 429) return expectedOfOnceLimited(operation, says);
  if (status === 201 && says !== 'success') return 'AMBIGUOUS';
  if (says === '429') return 'RATE_LIMITED';
  if (['cut', 'cut-json', 'null-data', 'foreign', '900000'].includes(says)) return 'AMBIGUOUS';
  if (says === 'success') return expectedOfOnceSuccess(operation, status);
  if (status === 401 || status === 403 || says === '401') return 'UNAUTHORIZED';
  if (says === '900002') return 'ILLEGAL_PARAMETER';
  return /^(900004|LOCK_GONE|77001)$/.test(says) ? 'REFUSED' : 'AMBIGUOUS';
}

function expectedOfOnceLimited(operation: ApiOperation, says: string): string {
  const bare = successCode(operation) === undefined;
  if (bare && says === 'success') return 'RATE_LIMITED';
  return ['429', 'empty', 'unreadable'].includes(says) ? 'RATE_LIMITED' : 'AMBIGUOUS';
}

/** A bare record under a failing status is not an envelope that could contradict it. */
function expectedOfOnceSuccess(operation: ApiOperation, status: number): string {
  if (status < 300) return 'OK';
  const bare = successCode(operation) === undefined;
  return bare && (status === 401 || status === 403) ? 'UNAUTHORIZED' : 'AMBIGUOUS';
}

function expectedOfRead(operation: ApiOperation, status: number, says: string): string {
  if (status >= 300 && status < 400) return 'MALFORMED_ANSWER';
  if (says === '429' || status === 429) return 'RATE_LIMITED';
  if (status === 401 || status === 403) return 'UNAUTHORIZED';
  if (says === '900000') return 'SYSTEM_ERROR';
  if (status >= 500) return 'UNAVAILABLE';
  const named: Record<string, string> = {
    '401': 'UNAUTHORIZED',
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

  test.each(OPERATION_NAMES)('H26 %s', async (operation) => {
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

/** `{}` is a bare record: enough for ping, which reads nothing, and not enough for the other operations. */
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
