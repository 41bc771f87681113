/** An OpenID provider on a real socket, at which a test signs in as a browser does. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import type { Environment } from '../../src/config/environment.ts';
import { DeskBrowser } from './desk.ts';

/** Where the desk is for browsers and the provider. Requests go to its real address. */
const ORIGIN = 'http://desk.test';

/** The claims of each person, by `sub`. */
export type People = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export class TestOpenIdProvider {
  readonly issuer: string;
  readonly close: () => void;

  private constructor(issuer: string, close: () => void) {
    this.issuer = issuer;
    this.close = close;
  }

  /** `port`: by default any. */
  static async start(people: People, port = 0): Promise<TestOpenIdProvider> {
    const server = createServer();
    await once(server.listen(port, '127.0.0.1'), 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the provider has no port');
    const issuer = `http://127.0.0.1:${address.port}`;
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: 'payouts-desk',
          client_secret: 'secret-of-the-desk-of-tests',
          redirect_uris: [`${ORIGIN}/desk/sign-in/callback`],
        },
      ],
      claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'] },
      conformIdTokenClaims: false,
      pkce: { required: () => true },
      findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...people[sub], sub }) }),
    });
    server.on('request', provider.callback());
    return new TestOpenIdProvider(issuer, () => {
      server.close();
      server.closeAllConnections();
    });
  }

  /** The settings of a desk whose people sign in here. */
  get settings(): Environment {
    return openIdSettings(this.issuer);
  }
}

export function openIdSettings(issuer: string): Environment {
  return {
    PAYOUTS_DESK_URL: ORIGIN,
    PAYOUTS_DESK_OIDC_ISSUER: issuer,
    PAYOUTS_DESK_OIDC_CLIENT_ID: 'payouts-desk',
    PAYOUTS_DESK_OIDC_CLIENT_SECRET: 'secret-of-the-desk-of-tests',
  };
}

/** A browser at the desk. `url`: the real address of the desk. */
export function browserAt(url: string): DeskBrowser {
  return new DeskBrowser(url, { host: new URL(ORIGIN).host }, ORIGIN);
}

/** The address at the provider to which the desk sends the browser. */
export async function begun(browser: DeskBrowser, next = '/desk'): Promise<URL> {
  const { status, headers } = await browser.get(`/desk/sign-in/begin?${new URLSearchParams({ next })}`);
  if (status !== 303) throw new Error(`the desk responded ${status}`);
  return new URL(String(headers['location']));
}

/** Signs in at the provider. Returns the path of the desk to which it leads. */
export async function authorized(at: URL, sub: string): Promise<string> {
  const browser = new DeskBrowser(at.origin);
  let next = `${at.pathname}${at.search}`;
  for (;;) {
    const shown = await browser.get(next);
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(shown.html) ?? [];
    const [, prompt = ''] = /name="prompt" value="(\w+)"/.exec(shown.html) ?? [];
    if (shown.status >= 400) throw new Error(`the provider responded ${shown.status}: ${shown.html}`);
    const { headers } =
      action === undefined
        ? shown
        : await browser.post(new URL(action).pathname, { prompt, login: sub, password: '-' });
    const target = new URL(String(headers['location']), at);
    next = `${target.pathname}${target.search}`;
    if (target.origin === ORIGIN) return next;
  }
}

/** Signs in to the desk. Returns its response to the callback. */
export async function signInAs(browser: DeskBrowser, sub: string, next?: string) {
  return browser.get(await authorized(await begun(browser, next), sub));
}
