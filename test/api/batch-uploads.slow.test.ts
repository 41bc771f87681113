/** Uploads of batches that must not disturb the other work of the API server. Nothing here reaches Temporal. */
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openMany } from '../../bench/stalled.ts';
import { manyRows } from '../support/batches.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { encoded } from '../support/encodings.ts';
import { get, post, postOnce, startApiServer, type TestApiServer } from '../support/http.ts';
import { sheetOf } from '../support/spreadsheets.ts';

let service: TestApiServer;
let at: string;

beforeAll(async () => {
  service = await startApiServer(new Client({ connection: nowhere }), { PAYOUTS_DESK: 'on' });
  at = `${service.url}/v1/payout-batches?batchId=upload`;
});

afterAll(async () => {
  // The connection stays open: a call that is due to be retried would throw in a timer.
  await service.close();
});

const nowhere = Connection.lazy({ address: '127.0.0.1:9' });
const NDJSON = { 'content-type': 'application/x-ndjson' };
const MIB = 1024 * 1024;
const linesOf = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const upload = (lines: string | Buffer) => post(at, lines, NDJSON);
const errorsOf = (body: unknown): unknown[] =>
  typeof body === 'object' && body !== null && 'errors' in body && Array.isArray(body.errors)
    ? body.errors
    : [];

describe('a batch is read no further than necessary', () => {
  test('40 MiB of rows that are no payouts get the first 100 bad fields', async () => {
    const answer = await upload(Buffer.alloc(40 * MIB - 1, '{}\n'));
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/; later rows were not checked$/) },
    });
    expect(errorsOf(answer.body)).toHaveLength(100);
    expect(errorsOf(answer.body)[0]).toMatchObject({ path: '0.clientId' });
  });

  test('the same rows in JSON get the first 100 bad fields', async () => {
    const payouts = Array.from({ length: 60_000 }, () => ({}));
    const answer = await post(`${service.url}/v1/payout-batches`, { batchId: 'json', payouts });
    expect(answer.status).toBe(400);
    expect(errorsOf(answer.body)).toHaveLength(100);
  });

  test('the row after the last that a batch may have ends the reading: what follows may be anything', async () => {
    const [row] = manyRows(1);
    const rows = Array.from({ length: 50_001 }, (_, at) => ({ ...row, partnerOrderId: `row-${at}` }));
    const answer = await upload(`${linesOf(rows)}{"no JSON`);
    expect(answer).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'count', message: 'must be at most 50000' }] },
    });
  });

  test('a line over 64 KiB, a line that is no JSON, and a body without rows are rejected', async () => {
    const long = await upload(`\n${JSON.stringify({ note: 'x'.repeat(64 * 1024) })}`);
    expect(long).toMatchObject({ status: 400, body: { detail: 'line 2 is invalid: it exceeds 64 KiB' } });
    const broken = await upload(`${linesOf(manyRows(1))}\n{"a`);
    expect(broken).toMatchObject({ status: 400, body: { detail: expect.stringMatching(/^line 3 is/) } });
    expect(await upload('\n \n')).toMatchObject({
      status: 400,
      body: { detail: 'the file contains no payouts' },
    });
  });
});

describe('H197 the errors of a batch', () => {
  const [row] = manyRows(1);

  test('of a file have the line of the row, in plain words', async () => {
    const { body } = await upload(
      `\n${linesOf(manyRows(1))}\n${JSON.stringify({ ...row, clientId: 7, type: 'x' })}`,
    );
    expect(errorsOf(body)).toEqual([
      { path: '1.clientId', message: 'must be text in quotes', line: 4 },
      { path: '1.type', message: 'must be WITHDRAW or SUPPLIER', line: 4 },
    ]);
    const twice = await upload(`\n${JSON.stringify(row)}\n\n${JSON.stringify(row)}`);
    expect(errorsOf(twice.body)).toEqual([
      { path: '1.partnerOrderId', message: 'is the same as in line 2', line: 4 },
    ]);
  });

  test('in JSON have the index of the row', async () => {
    const answer = await post(`${service.url}/v1/payout-batches`, {
      batchId: 'json',
      payouts: [row, {}, row],
    });
    expect(errorsOf(answer.body)).toContainEqual({ path: '1.clientId', message: 'is required' });
    expect(errorsOf(answer.body)).toContainEqual({
      ...{ path: '2.partnerOrderId', message: 'is the same as in payouts[0]' },
    });
  });

  test('in CSV are those of the same reader', async () => {
    const csv = (bytes: string | Buffer) => post(at, bytes, { 'content-type': 'text/csv' });
    expect(await csv(encoded('clientId,payerId\n张,1', 'gbk'))).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/^the encoding of the file is not UTF-8/) },
    });
    const damaged = { ...row, receiver: { ...row?.receiver, bankAccountNumber: '6.22202E+18' } };
    const { body } = await csv(encoded(`\ufeff${sheetOf([damaged], { separator: ';' })}`, 'utf-16be'));
    expect(errorsOf(body)).toEqual([
      {
        path: '0.receiver.bankAccountNumber',
        message: expect.stringMatching(/^is in scientific notation/),
        line: 2,
      },
    ]);
  });

  test.each(['gbk', 'utf-16le'])('NDJSON in %s is refused as a whole', async (encoding) => {
    const name = { ...row, receiver: { ...row?.receiver, bankAccountName: '张伟' } };
    expect(await upload(encoded(linesOf([name]), encoding))).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/^the encoding of the file is not UTF-8/) },
    });
  });
});

describe('while a batch is checked, the API server serves other requests', () => {
  const valid = manyRows(20_000);
  test.each([
    ['valid rows up to the last', linesOf([...valid, {}])],
    ['blank lines', '\n'.repeat(MIB)],
  ])('of %s', async (_what, lines) => {
    const socket = await uploadAllButTheLastByte(lines);
    const answered = once(socket, 'data');
    let isChecked = false;
    void answered.then(() => {
      isChecked = true;
    });
    socket.write(lines.slice(-1));
    let served = 0;
    while (!isChecked) {
      expect((await get(`${service.url}/healthz`)).status).toBe(200);
      served += 1;
    }
    const [chunk] = await answered;
    expect(String(chunk)).toMatch(/^HTTP\/1\.1 400/);
    expect(served).toBeGreaterThan(10);
    socket.destroy();
  });
});

/** Resolves when the server has read everything so far: it reads at least 64 KiB in each turn of its event loop. */
async function uploadAllButTheLastByte(lines: string): Promise<Socket> {
  const { hostname, port, pathname, search } = new URL(at);
  const socket = connect({ host: hostname, port: Number(port) });
  const head = [
    `POST ${pathname}${search} HTTP/1.1`,
    'Host: x',
    `Content-Type: ${NDJSON['content-type']}`,
    `Content-Length: ${lines.length}`,
  ];
  await new Promise<void>((resolve) => {
    socket.write(`${head.join('\r\n')}\r\n\r\n${lines.slice(0, -1)}`, () => resolve());
  });
  for (let turn = 0; turn < 400; turn += 1) await get(`${service.url}/healthz`);
  return socket;
}

test('an upload with a key may take longer than a request without one', async () => {
  const impatient = await startApiServer(
    new Client({ connection: nowhere }),
    { PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop')]) },
    { requestTimeoutMs: 300 },
  );
  const statusOf = async (headers: Record<string, string>) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(impatient.url).port) });
    const body = '{}\n';
    const head = Object.entries({ Host: 'x', 'Content-Length': String(body.length), ...headers });
    const path = 'authorization' in headers ? '/v1/payout-batches?batchId=slow' : '/v1/notifications/default';
    socket.write(`POST ${path} HTTP/1.1\r\n${head.map((pair) => `${pair.join(': ')}\r\n`).join('')}\r\n`);
    const answered = once(socket, 'data');
    const sending = (async () => {
      for (const byte of body) {
        await sleep(300);
        if (socket.writable) socket.write(byte);
      }
    })();
    const [answer] = await answered;
    await sending;
    socket.destroy();
    return /^HTTP\/1\.1 (\d+)/.exec(String(answer))?.[1];
  };
  expect(await statusOf({ ...NDJSON, ...as('shop') })).toBe('400');
  expect(await statusOf({ 'content-type': 'application/json' })).toBe('408');
  await impatient.close();
});

const closed = (socket: Socket) =>
  new Promise<void>(
    (resolve) =>
      void socket
        .resume()
        .on('error', () => undefined)
        .once('close', resolve),
  );

test('H293 a client that sends a request before the last response is disconnected', async () => {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
  // Temporal does not respond, so the first response comes late.
  socket.write('GET /v1/payouts/late HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2));
  await closed(socket);
});

describe('H294 uploads of 4 MiB count in full: one caller has at most half of the memory for bodies', () => {
  test.each([
    ['/v1/payout-batches', 'application/json'],
    ['/desk/batches/preview', 'multipart/form-data; boundary=x'],
  ])('to %s', async (path, type) => {
    const sockets: Socket[] = [];
    const statusOf = async () => {
      const socket = connect({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
      sockets.push(socket);
      const host = new URL(service.url).host;
      const head = [`Host: ${host}`, `Origin: http://${host}`, `Content-Type: ${type}`];
      socket.write(
        `POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\nContent-Length: ${4 * MIB}\r\nExpect: 100-continue\r\n\r\n`,
      );
      // The server continues before it looks at the request.
      const [first] = await once(socket, 'data');
      return String(first).includes('HTTP/1.1 503') ? 503 : undefined;
    };
    const taken = [];
    for (let nth = 0; nth < 8; nth += 1) taken.push(await statusOf());
    expect(taken).toEqual(Array.from({ length: 8 }, () => undefined));
    const ninth = await statusOf();
    if (ninth === undefined)
      expect(String(await once(sockets[8] ?? new Socket(), 'data'))).toContain('HTTP/1.1 503');
    await Promise.all(sockets.map((socket) => closed(socket.destroy())));
  });
});

test('H296 bodies without a key, from many addresses, take nothing from callers', async () => {
  const port = Number(new URL(service.url).port);
  const head = 'POST /v1/notifications/default HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  const open: Socket[] = [];
  // Each takes about half of what is left.
  for (const [nth, count] of [500, 250, 125, 62, 40].entries()) {
    const to = { host: '127.0.0.1', port, localAddress: `127.0.0.${nth + 2}` };
    open.push(...(await openMany(to, count, `${head}Content-Length: 65536\r\n\r\n`)));
  }
  for (let turn = 0; turn < 20; turn += 1) await get(`${service.url}/healthz`);
  const batch = `{"payouts":[],"note":"${'x'.repeat(4 * MIB - 100)}"}`;
  const { status } = await postOnce(`${service.url}/v1/payout-batches`, batch);
  for (const socket of open) socket.destroy();
  expect(status).toBe(400);
});

test('H295 a batch in JSON with more values than rows could have is rejected unread', async () => {
  const answer = await post(
    `${service.url}/v1/payout-batches`,
    `{"payouts":[${'1,'.repeat(2 * MIB - 100)}1]}`,
  );
  expect(answer).toMatchObject({ status: 400, body: { detail: 'the body is invalid: too many values' } });
});

test('H295 a batch in JSON is not parsed before its turn', async () => {
  const answered: number[] = [];
  const send = async (body: string) => {
    answered.push((await postOnce(`${service.url}/v1/payout-batches`, body)).status);
  };
  // Temporal does not respond, so the turn of the first takes long.
  const first = send(JSON.stringify({ batchId: 'first', payouts: manyRows(1) }));
  for (let turn = 0; turn < 20; turn += 1) await get(`${service.url}/healthz`);
  await Promise.all([first, send('{"no JSON')]);
  expect(answered).toEqual([503, 400]);
});
