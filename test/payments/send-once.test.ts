import { describe, expect, test } from 'vitest';
import type { PaymentsClient } from '../../src/payments/client.ts';
import { type ApiOperation, OPERATION_NAMES, OPERATIONS } from '../../src/payments/operations.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { PATIENT } from '../support/patience.ts';
import { standingClock } from '../support/standing-clock.ts';
import { clientFor, failureOf } from './support/client.ts';
import { callOf, successBody } from './support/samples.ts';
import { answers, deadOrigin, type Script, type ScriptedServer, startServer } from './support/server.ts';

const isRead = (operation: ApiOperation) => OPERATIONS[operation].effect === 'read';

/** Answers normally except for the second request on a kept connection: that one is read, then the connection is cut. */
function cutSecondRequest(operation: ApiOperation): Script {
  let requests = 0;
  return (_request, response) => {
    requests += 1;
    if (requests === 2) response.socket?.destroy();
    else response.end(successBody(operation));
  };
}

describe('a request is sent once', () => {
  test.each(OPERATION_NAMES)(
    'H11 %s on a kept connection that dies is sent once, without a retry',
    async (operation) => {
      const server = await startServer(cutSecondRequest(operation));
      const client = clientFor(server.origin, { connections: 1 });
      await callOf(client, operation);
      const error = await failureOf(callOf(client, operation));
      expect(error.code).toBe(isRead(operation) ? 'UNAVAILABLE' : 'AMBIGUOUS');
      // Only a read uses a kept connection (H242).
      expect([server.seen.length, server.connections()]).toEqual([2, isRead(operation) ? 1 : 2]);
      await callOf(client, operation);
      expect([server.seen.length, server.connections()]).toEqual([3, isRead(operation) ? 2 : 3]);
    },
  );

  test.each([301, 302, 303, 307, 308])(
    'H11 a %i is not followed, and the secret goes to no other host',
    async (status) => {
      const elsewhere = await startServer(answers(200, '{}'));
      const server = await startServer(answers(status, '', { location: `${elsewhere.origin}/take` }));
      const client = clientFor(server.origin);
      for (const operation of OPERATION_NAMES) {
        const error = await failureOf(callOf(client, operation));
        expect(error.code).toBe(isRead(operation) ? 'MALFORMED_ANSWER' : 'AMBIGUOUS');
      }
      expect(server.seen).toHaveLength(OPERATION_NAMES.length);
      expect(elsewhere.connections()).toBe(0);
    },
  );

  test('H1 a create whose answer is lost is ambiguous: by reset, by silence, by a stalled body', async () => {
    const scripts: Script[] = [
      (_request, response) => response.socket?.resetAndDestroy(),
      () => undefined,
      (_request, response) => response.writeHead(200, { 'content-length': '500' }).write('{"code":0'),
    ];
    const lost = async (script: Script) => {
      const server = await startServer(answers(200, successBody('createPayout')));
      const client = clientFor(server.origin, { timeouts: { totalMs: 1000 } });
      // On an open connection, a request is written before any timer can fire.
      await connected(client);
      const before = server.seen.length;
      server.script = script;
      const error = await failureOf(callOf(client, 'createPayout'));
      expect([error.code, error.mayHaveTakenEffect]).toEqual(['AMBIGUOUS', true]);
      await expect.poll(() => server.seen.length, PATIENT).toBe(before + 1);
    };
    await Promise.all(scripts.map(lost));
  });

  test('H1 the timeouts for headers and body also end a create as ambiguous', async () => {
    const silent = await startServer(() => undefined);
    const stalled = await startServer((_request, response) => {
      response.writeHead(200, { 'content-length': '500' }).write('{"code":0');
    });
    const late = async (server: ScriptedServer) => {
      const client = clientFor(server.origin, { timeouts: { headersMs: 200, bodyMs: 200 } });
      const error = await failureOf(callOf(client, 'createPayout'));
      expect(error.code).toBe('AMBIGUOUS');
      await expect.poll(() => server.seen.length, PATIENT).toBe(1);
    };
    await Promise.all([late(silent), late(stalled)]);
  });

  test('stops reading an answer at the size limit', async () => {
    const padded = successBody('createPayout').replace('"remark":""', `"remark":"${'y'.repeat(5000)}"`);
    const server = await startServer(answers(200, padded));
    expect(await callOf(clientFor(server.origin), 'createPayout')).toMatchObject({ orderId: 'O-1' });
    const client = clientFor(server.origin, { maxBodyBytes: 1000 });
    expect((await failureOf(callOf(client, 'createPayout'))).code).toBe('AMBIGUOUS');
    expect((await failureOf(callOf(client, 'payoutOrder'))).code).toBe('MALFORMED_ANSWER');
  });

  test('an unreachable provider makes a create unavailable, which proves that it did not happen', async () => {
    for (const origin of [await deadOrigin(), 'https://no-such-host.invalid']) {
      const error = await failureOf(callOf(clientFor(origin), 'createPayout'));
      expect([error.code, error.mayHaveTakenEffect]).toEqual(['UNAVAILABLE', false]);
    }
  });

  test('a connection that opens and never completes TLS received nothing', async () => {
    const plain = await startServer(answers(200, '{}'));
    const origin = plain.origin.replace('http:', 'https:');
    const error = await failureOf(callOf(clientFor(origin), 'createPayout'));
    expect([error.code, plain.seen.length]).toEqual(['UNAVAILABLE', 0]);
  });
});

describe('H37 late or unwanted requests are not sent', () => {
  test('H37 checks the deadline after the gate, which may have waited', async () => {
    const server = await startServer(answers(200, successBody('tradeResult')));
    const clock = standingClock();
    const deadline = clock.nowMs() + 20;
    const gate = { pass: async () => clock.advance(20) };
    const error = await failureOf(
      callOf(clientFor(server.origin, { gate, runtime: { ...PROCESS_RUNTIME, clock } }), 'tradeResult', {
        deadline,
      }),
    );
    expect(error).toMatchObject({ code: 'NOT_SENT', reason: 'deadline', mayHaveTakenEffect: false });
    expect([server.seen.length, server.connections()]).toEqual([0, 0]);
  });

  test('H37 checks the deadline again once the connection is established', async () => {
    const server = await startServer(answers(200, successBody('createPayout')));
    const clock = standingClock();
    const deadline = clock.nowMs() + 200;
    // beforeSend runs last before the transport: the time passes while the socket connects.
    const beforeSend = () => queueMicrotask(() => clock.advance(200));
    const error = await failureOf(
      callOf(clientFor(server.origin, { runtime: { ...PROCESS_RUNTIME, clock } }), 'createPayout', {
        deadline,
        beforeSend,
      }),
    );
    expect(error).toMatchObject({ code: 'NOT_SENT', reason: 'deadline' });
    expect(server.seen).toHaveLength(0);
  });

  test('H37 the gate gets operation and deadline for each send, token calls included', async () => {
    const server = await startServer((request, response) => {
      response.end(successBody(request.url.startsWith('/v2/token') ? 'applicationToken' : 'quote'));
    });
    const passed: unknown[] = [];
    const gate = { pass: async (call: unknown) => void passed.push(call) };
    const client = clientFor(server.origin, { gate });
    const deadline = performance.now() + 60_000;
    await callOf(client, 'quote', { deadline });
    await callOf(client, 'applicationToken');
    expect(passed).toEqual([{ operation: 'quote', deadline }, { operation: 'applicationToken' }]);
  });

  test.each([
    ['gate', { gate: { pass: () => failLater('secret lease') } }, {}],
    ['token', { tokens: { token: (): Promise<string> => failLater('secret token') } }, {}],
    ['token', { tokens: { token: async (): Promise<string> => 'bad\r\nx: y' } }, {}],
    ['signer', { signer: { sign: () => failLater('secret key') } }, {}],
    ['before-send', {}, { beforeSend: () => raise('secret reason') }],
    ['deadline', {}, { deadline: 1 }],
  ] as const)(
    'a rejecting %s means "not sent", and its message is not repeated',
    async (reason, options, call) => {
      const server = await startServer(answers(200, successBody('tradeResult')));
      const error = await failureOf(callOf(clientFor(server.origin, options), 'tradeResult', call));
      expect(error).toMatchObject({ code: 'NOT_SENT', reason, mayHaveTakenEffect: false });
      expect(`${error.stack} ${JSON.stringify(error)}`).not.toMatch(/secret/);
      expect(server.seen).toHaveLength(0);
    },
  );

  test('a closed client sends nothing', async () => {
    const server = await startServer(answers(200, successBody('createPayout')));
    const client = clientFor(server.origin);
    await client.close();
    expect(await failureOf(callOf(client, 'createPayout'))).toMatchObject({
      code: 'NOT_SENT',
      reason: 'closed',
    });
  });
});

function failLater(message: string): Promise<never> {
  return Promise.reject(new TypeError(message));
}

function raise(message: string): never {
  throw new Error(message);
}

/** On a slow machine the first call may time out, which closes its connection. */
async function connected(client: PaymentsClient): Promise<void> {
  const done = await callOf(client, 'createPayout').then(
    () => true,
    () => false,
  );
  if (!done) await connected(client);
}
