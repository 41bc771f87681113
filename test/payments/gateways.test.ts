/** What a gateway or a proxy between us and the provider may do to connections and answers. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type ApiOperation, OPERATION_NAMES, OPERATIONS } from '../../src/payments/operations.ts';
import { clientFor, failureOf } from './support/client.ts';
import { callOf, successBody } from './support/samples.ts';
import { answers, type Script, startServer } from './support/server.ts';

const CODINGS: readonly [string, (text: string | Buffer) => Buffer][] = [
  ['gzip', gzipSync],
  ['GZIP', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['deflate, gzip', (text) => gzipSync(deflateSync(text))],
  ['identity', (text) => Buffer.from(text)],
  ['gzip', (text) => Buffer.from(text)],
  ['utf-8', (text) => Buffer.from(text)],
];

async function outcomeOf(operation: ApiOperation, script: Script) {
  const server = await startServer(script);
  const client = clientFor(server.origin, { maxBodyBytes: 10_000 });
  return callOf(client, operation).then(
    () => 'OK',
    async () => (await failureOf(callOf(client, operation))).code,
  );
}

describe('H240 an encoded answer', () => {
  test.each(CODINGS)('%s is read, whatever was asked for', async (coding, encode) => {
    const headers = { 'content-encoding': coding };
    for (const operation of ['createPayout', 'quote', 'tradeResult'] as const) {
      const body = encode(successBody(operation));
      expect(await outcomeOf(operation, answers(200, body, headers))).toBe('OK');
    }
    const refusal = encode('{"code":900002,"message":"illegal"}');
    expect(await outcomeOf('quote', answers(400, refusal, headers))).toBe('ILLEGAL_PARAMETER');
    const limited = encode('{"code":429}');
    expect(await outcomeOf('createPayout', answers(200, limited, headers))).toBe('CREATE_REFUSED');
  });

  test('that two headers announce is read', async () => {
    const body = gzipSync(brotliCompressSync(successBody('quote')));
    const script: Script = (_request, response) => {
      response.setHeader('content-encoding', ['br', 'gzip']);
      response.end(body);
    };
    expect(await outcomeOf('quote', script)).toBe('OK');
  });

  test('is not asked for', async () => {
    const server = await startServer(answers(200, successBody('quote')));
    await callOf(clientFor(server.origin), 'quote');
    expect(server.seen[0]?.headers['accept-encoding']).toBe('identity');
  });

  const big = successBody('createPayout').replace('"remark":""', `"remark":"${'y'.repeat(1_000_000)}"`);
  const whole = gzipSync(successBody('createPayout'));
  test.each([
    ['that is damaged', whole.subarray(0, -20), 'gzip', 'UNAVAILABLE'],
    ['of nothing but its header', whole.subarray(0, 10), 'gzip', 'UNAVAILABLE'],
    ['that decodes to too much', gzipSync(big), 'gzip', 'MALFORMED_ANSWER'],
    ['with too many codings', whole, 'gzip, gzip, gzip, gzip', 'UNAVAILABLE'],
    ['of an unknown coding', whole, 'zstd', 'MALFORMED_ANSWER'],
  ])('%s proves nothing', async (_what, body, coding, code) => {
    const script = answers(200, body, { 'content-encoding': coding });
    expect(await outcomeOf('createPayout', script)).toBe('AMBIGUOUS');
    expect(await outcomeOf('payoutOrder', script)).toBe(code);
  });
});

describe('H241 a wait that the provider asks for', () => {
  const DATE = 'Sun, 06 Nov 1994 08:49:37 GMT';
  test.each([
    ['in seconds', '7', DATE, 7_000],
    ['as a date, by its own clock', 'Sun, 06 Nov 1994 08:49:45 GMT', DATE, 8_000],
    ['as a date in the past', 'Sun, 06 Nov 1994 08:49:30 GMT', DATE, undefined],
    ['as a date without a zone', 'Sun Nov  6 08:49:45 1994', DATE, undefined],
    ['in words', 'soon', DATE, undefined],
    ['as a date, without its own clock', 'Sun, 06 Nov 1994 08:49:45 GMT', undefined, undefined],
  ])('%s', async (_form, retryAfter, date, waitMs) => {
    const server = await startServer((_request, response) => {
      response.sendDate = false;
      if (date !== undefined) response.setHeader('date', date);
      response.writeHead(429, { 'retry-after': retryAfter }).end();
    });
    const waits: unknown[] = [];
    const gate = { pass: async () => undefined, limited: (ms: number | undefined) => void waits.push(ms) };
    await failureOf(callOf(clientFor(server.origin, { gate }), 'quote'));
    expect(waits).toEqual([waitMs]);
  });
});

describe('H242 a gateway that resets connections that were used before', () => {
  const used = new WeakMap<object, number>();
  const resetsUsed =
    (operation: ApiOperation): Script =>
    (_request, response) => {
      const { socket } = response;
      if (!socket) return;
      const times = (used.get(socket) ?? 0) + 1;
      used.set(socket, times);
      if (times > 1) socket.resetAndDestroy();
      else response.end(successBody(operation));
    };

  test.each(OPERATION_NAMES)('%s is not lost, unless it may be repeated', async (operation) => {
    const server = await startServer(resetsUsed(operation));
    const client = clientFor(server.origin, { connections: 1 });
    const isRead = OPERATIONS[operation].effect === 'read';
    await callOf(client, operation);
    if (isRead) expect((await failureOf(callOf(client, operation))).code).toBe('UNAVAILABLE');
    else await callOf(client, operation);
    await callOf(client, operation);
    expect([server.seen.length, server.connections()]).toEqual(isRead ? [3, 2] : [3, 3]);
  });

  test('a create does not use a connection that a read has kept', async () => {
    const server = await startServer(answers(200, successBody('createPayout')));
    const client = clientFor(server.origin, { connections: 1 });
    await callOf(client, 'payoutOrder');
    await callOf(client, 'payoutOrder');
    expect(server.connections()).toBe(1);
    await callOf(client, 'createPayout');
    await callOf(client, 'payoutOrder');
    expect(server.connections()).toBe(2);
  });
});
