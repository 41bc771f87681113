/** The desk on a real socket, used over HTTP as a browser without scripts uses it. */

import type { Client } from '@temporalio/client';
import { request } from 'undici';
import type { Environment } from '../../src/config/environment.ts';
import type { ApiServerOptions } from '../../src/starters/api/server.ts';
import { startApiServer, type TestApiServer } from './http.ts';

export function startDesk(
  client: Client,
  environment: Environment,
  options: ApiServerOptions = {},
): Promise<TestApiServer> {
  return startApiServer(client, { PAYOUTS_DESK: 'on', ...environment }, options);
}

export interface DeskAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  html: string;
}

/** Keeps cookies, and the token of the last page's forms. */
export class DeskBrowser {
  readonly cookies = new Map<string, string>();
  /** The `set-cookie` headers of the last answer. */
  setCookies: string[] = [];
  formToken = '';
  private readonly url: string;
  private readonly headers: Record<string, string>;

  constructor(url: string, headers: Record<string, string> = {}) {
    this.url = url;
    this.headers = headers;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<DeskAnswer> {
    return this.send('GET', path, headers);
  }

  /** Sends a form of the last page. */
  post(
    path: string,
    fields: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<DeskAnswer> {
    const form = new URLSearchParams({ formToken: this.formToken, ...fields });
    const type = { 'content-type': 'application/x-www-form-urlencoded', origin: this.url };
    return this.send('POST', path, { ...type, ...headers }, form.toString());
  }

  async signIn(key: string): Promise<DeskAnswer> {
    await this.get('/desk/sign-in');
    return this.post('/desk/sign-in', { key });
  }

  async send(
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<DeskAnswer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await request(this.url + path, {
      method,
      headers: { ...(cookie && { cookie }), ...this.headers, ...headers },
      ...(body !== undefined && { body }),
    });
    this.setCookies = [answer.headers['set-cookie'] ?? []].flat();
    for (const line of this.setCookies) this.keep(line);
    const html = await answer.body.text();
    const [, token] = /name="formToken" value="([^"]+)"/.exec(html) ?? [];
    this.formToken = token ?? this.formToken;
    return { status: answer.statusCode, headers: answer.headers, html };
  }

  private keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === '' || /Expires=Thu, 01 Jan 1970/.test(line)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
