/** `/docs` in a real browser. Temporal is not needed: the page sends requests to the API server. */
import { Client, Connection } from '@temporalio/client';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser, patient } from '../support/browser.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { get, startApiServer, type TestApiServer } from '../support/http.ts';

const nowhere = Connection.lazy({ address: '127.0.0.1:9' });
let service: TestApiServer;
let browser: Browser;

beforeAll(async () => {
  service = await startApiServer(new Client({ connection: nowhere }), {
    PAYOUTS_API_TRY_OUT: 'on',
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('reader', { verbs: ['metrics'] })]),
  });
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await service.close();
  await nowhere.close();
});

/** The part of the page about one route. */
async function metricsOn(page: Page, url: string) {
  await page.goto(`${url}/docs`);
  await page.getByRole('button', { name: 'Metrics for Prometheus HTTP Method: GET' }).click();
  const operation = page.getByRole('region', { name: 'Metrics for Prometheus' });
  await operation.getByRole('heading', { name: 'Metrics for Prometheus' }).waitFor();
  return operation;
}

test('by default the page only shows the routes', async () => {
  const other = await startApiServer(new Client({ connection: nowhere }));
  const page = await patient(browser.newPage());
  const operation = await metricsOn(page, other.url);
  await operation.getByText('/metrics').first().waitFor();
  expect(await page.getByRole('button', { name: /Test Request/ }).count()).toBe(0);
  await page.close();
  await other.close();
});

test('/ leads to the page, and every link of it works', async () => {
  const { status, body } = await get(`${service.url}/`);
  expect(status).toBe(200);
  const links = [...String(body).matchAll(/href="([^"]+)"/g)].map(([, path = '']) => path);
  expect(links).toEqual(expect.arrayContaining(['/docs', '/openapi.json', '/healthz']));
  for (const path of links) expect((await get(service.url + path)).status, path).toBe(200);
});

describe('the page', () => {
  test('has a policy that allows this server only', async () => {
    const { status, headers, body } = await get(`${service.url}/docs`);
    expect(status).toBe(200);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe/);
    expect(String(body)).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    expect((await get(`${service.url}/openapi.json`)).headers).not.toHaveProperty('content-security-policy');
  });

  test('sends a request with the key that a person enters, and loads nothing from another host', async () => {
    const page = await patient(browser.newPage());
    const foreign: string[] = [];
    const violations: string[] = [];
    page.on('request', (sent) => {
      const { protocol, origin } = new URL(sent.url());
      if (!['data:', 'blob:'].includes(protocol) && origin !== service.url) foreign.push(sent.url());
    });
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) violations.push(message.text());
    });
    const operation = await metricsOn(page, service.url);
    await operation.getByRole('button', { name: /Test Request/ }).click();
    const client = page.getByRole('dialog', { name: 'API Client' });
    await client.getByRole('textbox', { name: 'Bearer Token' }).fill('key-of-reader');
    const sent = page.waitForRequest((request) => request.url() === `${service.url}/metrics`);
    await client.getByRole('button', { name: /^Send get request/ }).click();
    const request = await sent;
    expect(request.headers()['authorization']).toBe('Bearer key-of-reader');
    expect((await request.response())?.status()).toBe(200);
    await client.getByText('200').first().waitFor();
    expect({ foreign, violations }).toEqual({ foreign: [], violations: [] });
    expect(await page.evaluate('JSON.stringify({ ...localStorage })')).not.toContain('key-of-reader');
    await page.close();
  });
});
