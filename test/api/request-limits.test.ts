/** The request limit of a key, and the limit of unknown keys of an address, through real sockets. Time stands still. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { standInClient } from '../../fuzz/temporal.ts';
import type { Environment } from '../../src/config/environment.ts';
import { RequestLimits } from '../../src/http/authentication.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { get, type HttpResponse, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';

/** Unknown keys of one address: a burst, then one per 50 ms. */
const UNKNOWN_KEYS_BURST = 100;
const SLOW = callerEntry('slow', { requestsPerSecond: 1 });
const PLAIN = callerEntry('plain');
const SCRAPER = callerEntry('scraper', { verbs: ['metrics'], requestsPerSecond: 1 });
const LIMITED = {
  status: 429,
  headers: { 'retry-after': '1', 'content-type': expect.stringContaining('application/problem+json') },
  body: { type: '/problems/request-limit-exceeded', status: 429 },
};
const TOO_MANY = { status: 429, body: { type: '/problems/too-many-requests' } };

const documentSchema = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({ security: z.unknown().optional(), responses: z.record(z.string(), z.unknown()) }),
    ),
  ),
});

let clock: FakeClock;
let server: TestApiServer;
let file: string;
let audit: string;
afterEach(() => server.close());

async function start(callers: unknown, environment: Environment = {}): Promise<void> {
  clock = new FakeClock();
  file = keysFile(callers);
  audit = join(mkdtempSync(join(tmpdir(), 'payouts-audit-')), 'audit.log');
  const client = standInClient({ ends: {}, states: [], queries: {}, argumentOf: () => null });
  server = await startApiServer(
    client,
    { PAYOUTS_API_KEYS_FILE: file, PAYOUTS_AUDIT_LOG: audit, ...environment },
    { clock },
  );
}

const read = (headers: Record<string, string>) => get(`${server.url}/v1/payouts/unknown`, headers);
const statusesOf = async (count: number, send: () => Promise<HttpResponse>) =>
  Array.from(await Promise.all(Array.from({ length: count }, send)), ({ status }) => status).sort();
const times = (count: number, status: number) => Array<number>(count).fill(status);
const scrape = async () => String((await get(`${server.url}/metrics`, as('scraper'))).body);
const auditLines = (): Record<string, unknown>[] =>
  readFileSync(audit, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

describe('the request limit of a key', () => {
  test('a burst, then one request per second; other keys are not affected', async () => {
    await start([SLOW, PLAIN]);
    expect(await statusesOf(5, () => read(as('slow')))).toEqual([...times(2, 404), ...times(3, 429)]);
    expect(await read(as('slow'))).toMatchObject(LIMITED);
    expect((await read(as('plain'))).status).toBe(404);
    await clock.advance(999);
    expect((await read(as('slow'))).status).toBe(429);
    await clock.advance(1);
    expect((await read(as('slow'))).status).toBe(404);
    expect((await read(as('slow'))).status).toBe(429);
  });

  test('holds for every operation, before the verb and the body are looked at', async () => {
    await start([callerEntry('slow', { verbs: ['read'], requestsPerSecond: 1 })]);
    expect((await post(`${server.url}/v1/payouts`, payoutRequest('a'), as('slow'))).status).toBe(403);
    expect((await get(`${server.url}/v1/payouts?limit=x`, as('slow'))).status).toBe(400);
    for (const path of ['payouts', 'payout-batches', 'quotes', 'receiving-accounts', 'authorizations'])
      expect(await post(`${server.url}/v1/${path}`, '{', as('slow'))).toMatchObject(LIMITED);
  });

  test('by default that of the setting, with a burst of two seconds', async () => {
    await start([PLAIN], { PAYOUTS_API_REQUESTS_PER_SECOND: '5' });
    expect(await statusesOf(20, () => read(as('plain')))).toEqual([...times(10, 404), ...times(10, 429)]);
    await clock.advance(1_000);
    expect(await statusesOf(10, () => read(as('plain')))).toEqual([...times(5, 404), ...times(5, 429)]);
  });

  test('two keys of one caller share one limit', async () => {
    const keySha256 = ['key-of-slow', 'key-of-next'].map((key) =>
      createHash('sha256').update(key).digest('hex'),
    );
    await start([{ ...SLOW, keySha256 }]);
    expect(await statusesOf(2, () => read(as('slow')))).toEqual(times(2, 404));
    expect((await read(as('next'))).status).toBe(429);
  });

  test('health, readiness, metrics and notifications are not limited by it', async () => {
    await start([SCRAPER]);
    for (let at = 0; at < 5; at += 1) {
      expect((await get(`${server.url}/healthz`, as('scraper'))).status).toBe(200);
      expect((await get(`${server.url}/metrics`, as('scraper'))).status).toBe(200);
      expect((await get(`${server.url}/readyz`, as('scraper'))).status).not.toBe(429);
      const notified = await post(`${server.url}/v1/notifications/default`, { order_id: 'x' }, as('scraper'));
      expect(notified.status).not.toBe(429);
    }
  });

  test('a reload of the keys file gives nobody a new burst; a changed limit applies at once', async () => {
    await start([SLOW]);
    await statusesOf(2, () => read(as('slow')));
    keysFile([SLOW, PLAIN], file);
    await eventually(async () => ((await read(as('plain'))).status === 404 ? true : undefined));
    expect((await read(as('slow'))).status).toBe(429);
    keysFile([{ ...SLOW, requestsPerSecond: 2 }, callerEntry('third')], file);
    await eventually(async () => ((await read(as('third'))).status === 404 ? true : undefined));
    expect(await statusesOf(7, () => read(as('slow')))).toEqual([...times(4, 404), ...times(3, 429)]);
  });

  test('without keys there is no limit', async () => {
    await start([PLAIN], { PAYOUTS_API_KEYS_FILE: '', PAYOUTS_API_REQUESTS_PER_SECOND: '1' });
    expect(await statusesOf(20, () => read({}))).toEqual(times(20, 404));
  });

  test('limited requests are counted in metrics, and leave a few lines and a count in the audit trail', async () => {
    await start([SLOW, SCRAPER]);
    expect(await scrape()).toContain('payouts_http_requests_limited_total{limit="key"} 0');
    await statusesOf(2 + 40, () => read(as('slow')));
    expect(await scrape()).toContain('payouts_http_requests_limited_total{limit="key"} 40');
    const limited = auditLines().filter(({ status }) => status === 429);
    expect(limited).toHaveLength(10);
    expect(limited[0]).toMatchObject({ event: 'request', caller: 'slow', verb: 'read', verdict: 'refused' });
    await server.close();
    expect(auditLines().at(-1)).toEqual({
      ...{ time: expect.any(String), since: expect.any(String), event: 'limited' },
      counts: { 'slow GET /v1/payouts/{partnerOrderId}': 30 },
    });
  });

  test('is documented for every operation, with retry-after', async () => {
    await start([PLAIN]);
    const { body } = await get(`${server.url}/openapi.json`);
    const { paths } = documentSchema.parse(body);
    const limited = Object.values(paths)
      .flatMap((methods) => Object.values(methods))
      .filter(({ security }) => security);
    expect(limited.length).toBeGreaterThan(20);
    for (const { responses } of limited) {
      expect(responses['429']).toHaveProperty('headers.retry-after');
      expect(JSON.stringify(responses['429'])).toContain('/problems/request-limit-exceeded');
    }
  });
});

describe('unknown keys', () => {
  const BEHIND_PROXY = { PAYOUTS_API_PROXIES: '127.0.0.0/8' };
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const guess = (at: number, address: string) => read({ ...as(`guess-${at}`), ...from(address) });

  /** Uses up the burst of an address. */
  async function guesses(address: string): Promise<number[]> {
    let at = 0;
    return statusesOf(UNKNOWN_KEYS_BURST + 10, () => guess(at++, address));
  }

  test('of one address: 401 for a burst, then 429; other addresses are not affected', async () => {
    await start([PLAIN, SCRAPER], BEHIND_PROXY);
    expect(await guesses('2001:db8:0:7::1')).toEqual([...times(UNKNOWN_KEYS_BURST, 401), ...times(10, 429)]);
    const next = await guess(0, '2001:db8:0:7::2');
    expect(next).toMatchObject({ ...TOO_MANY, headers: { 'retry-after': '1' } });
    expect((await guess(0, '2001:db8:0:8::1')).status).toBe(401);
    expect(await scrape()).toContain('payouts_http_requests_limited_total{limit="address"} 11');
    await clock.advance(50);
    expect((await guess(0, '2001:db8:0:7::1')).status).toBe(401);
    expect((await guess(0, '2001:db8:0:7::1')).status).toBe(429);
  });

  test('a guess beyond the limit is refused although it is right; a key that the address has used works', async () => {
    await start([PLAIN, SLOW], BEHIND_PROXY);
    expect((await read({ ...as('plain'), ...from('192.0.2.1') })).status).toBe(404);
    await guesses('192.0.2.1');
    expect(await read({ ...as('slow'), ...from('192.0.2.1') })).toMatchObject(TOO_MANY);
    expect((await read({ ...as('plain'), ...from('192.0.2.1') })).status).toBe(404);
    expect((await read({ ...as('slow'), ...from('192.0.2.2') })).status).toBe(404);
  });

  test('a request without a key is no guess, and a scrape with an unknown key is one', async () => {
    await start([PLAIN], BEHIND_PROXY);
    expect(await statusesOf(UNKNOWN_KEYS_BURST + 10, () => read({}))).toEqual(times(110, 401));
    expect((await guess(0, '127.0.0.1')).status).toBe(401);
    let at = 0;
    await statusesOf(UNKNOWN_KEYS_BURST, () => guess(at++, '192.0.2.1'));
    const headers = { ...as('guess'), ...from('192.0.2.1') };
    expect(await get(`${server.url}/metrics`, headers)).toMatchObject(TOO_MANY);
  });

  test('a flood of addresses uses bounded memory', () => {
    const limits = new RequestLimits({
      requestsPerSecond: 1,
      clock: new FakeClock(),
      onLimited: () => undefined,
    });
    const known = { hash: Buffer.alloc(32) };
    for (let at = 0; at < 30_000; at += 1) limits.checkKey(`198.51.${at >> 8}.${at & 255}`, known);
    expect(limits.size).toBeLessThanOrEqual(10_000);
  });
});
