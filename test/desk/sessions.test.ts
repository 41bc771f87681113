/** Who may use the desk: sessions, forms, proxies and permissions, over HTTP. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { standInClient } from '../../fuzz/temporal.ts';
import type { Environment } from '../../src/config/environment.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { BEHIND_IDENTITY_PROXY, DeskBrowser, fromProxy, startDesk } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import type { TestApiServer } from '../support/http.ts';
import { newKey } from '../support/keys.ts';
import { payoutRequest } from '../support/requests.ts';

const HOUR_MS = 3_600_000;
/** Exists in the stand-in for Temporal. */
const EXISTING = 'existing-payout-1';
const client = standInClient({
  ends: {},
  states: [['payout:', () => ({ phase: 'PROCESSING' })]],
  queries: {},
  argumentOf: () => payoutRequest(EXISTING),
});
const CALLERS = [
  callerEntry('desk'),
  callerEntry('reader', { verbs: ['read'] }),
  callerEntry('approver', { verbs: ['approve'] }),
  callerEntry('other', { applications: ['shop2'] }),
  callerEntry('scoped', { clientIds: ['client-2'], payerIds: ['payer-1'] }),
  callerEntry('finance', { users: ['olga@example.com'] }),
  callerEntry('office', { addresses: ['203.0.113.7'], users: ['ines@example.com'] }),
  callerEntry('slow', { requestsPerSecond: 1 }),
];
const servers: TestApiServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function desk(change: Environment = {}, clock?: FakeClock): Promise<string> {
  const environment = { PAYOUTS_API_KEYS_FILE: keysFile(CALLERS), ...change };
  const server = await startDesk(client, environment, clock ? { clock } : {});
  servers.push(server);
  return server.url;
}

async function signedIn(url: string, name = 'desk'): Promise<DeskBrowser> {
  const browser = new DeskBrowser(url);
  expect((await browser.signIn(`key-of-${name}`)).status).toBe(303);
  await browser.get('/desk/payout?partnerOrderId=none');
  return browser;
}

/** A page that needs a session, and nothing of Temporal. */
const PAGE = '/desk/payout?partnerOrderId=none';
const approve = { app: 'default', partnerOrderId: EXISTING };

describe('the desk', () => {
  test('is served only if it is switched on', async () => {
    expect((await new DeskBrowser(await desk({ PAYOUTS_DESK: '' })).get('/desk')).status).toBe(404);
  });

  test('sends pages that load nothing but its own files, and run no other script', async () => {
    const browser = await signedIn(await desk());
    for (const path of ['/desk/sign-in', PAGE, '/desk/no-such-page', '/desk/desk.css', '/desk/desk.js']) {
      const { headers } = await browser.get(path);
      const policy = String(headers['content-security-policy']).replaceAll(/;(?=\S)/g, '; ');
      expect(policy).toMatch(
        /^default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; form-action 'self'/,
      );
      expect(policy).not.toContain('unsafe');
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'same-origin',
        'x-request-id': expect.any(String),
      });
    }
    const { html, headers } = await browser.get(PAGE);
    expect(headers['cache-control']).toBe('no-store');
    expect(html.match(/<script[^>]*>/g)).toEqual(['<script src="/desk/desk.js" defer>']);
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/i);
  });
});

test('H323 a page about a problem, which does not ask for pauses, does not say that they cannot be read', async () => {
  const browser = await signedIn(await desk());
  const { status, html } = await browser.get(PAGE);
  expect(status).toBe(404);
  expect(html).not.toContain('Whether an application is paused');
});

describe('H346 a form that is sent after the session has ended decides nothing', () => {
  test.each([
    ['/desk/payout?partnerOrderId=x&from=inbox', '/desk/payout?partnerOrderId=x&from=inbox'],
    ['/desk/payouts/confirm-approve?all=on&batch=b', '/desk/payouts/confirm-approve?all=on&batch=b'],
    ['https://evil.example/desk/payouts', '/desk'],
    ['/v1/payouts', '/desk'],
    ['//evil.example/desk', '/desk'],
  ])('and the sign-in leads back to its page: %s', async (referer, next) => {
    const url = await desk();
    const browser = new DeskBrowser(url);
    await browser.get('/desk/sign-in');
    const from = referer.startsWith('http') ? referer : `${url}${referer}`;
    const { status, html } = await browser.post('/desk/payouts/approve', approve, { referer: from });
    expect(status).toBe(401);
    expect(html).toContain('Your session ended. Nothing was decided');
    const [, link = ''] = /href="(\/desk\/sign-in[^"]*)"/.exec(html) ?? [];
    const { searchParams } = new URL(link.replaceAll('&amp;', '&'), url);
    expect(searchParams.get('next')).toBe(next);
    await browser.get(link.replaceAll('&amp;', '&'));
    const begun = await browser.post('/desk/sign-in', {
      key: 'key-of-desk',
      next: searchParams.get('next') ?? '',
    });
    expect(begun.headers['location']).toBe(next);
  });
});

describe('a session', () => {
  test('H377 accepts the forms of all pages that open at once after the sign-in', async () => {
    const browser = new DeskBrowser(await desk());
    await browser.signIn('key-of-desk');
    const pages = await Promise.all([1, 2, 3].map(() => browser.get(PAGE)));
    for (const { html } of pages) {
      const [, formToken = ''] = /name="formToken" value="([^"]+)"/.exec(html) ?? [];
      const { status, html: answer } = await browser.post('/desk/payouts/poll', { ...approve, formToken });
      expect(status, answer).not.toBe(403);
    }
  });

  test('starts with the key of a caller; its cookie is encrypted, and only this desk gets it', async () => {
    const url = await desk();
    const browser = new DeskBrowser(url);
    const sent = await browser.get('/desk/payouts?phase=DONE');
    expect([sent.status, sent.headers['location']]).toEqual([
      303,
      '/desk/sign-in?next=%2Fdesk%2Fpayouts%3Fphase%3DDONE',
    ]);
    await browser.get(String(sent.headers['location']));
    const begun = await browser.post('/desk/sign-in', {
      key: 'key-of-desk',
      next: '/desk/payouts?phase=DONE',
    });
    expect([begun.status, begun.headers['location']]).toEqual([303, '/desk/payouts?phase=DONE']);
    expect(browser.setCookies).toEqual([
      expect.stringMatching(
        /^payouts_desk=[\w%]{200,}; Max-Age=28800; Path=\/desk; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    expect((await browser.get(PAGE)).html).toContain('Sign out');
  });

  test.each(['https://evil.example/desk', '//evil.example/desk', '/\\evil.example/desk', '/v1/payouts'])(
    'leads to no other place than the desk: %s',
    async (next) => {
      const browser = new DeskBrowser(await desk());
      await browser.get('/desk/sign-in');
      const { headers } = await browser.post('/desk/sign-in', { key: 'key-of-desk', next });
      expect(headers['location']).toBe('/desk');
    },
  );

  test('has a Secure cookie outside a test, and behind a proxy that ends TLS', async () => {
    const url = await desk({ PAYOUTS_API_PROXIES: '127.0.0.1' });
    const browser = new DeskBrowser(url, { 'x-forwarded-proto': 'https' });
    await browser.signIn('key-of-desk');
    expect(browser.setCookies).toEqual([expect.stringContaining('; Secure')]);
    const sandbox = await desk({
      PAYMENTS_ENVIRONMENT: 'sandbox',
      PAYMENTS_BASE_URL: '',
      PAYOUTS_ENCRYPTION_KEYS: newKey('k1'),
      PAYOUTS_DESK_SESSION_KEYS: newKey('s1'),
    });
    const plain = new DeskBrowser(sandbox);
    await plain.signIn('key-of-desk');
    expect(plain.setCookies).toEqual([expect.stringContaining('; Secure')]);
  });

  test('ends half an hour after its last use, and after eight hours', async () => {
    const clock = new FakeClock();
    const url = await desk({}, clock);
    const idle = await signedIn(url);
    await clock.advance(HOUR_MS / 2 - 1);
    expect((await idle.get(PAGE)).status).toBe(404);
    await clock.advance(HOUR_MS / 2);
    expect((await idle.get(PAGE)).status).toBe(303);
    const busy = await signedIn(url);
    for (let quarter = 1; quarter < 32; quarter += 1) {
      await clock.advance(HOUR_MS / 4);
      expect((await busy.get(PAGE)).status).toBe(404);
    }
    await clock.advance(HOUR_MS / 4);
    expect((await busy.get(PAGE)).status).toBe(303);
  });

  test('ends although a page loads itself again', async () => {
    const clock = new FakeClock();
    const open = await signedIn(await desk({}, clock));
    const again = `${PAGE}&live=on`;
    for (let minutes = 10; minutes < 30; minutes += 10) {
      await clock.advance(HOUR_MS / 6);
      expect((await open.get(again)).status).toBe(404);
    }
    await clock.advance(HOUR_MS / 6);
    expect((await open.get(again)).status).toBe(303);
  });

  test('ends at sign-out, also for a copy of the cookie, and when its key is removed', async () => {
    const file = keysFile(CALLERS);
    const url = await desk({ PAYOUTS_API_KEYS_FILE: file });
    const browser = await signedIn(url);
    const thief = new DeskBrowser(url);
    for (const [name, value] of browser.cookies) thief.cookies.set(name, value);
    expect((await thief.get(PAGE)).status).toBe(404);
    expect((await browser.post('/desk/sign-out')).headers['location']).toBe('/desk/sign-in');
    expect((await browser.get(PAGE)).status).toBe(303);
    expect((await thief.get(PAGE)).status).toBe(303);

    const removed = await signedIn(url);
    keysFile(CALLERS.slice(1), file);
    await eventually(async () => (await removed.get(PAGE)).status === 303 || undefined);
  });

  test('starts with no other key; failed sign-ins of an address are limited', async () => {
    const clock = new FakeClock();
    const browser = new DeskBrowser(await desk({}, clock));
    for (let failed = 0; failed < 10; failed += 1) {
      const { status, html } = await browser.signIn('not-a-key');
      expect(status).toBe(401);
      expect(html).toMatch(/role="alert">the key is unknown[\s\S]*<label for="key">/);
    }
    const limited = await browser.signIn('key-of-desk');
    expect([limited.status, limited.headers['retry-after']]).toEqual([429, '6']);
    await clock.advance(6_000);
    expect((await browser.signIn('key-of-desk')).status).toBe(303);
  });
});

describe('H276 a key with addresses', () => {
  const proxy = { PAYOUTS_API_PROXIES: '127.0.0.1' };
  const from = (address: string, more = {}) => ({ 'x-forwarded-for': address, ...more });

  test('signs in from them only, and its session works from them only', async () => {
    const url = await desk(proxy);
    const elsewhere = await new DeskBrowser(url, from('203.0.113.8')).signIn('key-of-office');
    const unknown = await new DeskBrowser(url, from('203.0.113.8')).signIn('key-of-nobody');
    expect(elsewhere.status).toBe(401);
    const withoutId = (html: string) => html.replace(/name="formToken" value="[^"]+"/, '');
    expect(withoutId(elsewhere.html)).toBe(withoutId(unknown.html));
    const browser = new DeskBrowser(url, from('203.0.113.7'));
    expect((await browser.signIn('key-of-office')).status).toBe(303);
    expect((await browser.get(PAGE)).status).toBe(404);
    const thief = new DeskBrowser(url, from('203.0.113.8'));
    for (const [name, value] of browser.cookies) thief.cookies.set(name, value);
    expect((await thief.get(PAGE)).status).toBe(303);
  });

  test('has users whom a proxy may name from them only', async () => {
    const url = await desk({ ...proxy, ...BEHIND_IDENTITY_PROXY });
    const person = fromProxy('ines@example.com');
    expect((await new DeskBrowser(url, from('203.0.113.7', person)).get(PAGE)).status).toBe(404);
    expect((await new DeskBrowser(url, from('203.0.113.8', person)).get(PAGE)).status).toBe(403);
  });
});

describe('two API servers with the same session keys', () => {
  /** The browser of `one`, whose next requests a load balancer sends to `url`. */
  const movedTo = (url: string, { cookies, formToken }: DeskBrowser) => {
    const moved = new DeskBrowser(url);
    for (const [name, value] of cookies) moved.cookies.set(name, value);
    return Object.assign(moved, { formToken });
  };

  test('share sessions and forms: a browser may change between them at any time', async () => {
    const shared = { PAYOUTS_DESK_SESSION_KEYS: newKey('s1') };
    const [first, second] = [await desk(shared), await desk(shared)];
    const visitor = new DeskBrowser(first);
    await visitor.get('/desk/sign-in');
    const begun = movedTo(second, visitor);
    expect((await begun.post('/desk/sign-in', { key: 'key-of-desk' })).status).toBe(303);
    await begun.get(PAGE);
    const back = movedTo(first, begun);
    expect((await back.get(PAGE)).status).toBe(404);
    expect((await movedTo(second, back).post('/desk/sign-out')).status).toBe(303);
    const stranger = movedTo(await desk({ PAYOUTS_DESK_SESSION_KEYS: newKey('s1') }), back);
    expect((await stranger.get(PAGE)).status).toBe(303);
  });

  test('a response that is in flight at the sign-out does not undo it', async () => {
    const shared = { PAYOUTS_DESK_SESSION_KEYS: newKey('s1') };
    const [first, second] = [await desk(shared), await desk(shared)];
    const browser = await signedIn(first);
    const inFlight = movedTo(second, browser);
    expect((await inFlight.get(PAGE)).status).toBe(404);
    await browser.post('/desk/sign-out');
    for (const [name, value] of inFlight.cookies) browser.cookies.set(name, value);
    expect((await movedTo(second, browser).get(PAGE)).status).toBe(303);
    await browser.signIn('key-of-desk');
    expect((await movedTo(second, browser).get(PAGE)).status).toBe(404);
  });

  test('keep the sessions while the key is replaced, and end those of a key that is removed', async () => {
    const [old, next] = [newKey('s1'), newKey('s2')];
    const before = await signedIn(await desk({ PAYOUTS_DESK_SESSION_KEYS: old }));
    const during = movedTo(await desk({ PAYOUTS_DESK_SESSION_KEYS: `${next},${old}` }), before);
    expect((await during.get(PAGE)).status).toBe(404);
    const after = await desk({ PAYOUTS_DESK_SESSION_KEYS: next });
    expect((await movedTo(after, during).get(PAGE)).status).toBe(404);
    expect((await movedTo(after, before).get(PAGE)).status).toBe(303);
  });
});

describe('a form', () => {
  test.each<[string, (browser: DeskBrowser) => Promise<{ status: number }>]>([
    ['without a token', (browser) => browser.post('/desk/payouts/approve', { ...approve, formToken: '' })],
    [
      'with another token',
      (browser) => browser.post('/desk/payouts/approve', { ...approve, formToken: 'A'.repeat(43) }),
    ],
    [
      'of another origin',
      (browser) => browser.post('/desk/payouts/approve', approve, { origin: 'https://evil.example' }),
    ],
    ['of an unknown origin', (browser) => browser.post('/desk/payouts/approve', approve, { origin: 'null' })],
    [
      'of another site',
      (browser) => browser.post('/desk/payouts/approve', approve, { 'sec-fetch-site': 'cross-site' }),
    ],
    [
      'of a script of this server',
      (browser) => browser.post('/desk/payouts/approve', approve, { 'sec-fetch-mode': 'cors' }),
    ],
    [
      'without an origin',
      (browser) =>
        browser.send(
          'POST',
          '/desk/payouts/approve',
          { 'content-type': 'application/x-www-form-urlencoded' },
          new URLSearchParams({ ...approve, formToken: browser.formToken }).toString(),
        ),
    ],
  ])('%s is refused', async (_what, send) => {
    const browser = await signedIn(await desk());
    expect((await send(browser)).status).toBe(403);
  });

  test('of one session is refused in another, and so is a sign-in form of another browser', async () => {
    const url = await desk();
    const [one, two] = [await signedIn(url), await signedIn(url)];
    const { formToken } = one;
    expect((await two.post('/desk/payouts/approve', { ...approve, formToken })).status).toBe(403);
    const [first, second] = [new DeskBrowser(url), new DeskBrowser(url)];
    await first.get('/desk/sign-in');
    await second.get('/desk/sign-in');
    const stolen = { key: 'key-of-desk', formToken: first.formToken };
    expect((await second.post('/desk/sign-in', stolen)).status).toBe(403);
  });

  test('with a repeated field, or one that is no form, is refused', async () => {
    const origin = await desk();
    const browser = await signedIn(origin);
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin };
    const twice = `formToken=${browser.formToken}&app=default&app=shop2&partnerOrderId=${EXISTING}`;
    expect((await browser.send('POST', '/desk/payouts/approve', headers, twice)).status).toBe(400);
    const json = { ...headers, 'content-type': 'application/json' };
    expect((await browser.send('POST', '/desk/payouts/approve', json, '{}')).status).toBe(415);
  });
});

test('an upload that ends early gets a page that says so', async () => {
  const origin = await desk();
  const browser = await signedIn(origin);
  const headers = { 'content-type': 'multipart/form-data; boundary=x', origin };
  const part = `--x\r\ncontent-disposition: form-data; name="formToken"\r\n\r\n${browser.formToken}\r\n`;
  const { status, html } = await browser.send('POST', '/desk/batches/preview', headers, part);
  expect([status, html]).toEqual([400, expect.stringContaining('the upload is incomplete')]);
});

describe('permissions are those of the key', () => {
  test('the requests of a caller are limited, on the desk and on the API together', async () => {
    const clock = new FakeClock();
    const url = await desk({}, clock);
    const browser = new DeskBrowser(url);
    await browser.signIn('key-of-slow');
    expect((await browser.get(PAGE)).status).toBe(404);
    const headers = { authorization: 'Bearer key-of-slow' };
    const read = () => new DeskBrowser(url, headers).get('/v1/payouts?limit=0');
    expect((await read()).status).toBe(400);
    const { status, headers: sent, html } = await browser.get(PAGE);
    expect([status, sent['retry-after']]).toEqual([429, '1']);
    expect(html).toContain('this key has sent too many requests');
    expect((await read()).status).toBe(429);
    clock.advance(1_000);
    expect((await browser.get(PAGE)).status).toBe(404);
  });

  test.each([
    ['no permission read', 'approver', PAGE, 'lacks the permission read'],
    ['another application', 'other', `/desk/payout?partnerOrderId=${EXISTING}`, 'application'],
  ])('%s', async (_what, name, path, why) => {
    const browser = new DeskBrowser(await desk());
    await browser.signIn(`key-of-${name}`);
    const { status, html } = await browser.get(path);
    expect([status, html]).toEqual([403, expect.stringContaining(why)]);
  });

  test("another client's payout looks absent", async () => {
    const browser = new DeskBrowser(await desk());
    await browser.signIn('key-of-scoped');
    expect((await browser.get(`/desk/payout?partnerOrderId=${EXISTING}`)).status).toBe(404);
  });

  test.each(['approve', 'refuse', 'cancel', 'resolve', 'poll'])(
    'the form %s needs its permission',
    async (verb) => {
      const browser = await signedIn(await desk(), 'reader');
      const { status, html } = await browser.post(`/desk/payouts/${verb}`, approve);
      expect([status, html]).toEqual([403, expect.stringContaining(`lacks the permission ${verb}`)]);
    },
  );
});

describe('behind a proxy that names the user', () => {
  test('a listed user has the permissions of the caller, and no form to sign in or out', async () => {
    const url = await desk(BEHIND_IDENTITY_PROXY);
    const olga = new DeskBrowser(url, fromProxy('Olga@example.com'));
    const { status, html } = await olga.get(PAGE);
    expect(status).toBe(404);
    expect(html).toContain('olga@example.com');
    expect(html).not.toContain('Sign out');
    expect((await olga.get('/desk/sign-in')).headers['location']).toBe('/desk');
  });

  test.each([
    ['an unlisted user', fromProxy('piet@example.com'), 'lists this user'],
    ['no user', fromProxy(), 'names no user'],
    ['a bearer key', { ...fromProxy(), authorization: 'Bearer key-of-desk' }, 'names no user'],
    ['H271 a user without the secret', { 'x-forwarded-user': 'olga@example.com' }, 'names no user'],
    [
      'H271 a user with another secret',
      { ...fromProxy('olga@example.com'), 'x-payouts-proxy-secret': 'secret-of-the-identity-proxy-of-testS' },
      'names no user',
    ],
    ['the name of a caller', fromProxy('finance'), 'lists this user'],
  ])('%s is refused', async (_what, headers, why) => {
    const { status, html } = await new DeskBrowser(await desk(BEHIND_IDENTITY_PROXY), headers).get(PAGE);
    expect([status, html]).toEqual([403, expect.stringContaining(why)]);
  });

  test('a key that is known starts no session', async () => {
    const browser = new DeskBrowser(await desk(BEHIND_IDENTITY_PROXY), fromProxy('olga@example.com'));
    await browser.get(PAGE);
    expect((await browser.post('/desk/sign-in', { key: 'key-of-finance' })).status).toBe(404);
    expect(browser.setCookies).toEqual([]);
  });

  test('H271 the header counts from the configured proxies only', async () => {
    const url = await desk({
      ...BEHIND_IDENTITY_PROXY,
      PAYOUTS_DESK_PROXIES: '10.0.0.7',
      PAYOUTS_API_PROXIES: '127.0.0.1',
    });
    expect((await new DeskBrowser(url, fromProxy('olga@example.com')).get(PAGE)).status).toBe(403);
  });

  test('a form counts for the user who got its page', async () => {
    const url = await desk({
      ...BEHIND_IDENTITY_PROXY,
      PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('finance', { users: ['olga', 'piet'] })]),
    });
    const olga = new DeskBrowser(url, fromProxy('olga'));
    await olga.get('/desk/receiving-account');
    const piet = new DeskBrowser(url, fromProxy('piet'));
    for (const [name, value] of olga.cookies) piet.cookies.set(name, value);
    const { formToken } = olga;
    expect((await piet.post('/desk/payouts/poll', { ...approve, formToken })).status).toBe(403);
  });
});

test('what a page sends instead of a page is no error in the log', async () => {
  const written: string[] = [];
  const stderr = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((chunk) => written.push(String(chunk)) > 0);
  try {
    const browser = await signedIn(await desk({ PAYOUTS_LOG_LEVEL: 'debug', PAYOUTS_LOG_FORMAT: 'json' }));
    expect((await browser.get('/desk/batches/template.csv')).status).toBe(200);
    expect((await browser.get('/desk/statement?from=2026-03-02&to=2026-03-01')).status).toBe(400);
    expect((await browser.get('/desk/payouts/decided?verb=approve&picks=cut')).status).toBe(404);
    expect(written.join('')).toContain('"level":"info"');
    expect(written.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  } finally {
    stderr.mockRestore();
  }
});

test('every request is in the audit trail with its id; no log holds a key or the id of a session', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'payouts-desk-')), 'audit.log');
  const written: string[] = [];
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    written.push(String(chunk));
    return true;
  });
  try {
    const url = await desk({ PAYOUTS_AUDIT_LOG: file, PAYOUTS_LOG_LEVEL: 'debug' });
    const browser = new DeskBrowser(url);
    await browser.get(PAGE);
    await browser.signIn('not-the-key-of-anybody');
    await browser.signIn('key-of-desk');
    await browser.get(`/desk/payout?app=default&partnerOrderId=${EXISTING}`, { 'x-request-id': 'read-1' });
    await browser.post('/desk/payouts/approve', { ...approve, note: 'fine' }, { 'x-request-id': 'decide-1' });
    const secrets = [...browser.cookies.values(), browser.formToken];
    await browser.post('/desk/sign-out');
    const audit = readFileSync(file, 'utf8');
    const lines = audit
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { route: 'GET /desk/payout', caller: null, status: 303, verdict: 'refused' },
      { route: 'POST /desk/sign-in', caller: null, status: 401, verdict: 'refused' },
      { route: 'POST /desk/sign-in', caller: 'desk', status: 303, verdict: 'accepted' },
      {
        route: 'GET /desk/payout',
        verb: 'read',
        caller: 'desk',
        xRequestId: 'read-1',
        partnerOrderId: EXISTING,
      },
      {
        ...{ route: 'POST /desk/payouts/approve', verb: 'approve', caller: 'desk' },
        ...{ xRequestId: 'decide-1', app: 'default', partnerOrderId: EXISTING },
      },
      { route: 'POST /desk/sign-out', caller: 'desk' },
    ]);
    for (const secret of ['not-the-key', 'key-of-desk', ...secrets])
      expect(`${audit}${written.join('')}`).not.toContain(secret);
  } finally {
    stderr.mockRestore();
  }
});
