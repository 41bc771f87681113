/** People sign in to the desk at a real OpenID provider, over HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import type { Environment } from '../../src/config/environment.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { type DeskBrowser, lockRateIdIn, startDesk } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import type { TestApiServer } from '../support/http.ts';
import {
  authorized,
  begun,
  browserAt,
  openIdSettings,
  signInAs,
  TestOpenIdProvider,
} from '../support/openid-provider.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const HOUR_MS = 3_600_000;
/** A page that needs a session, and nothing of Temporal. */
const PAGE = '/desk/payout?partnerOrderId=none';
const { keySha256: _none, ...roleOnly } = {
  ...callerEntry('finance', { roles: ['approvers', 'leads'] }),
  keySha256: 0,
};
const CALLERS = [roleOnly, callerEntry('viewer', { roles: ['viewers'], verbs: ['read'] })];
const OLGA = 'olga@example.com';
const PEOPLE = {
  olga: { email: 'Olga@example.com', email_verified: true, groups: ['staff', 'viewers', 'leads'] },
  piet: { email: 'piet@example.com', groups: 'viewers' },
  'oidc|7': { email: OLGA, email_verified: false, groups: ['approvers'] },
  guest: { email: 'guest@example.com', groups: ['staff'] },
  finance: { groups: ['approvers'] },
  odd: { email: 'odd@example.com', groups: { approvers: true } },
  slash: { email: 'finance/olga@example.com', groups: ['approvers'] },
};

let world: VirtualWorld;
let provider: TestOpenIdProvider;
beforeAll(async () => {
  world = await VirtualWorld.start();
  provider = await TestOpenIdProvider.start(PEOPLE);
});
afterAll(async () => {
  provider?.close();
  await world?.stop();
});

const servers: TestApiServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function desk(change: Environment = {}, clock = new FakeClock()): Promise<string> {
  const environment = { PAYOUTS_API_KEYS_FILE: keysFile(CALLERS), ...provider.settings, ...change };
  const server = await startDesk(world.client, environment, { clock });
  servers.push(server);
  return server.url;
}

async function signedIn(url: string, sub: string): Promise<DeskBrowser> {
  const browser = browserAt(url);
  expect((await signInAs(browser, sub)).status).toBe(303);
  return browser;
}

/** A copy of the browser with the cookies that it has now. */
function copyOf(url: string, { cookies }: DeskBrowser): DeskBrowser {
  const copy = browserAt(url);
  for (const [name, value] of cookies) copy.cookies.set(name, value);
  return copy;
}

async function expectNoSession(browser: DeskBrowser): Promise<void> {
  expect((await browser.get(PAGE)).status).toBe(303);
}

describe('a person whom the provider signs in', () => {
  test('gets to the page that was asked for, and signs out', async () => {
    const browser = browserAt(await desk());
    const sent = await browser.get('/desk/payouts?phase=DONE');
    expect(sent.headers['location']).toBe('/desk/sign-in?next=%2Fdesk%2Fpayouts%3Fphase%3DDONE');
    const page = await browser.get(String(sent.headers['location']));
    expect(page.html).toContain('href="/desk/sign-in/begin?next=%2Fdesk%2Fpayouts%3Fphase%3DDONE"');
    const { status, headers } = await signInAs(browser, 'olga', '/desk/payouts?phase=DONE');
    expect([status, headers['location']]).toEqual([303, '/desk/payouts?phase=DONE']);
    expect((await browser.get(PAGE)).html).toContain(OLGA);
    const copy = copyOf(servers[0]?.url ?? '', browser);
    expect((await browser.post('/desk/sign-out')).headers['location']).toBe('/desk/sign-in');
    await expectNoSession(browser);
    await expectNoSession(copy);
  });

  test('decides under the own name, with the permissions of the first caller that lists a role', async () => {
    const payout = payoutRequest(newPartnerOrderId());
    const { partnerOrderId } = payout;
    await world.payouts.start({ ...payout, approval: 'required' }, { startedBy: 'shop' });
    await eventually(() =>
      world.until({ partnerOrderId }, ({ phase }) => phase === 'AWAITING_APPROVAL').catch(() => undefined),
    );
    const url = await desk();
    const decide = async (sub: string) => {
      const browser = await signedIn(url, sub);
      const { html } = await browser.get(`/desk/payout?partnerOrderId=${partnerOrderId}`);
      const lockRateId = lockRateIdIn(html);
      return browser.post('/desk/payouts/approve', { app: 'default', partnerOrderId, lockRateId });
    };
    expect((await decide('piet')).html).toContain('lacks the permission approve');
    expect((await decide('olga')).status).toBe(303);
    expect(await world.payouts.result({ partnerOrderId })).toMatchObject({
      decisions: [{ action: 'approve', by: OLGA }],
    });
  });

  test('H272 has the name `sub` if the email is not verified', async () => {
    const { html } = await (await signedIn(await desk(), 'oidc|7')).get(PAGE);
    expect(html).toContain('<span>oidc|7</span>');
    expect(html).not.toContain(OLGA);
  });

  test.each([
    ['has no role of a caller', 'guest', 'guest@example.com has no role that opens the desk'],
    ['has the name of a caller', 'finance', 'a caller has the name of this person'],
    ['has roles in another form', 'odd', 'neither a text nor a list of texts'],
    ['has a name that names two', 'slash', 'cannot be recorded'],
  ])('H272 gets no session if the person %s', async (_what, sub, why) => {
    const browser = browserAt(await desk());
    const { status, html } = await signInAs(browser, sub);
    expect([status, html]).toEqual([403, expect.stringContaining(why)]);
    await expectNoSession(browser);
  });
});

describe('H273 a sign-in is refused', () => {
  async function refused(browser: DeskBrowser, path: string): Promise<void> {
    expect((await browser.get(path)).status).toBe(403);
    await expectNoSession(browser);
  }

  test('with another state', async () => {
    const browser = browserAt(await desk());
    const callback = await authorized(await begun(browser), 'olga');
    await refused(browser, callback.replace(/state=[^&]+/, 'state=another'));
    // Not even the right one counts after that.
    await refused(browser, callback);
  });

  test('with another nonce', async () => {
    const browser = browserAt(await desk());
    const at = await begun(browser);
    at.searchParams.set('nonce', 'another');
    await refused(browser, await authorized(at, 'olga'));
  });

  test('with a code of another sign-in', async () => {
    const [browser, other] = [browserAt(await desk()), browserAt(await desk())];
    const { searchParams } = new URL(await authorized(await begun(other), 'olga'), provider.issuer);
    const callback = await authorized(await begun(browser), 'piet');
    await refused(browser, callback.replace(/code=[^&]+/, `code=${searchParams.get('code')}`));
  });

  test('in a browser that did not begin it', async () => {
    const url = await desk();
    await refused(browserAt(url), await authorized(await begun(browserAt(url)), 'olga'));
  });

  test('a second time, also for a copy of the cookies', async () => {
    const url = await desk();
    const browser = browserAt(url);
    const callback = await authorized(await begun(browser), 'olga');
    const copy = copyOf(url, browser);
    expect((await browser.get(callback)).status).toBe(303);
    expect((await browser.get(callback)).status).toBe(403);
    await refused(copy, callback);
  });

  test('ten minutes after it began', async () => {
    const clock = new FakeClock();
    const browser = browserAt(await desk({}, clock));
    const callback = await authorized(await begun(browser), 'olga');
    await clock.advance(HOUR_MS / 6);
    await refused(browser, callback);
  });

  test('at another host, as is every page', async () => {
    const browser = browserAt(await desk());
    const evil = { host: 'evil.example' };
    expect((await browser.get('/desk/sign-in/begin', evil)).status).toBe(400);
    const callback = await authorized(await begun(browser), 'olga');
    expect((await browser.get(callback, evil)).status).toBe(400);
    expect((await browser.get(callback)).status).toBe(303);
    expect((await browser.get(PAGE, evil)).status).toBe(400);
    expect((await browser.get(PAGE)).status).toBe(404);
  });

  test('with a key', async () => {
    const browser = browserAt(await desk());
    await browser.get('/desk/sign-in');
    expect((await browser.post('/desk/sign-in', { key: 'key-of-viewer' })).status).toBe(404);
  });
});

describe('the session of a person', () => {
  test('ends half an hour after its last use', async () => {
    const clock = new FakeClock();
    const browser = await signedIn(await desk({}, clock), 'olga');
    await clock.advance(HOUR_MS / 2 - 1);
    expect((await browser.get(PAGE)).status).toBe(404);
    await clock.advance(HOUR_MS / 2);
    await expectNoSession(browser);
  });

  test('ends when no caller lists the role any more', async () => {
    const file = keysFile(CALLERS);
    const browser = await signedIn(await desk({ PAYOUTS_API_KEYS_FILE: file }), 'piet');
    expect((await browser.get(PAGE)).status).toBe(404);
    keysFile(CALLERS.slice(0, 1), file);
    await eventually(async () => (await browser.get(PAGE)).status === 303 || undefined);
  });
});

test('without the provider, the desk starts and says so; it signs people in once the provider responds', async () => {
  const [port = 0] = await freePorts(1);
  const browser = browserAt(await desk(openIdSettings(`http://127.0.0.1:${port}`)));
  const { status, html } = await browser.get('/desk/sign-in');
  expect([status, html]).toEqual([503, expect.stringContaining('identity provider can')]);
  expect((await browser.get('/desk/sign-in/begin')).status).toBe(503);
  const late = await TestOpenIdProvider.start(PEOPLE, port);
  try {
    expect((await signInAs(browser, 'olga')).status).toBe(303);
    expect((await browser.get(PAGE)).status).toBe(404);
  } finally {
    late.close();
  }
});
