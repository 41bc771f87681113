/** The desk on a real socket: over HTTP as a browser without scripts uses it, and in a real browser. */

import type { Client } from '@temporalio/client';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { request } from 'undici';
import type { Environment } from '../../src/config/environment.ts';
import type { ApiServerOptions } from '../../src/starters/api/server.ts';
import { launchBrowser, patient } from './browser.ts';
import { callerEntry, keysFile } from './callers.ts';
import { startApiServer, type TestApiServer } from './http.ts';
import { newPartnerOrderId } from './test-world.ts';
import { VirtualWorld, type VirtualWorldOptions } from './virtual-world.ts';

export function startDesk(
  client: Client,
  environment: Environment,
  options: ApiServerOptions = {},
): Promise<TestApiServer> {
  return startApiServer(client, { PAYOUTS_DESK: 'on', ...environment }, options);
}

const PROXY_SECRET = 'secret-of-the-identity-proxy-of-tests';

/** The settings of a desk behind an identity proxy on this machine. */
export const BEHIND_IDENTITY_PROXY: Environment = {
  PAYOUTS_DESK_USER_HEADER: 'X-Forwarded-User',
  PAYOUTS_DESK_PROXIES: '127.0.0.1',
  PAYOUTS_DESK_PROXY_SECRETS: PROXY_SECRET,
};

/** The headers of the proxy. `user`: undefined if it names nobody. */
export function fromProxy(user?: string): Record<string, string> {
  return { 'x-payouts-proxy-secret': PROXY_SECRET, ...(user !== undefined && { 'x-forwarded-user': user }) };
}

export interface DeskResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  html: string;
}

/** Keeps cookies, and the token of the last page's forms. */
export class DeskBrowser {
  readonly cookies = new Map<string, string>();
  /** The `set-cookie` headers of the last response. */
  setCookies: string[] = [];
  formToken = '';
  private readonly url: string;
  private readonly headers: Record<string, string>;
  private readonly origin: string;

  /** `origin`: of the pages, if it is not that of the address. */
  constructor(url: string, headers: Record<string, string> = {}, origin = url) {
    this.url = url;
    this.headers = headers;
    this.origin = origin;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<DeskResponse> {
    return this.send('GET', path, headers);
  }

  /** Sends a form of the last page. */
  post(
    path: string,
    fields: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<DeskResponse> {
    const form = new URLSearchParams({ formToken: this.formToken, ...fields });
    const type = { 'content-type': 'application/x-www-form-urlencoded', origin: this.origin };
    return this.send('POST', path, { ...type, ...headers }, form.toString());
  }

  async signIn(key: string): Promise<DeskResponse> {
    await this.get('/desk/sign-in');
    return this.post('/desk/sign-in', { key });
  }

  async send(
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string>,
    body?: string | Uint8Array,
  ): Promise<DeskResponse> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await request(this.url + path, {
      method,
      headers: { ...(cookie && { cookie }), ...this.headers, ...headers },
      ...(body !== undefined && { body }),
    });
    this.setCookies = [response.headers['set-cookie'] ?? []].flat();
    for (const line of this.setCookies) this.keep(line);
    const html = await response.body.text();
    const [, token] = /name="formToken" value="([^"]+)"/.exec(html) ?? [];
    this.formToken = token ?? this.formToken;
    return { status: response.statusCode, headers: response.headers, html };
  }

  private keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === '' || /Expires=Thu, 01 Jan 1970/.test(line)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

/** Uploads rows as a batch, and returns the preview. `start` sends its form. */
export async function uploadBatch(
  browser: DeskBrowser,
  origin: string,
  rows: readonly object[],
): Promise<{ preview: string; start(): Promise<DeskResponse> }> {
  const text = rows.map((row) => JSON.stringify(row)).join('\n');
  const { html } = await upload(browser, origin, text, 'payouts.ndjson');
  return { preview: html, start: () => browser.post('/desk/batches/start', startFields(html)) };
}

export async function upload(
  browser: DeskBrowser,
  origin: string,
  file: string | Buffer,
  name: string,
  batchId = newPartnerOrderId(),
): Promise<DeskResponse> {
  await browser.get('/desk/batches');
  const form = new FormData();
  form.set('formToken', browser.formToken);
  form.set('batchId', batchId);
  form.set('file', new Blob([Buffer.from(file)]), name);
  const encoded = new Response(form);
  const headers = { 'content-type': encoded.headers.get('content-type') ?? '', origin };
  const body = new Uint8Array(await encoded.arrayBuffer());
  return browser.send('POST', '/desk/batches/preview', headers, body);
}

/** The hidden fields of the form that starts a batch. */
export function startFields(preview: string): Record<string, string> {
  const [, form = ''] = preview.split('action="/desk/batches/start"');
  const fields = form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  return Object.fromEntries([...fields].map(([, field = '', value = '']) => [field, value]));
}

/** A world with a desk and a browser. Its callers are `desk`, `shop`, and `scoped`, which is limited to `client-2`. */
export class DeskStage {
  readonly world: VirtualWorld;
  readonly server: TestApiServer;
  readonly browser: Browser;

  private constructor(world: VirtualWorld, server: TestApiServer, browser: Browser) {
    this.world = world;
    this.server = server;
    this.browser = browser;
  }

  static async start(options: VirtualWorldOptions = {}): Promise<DeskStage> {
    const world = await VirtualWorld.start(options);
    const callers = ['desk', 'shop'].map((name) => callerEntry(name));
    const server = await startDesk(world.client, {
      PAYOUTS_API_KEYS_FILE: keysFile([
        ...callers,
        callerEntry('scoped', { clientIds: ['client-2'], payerIds: ['payer-1'] }),
      ]),
      PAYOUTS_DESK_TEMPORAL_UI: 'https://temporal.example/ui/',
      ...options.env,
    });
    return new DeskStage(world, server, await launchBrowser());
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.server.close();
    await this.world.stop();
  }

  /** A page of a person who has signed in. By default without JavaScript. */
  async signedIn(name = 'desk', options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({
      ...{ baseURL: this.server.url, javaScriptEnabled: false },
      ...options,
    });
    const page = await patient(context.newPage());
    await page.goto('/desk');
    await page.getByLabel('Key').fill(`key-of-${name}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
    return page;
  }
}

/** As it is rendered. */
export async function textOf(locator: Locator): Promise<string> {
  return (await locator.allInnerTexts()).join('\n');
}

/** The quote that the forms of a page name; another text if it has none. */
export function lockRateIdIn(html: string): string {
  return /name="lockRateId" value="([^"]+)"/.exec(html)?.[1] ?? 'none';
}
