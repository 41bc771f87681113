/** An API server on a real socket, by the clock of its Temporal, and helpers to call it. */
import type { Client } from '@temporalio/client';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { apiConfig } from '../../src/config/api-config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { type ApiServerOptions, buildServer } from '../../src/starters/api/server.ts';
import { virtualClockOf } from './virtual-clocks.ts';

const TEST: Environment = {
  // In virtual time, a test's requests follow one another at once.
  PAYOUTS_API_REQUESTS_PER_SECOND: '10000',
  PAYOUTS_LOG_LEVEL: 'silent',
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_BASE_URL: 'http://127.0.0.1:9',
};

/** The settings of an API server against a simulator on this machine. */
export const LOOPBACK = apiConfig(TEST);

export interface TestApiServer {
  url: string;
  close(): Promise<void>;
}

export async function startApiServer(
  client: Client,
  environment: Environment = {},
  options: ApiServerOptions = {},
): Promise<TestApiServer> {
  const clock = virtualClockOf(client);
  const server = await buildServer(client, apiConfig({ ...TEST, ...environment }), {
    ...(clock && { clock }),
    // A starved machine may hold a request of a test back for longer than the default.
    requestTimeoutMs: 60_000,
    ...options,
  });
  const url = await server.listen({ host: '127.0.0.1', port: Number(environment['PORT'] ?? 0) });
  return { url, close: () => server.close() };
}

export interface HttpResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: unknown;
}

/** Sends the request again while Temporal does not respond in time, as the response advises: a busy machine is no failure. */
export const post = (...request: Parameters<typeof postOnce>) => whileUnavailable(() => postOnce(...request));
export const get = (...request: Parameters<typeof getOnce>) => whileUnavailable(() => getOnce(...request));

/** The server may close a kept connection while a request is on its way, and nobody repeats the request. */
const FRESH = new Agent({ pipelining: 0 });

/** For tests that expect such a response. */
export async function postOnce(
  url: string,
  body: string | Buffer | object,
  headers: Record<string, string> = {},
): Promise<HttpResponse> {
  const response = await request(url, {
    method: 'POST',
    dispatcher: FRESH,
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  });
  return { status: response.statusCode, headers: response.headers, body: await bodyOf(response.body) };
}

export async function getOnce(url: string, headers: Record<string, string> = {}): Promise<HttpResponse> {
  const response = await request(url, { dispatcher: FRESH, headers });
  return { status: response.statusCode, headers: response.headers, body: await bodyOf(response.body) };
}

const UNAVAILABLE = z.object({
  type: z.enum(['/problems/temporal-unavailable', '/problems/notification-not-delivered']),
});

async function whileUnavailable(send: () => Promise<HttpResponse>): Promise<HttpResponse> {
  for (;;) {
    const response = await send();
    if (response.status !== 503 || !UNAVAILABLE.safeParse(response.body).success) return response;
  }
}

/** As a sender does it. Returns the 202. */
export async function accepted(url: string, body: object): Promise<HttpResponse> {
  const response = await post(url, body);
  if (response.status !== 202)
    throw new Error(`responded ${response.status}: ${JSON.stringify(response.body)}`);
  return response;
}

/** A link for one authorization, at `api` wherever the redirect URI points. */
export async function newLink(api: string, headers: Record<string, string> = {}): Promise<string> {
  const { status, body } = await post(`${api}/v1/authorizations`, {}, headers);
  if (status !== 201) throw new Error(`responded ${status}: ${JSON.stringify(body)}`);
  const { pathname, search } = new URL(z.object({ url: z.url() }).parse(body).url);
  return `${api}${pathname}${search}`;
}

async function bodyOf(body: { text(): Promise<string> }): Promise<unknown> {
  const text = await body.text();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
