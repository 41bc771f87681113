import { mkdtempSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { standInClient } from '../../fuzz/temporal.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, postOnce, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const KEYS = keysFile([
  callerEntry('shop'),
  callerEntry('reader', { verbs: ['read'] }),
  callerEntry('scraper', { verbs: ['metrics'] }),
]);
/** Exists in the stand-in for Temporal, with another body. */
const EXISTING = 'existing-payout-1';
const standIn = standInClient({
  ends: {},
  states: [['payout:', () => ({ phase: 'PROCESSING' })]],
  queries: {},
  argumentOf: () => payoutRequest(EXISTING, { payerId: 'another' }),
});

let file: string;
let service: TestApiServer;

beforeAll(async () => {
  file = join(mkdtempSync(join(tmpdir(), 'payouts-audit-')), 'audit.log');
  service = await startApiServer(standIn, { PAYOUTS_API_KEYS_FILE: KEYS, PAYOUTS_AUDIT_LOG: file });
});

afterAll(() => service.close());

const linesOf = (path: string): unknown[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const lastLine = () => linesOf(file).at(-1);
const payouts = () => `${service.url}/v1/payouts`;

describe('every request of an operation leaves one line', () => {
  const start = { verb: 'start', route: 'POST /v1/payouts' };
  test('with the caller, the ids, the status and the id of the request', async () => {
    const before = linesOf(file).length;
    const started = await post(payouts(), payoutRequest('new'), {
      ...as('shop'),
      'x-request-id': 'shop.1-A_b',
    });
    expect(started).toMatchObject({ status: 202, headers: { 'x-request-id': 'shop.1-A_b' } });
    expect(linesOf(file)).toHaveLength(before + 1);
    expect(lastLine()).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      ...{ event: 'request', xRequestId: 'shop.1-A_b', caller: 'shop', ...start },
      ...{ app: 'default', partnerOrderId: 'new', status: 202, verdict: 'accepted' },
    });
  });

  test.each<[string, () => Promise<{ status: number }>, object]>([
    [
      '400',
      () => post(payouts(), { ...payoutRequest('bad'), clientId: '' }, as('shop')),
      { caller: 'shop', partnerOrderId: 'bad', status: 400, verdict: 'refused' },
    ],
    [
      '401',
      () => post(`${payouts()}/some-payout/approve?app=default`, '', as('nobody')),
      { caller: null, verb: 'approve', partnerOrderId: 'some-payout', status: 401, verdict: 'refused' },
    ],
    [
      '403 for the verb',
      () => post(`${payouts()}/some-payout/approve`, '', as('reader')),
      {
        caller: 'reader',
        route: 'POST /v1/payouts/{partnerOrderId}/approve',
        status: 403,
        verdict: 'refused',
      },
    ],
    [
      '403 for the application',
      () => post(payouts(), { ...payoutRequest('foreign'), app: 'shop2' }, as('shop')),
      { caller: 'shop', app: 'shop2', partnerOrderId: 'foreign', status: 403 },
    ],
    [
      '409',
      () => post(payouts(), payoutRequest(EXISTING), as('shop')),
      { caller: 'shop', partnerOrderId: EXISTING, status: 409, verdict: 'refused' },
    ],
    [
      'a batch in NDJSON',
      () =>
        post(`${service.url}/v1/payout-batches?batchId=b-1`, '{}\n', {
          ...as('shop'),
          'content-type': 'application/x-ndjson',
        }),
      { caller: 'shop', verb: 'batch', app: 'default', batchId: 'b-1', status: 400 },
    ],
    [
      'a receiving account',
      () => get(`${service.url}/v1/receiving-accounts/r-1?app=shop2`, as('shop')),
      { caller: 'shop', verb: 'read', app: 'shop2', requestId: expect.any(String), status: 403 },
    ],
    [
      'a scrape with a key that may not',
      () => get(`${service.url}/metrics`, as('reader')),
      { caller: 'reader', verb: 'metrics', route: 'GET /metrics', status: 403 },
    ],
  ])('%s', async (_what, send, expected) => {
    const before = linesOf(file).length;
    await send();
    expect(linesOf(file)).toHaveLength(before + 1);
    expect(lastLine()).toMatchObject(expected);
  });

  test('also if its caller goes away during the upload', async () => {
    const before = linesOf(file).length;
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
    const head = [
      'POST /v1/payouts HTTP/1.1',
      'Host: x',
      `Authorization: ${as('shop').authorization}`,
      'X-Request-Id: gone',
      'Content-Type: application/json',
      'Content-Length: 100',
    ];
    await new Promise<void>((resolve) => {
      socket.write(`${head.join('\r\n')}\r\n\r\n{`, () => resolve());
    });
    // The server has read the head by then.
    for (let turn = 0; turn < 5; turn += 1) await get(`${service.url}/healthz`);
    socket.destroy();
    await eventually(() => linesOf(file).length > before || undefined);
    expect(lastLine()).toMatchObject({ xRequestId: 'gone', caller: 'shop', verdict: 'refused' });
  });

  test('without the content of bodies, keys, and ids that are none', async () => {
    const personal = { ...payoutRequest('private'), receiver: { bankAccountName: 'Zhang San' } };
    await post(payouts(), personal, as('shop'));
    await post(payouts(), { partnerOrderId: 'Zhang "San"', app: 'Zhang San' }, as('shop'));
    await get(`${payouts()}/${encodeURIComponent('Zhang\n{"event":"forged"}')}?openId=Zhang`, as('shop'));
    const text = readFileSync(file, 'utf8');
    expect(text).not.toContain('Zhang');
    expect(text).not.toContain('forged');
    expect(text).not.toContain('key-of');
  });

  test('but none for a scrape, a health check or a document', async () => {
    const before = linesOf(file).length;
    await get(`${service.url}/metrics`, as('scraper'));
    for (const path of ['healthz', 'readyz', 'docs', 'v1/nothing']) await get(`${service.url}/${path}`);
    expect(linesOf(file)).toHaveLength(before);
  });
});

describe('x-request-id', () => {
  test.each([
    ['/healthz', 200],
    ['/v1/nothing', 404],
    ['/v1/payouts/%', 400],
    [`/v1/payouts/${'x'.repeat(1_100)}`, 414],
    ['/v1/payouts/x', 401],
  ])('is in the response of %s', async (path, status) => {
    const own = await get(service.url + path, { 'x-request-id': 'mine' });
    expect(own).toMatchObject({ status, headers: { 'x-request-id': 'mine' } });
    const generated = await get(service.url + path);
    expect(generated.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each([
    ['a space', 'a b'],
    ['65 characters', 'x'.repeat(65)],
    ['JSON', '{"a":1}'],
    ['nothing', ''],
  ])('is generated for %s', async (_what, given) => {
    const { headers } = await get(`${service.url}/healthz`, { 'x-request-id': given });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('is in the response to bytes that are not HTTP', async () => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
    const answer = await new Promise<string>((resolve) => {
      socket.once('data', (chunk) => resolve(String(chunk)));
      socket.write('nonsense\r\n\r\n');
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/);
    expect(answer).toMatch(/"status":400/);
    socket.destroy();
  });
});

test('a flood of requests without a known key becomes a few lines and a count', async () => {
  const log = join(mkdtempSync(join(tmpdir(), 'payouts-audit-')), 'audit.log');
  const flooded = await startApiServer(standIn, { PAYOUTS_API_KEYS_FILE: KEYS, PAYOUTS_AUDIT_LOG: log });
  const flood = Array.from({ length: 300 }, (_, at) =>
    get(`${flooded.url}/v1/payouts/p-${at}`, at % 6 === 0 ? as(`guess-${at}`) : {}),
  );
  for (const { status } of await Promise.all(flood)) expect(status).toBe(401);
  expect((await get(`${flooded.url}/v1/payouts/known`, as('shop'))).status).toBe(404);
  expect(linesOf(log)).toHaveLength(11);
  expect(linesOf(log).at(-1)).toMatchObject({ caller: 'shop', partnerOrderId: 'known', status: 404 });
  await flooded.close();
  expect(linesOf(log)).toHaveLength(12);
  expect(linesOf(log).at(-1)).toEqual({
    time: expect.any(String),
    ...{ event: 'unauthenticated', since: expect.any(String) },
    counts: { 'GET /v1/payouts/{partnerOrderId} 401': 290 },
  });
});

describe('the log of the process', () => {
  /** What an API server without Temporal logs during `work`. */
  async function logged(environment: object, work: (url: string) => Promise<unknown>): Promise<string> {
    const world = await VirtualWorld.start({ idle: true });
    world.system.service.isUnavailable = true;
    const written: string[] = [];
    const write = process.stderr.write;
    process.stderr.write = (chunk: string | Uint8Array) => written.push(String(chunk)) > 0;
    try {
      const lost = await startApiServer(world.client, {
        ...{ PAYOUTS_API_KEYS_FILE: KEYS, PAYOUTS_LOG_LEVEL: 'info' },
        ...environment,
      });
      await work(lost.url);
      await lost.close();
    } finally {
      process.stderr.write = write;
      await world.stop();
    }
    return written.join('');
  }

  test('has the cause of a 5xx with its gRPC status, and nothing of the request', async () => {
    const text = await logged({}, async (url) => {
      const answer = await postOnce(`${url}/v1/payouts`, payoutRequest('lost'), {
        ...as('shop'),
        'x-request-id': 'r-1',
      });
      expect(answer.status).toBe(503);
    });
    const lines: unknown[] = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toContainEqual(
      expect.objectContaining({
        ...{ reqId: 'r-1', status: 503, msg: 'request failed' },
        causes: expect.arrayContaining([expect.objectContaining({ grpcStatus: 'DEADLINE_EXCEEDED' })]),
      }),
    );
    expect(text).not.toContain('Zhang');
    // Without PAYOUTS_AUDIT_LOG, the audit trail is a part of this log.
    expect(lines).toContainEqual(
      expect.objectContaining({
        event: 'request',
        xRequestId: 'r-1',
        caller: 'shop',
        status: 503,
        verdict: 'failed',
      }),
    );
  });

  test('stays short in a flood of junk notifications', async () => {
    const text = await logged({}, async (url) => {
      const junk = Array.from({ length: 100 }, (_, at) =>
        postOnce(`${url}/v1/notifications/default`, { order_id: `junk-${at}` }),
      );
      for (const { status } of await Promise.all(junk)) expect(status).toBe(503);
    });
    const lines = text.trim().split('\n');
    expect(lines.length).toBeLessThan(30);
    expect(lines.at(-1)).toMatch(/"counts":\{"POST \/v1\/notifications\/\{app\} 503 \w+":90\}/);
  });
});
