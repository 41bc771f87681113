/** `/docs/try` in a real browser. Temporal is not needed: the page sends requests to the API server. */
import { Client, Connection } from '@temporalio/client';
import type { Browser } from 'playwright-core';
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

test('by default there is no such page, and /docs does not name it', async () => {
  const other = await startApiServer(new Client({ connection: nowhere }));
  expect((await get(`${other.url}/docs/try`)).status).toBe(404);
  expect(String((await get(`${other.url}/docs`)).body)).not.toContain('/docs/try');
  await other.close();
});

describe('the page', () => {
  test('has a policy that allows this server only; other pages keep theirs', async () => {
    const { status, headers, body } = await get(`${service.url}/docs/try`);
    expect(status).toBe(200);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe/);
    expect(String(body)).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    const docs = await get(`${service.url}/docs`);
    expect(docs.headers['content-security-policy']).not.toContain('script-src');
    expect(String(docs.body)).toContain('href="/docs/try"');
    expect((await get(`${service.url}/openapi.json`)).headers).not.toHaveProperty('content-security-policy');
  });

  test('sends a request with the key that a person enters, and loads nothing from another host', async () => {
    const page = await patient(browser.newPage());
    const foreign: string[] = [];
    const violations: string[] = [];
    page.on('request', (sent) => {
      const { protocol, origin } = new URL(sent.url());
      if (protocol !== 'data:' && origin !== service.url) foreign.push(sent.url());
    });
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) violations.push(message.text());
    });
    await page.goto(`${service.url}/docs/try`);
    await page.locator('button.authorize').click();
    await page.locator('.auth-container input').fill('key-of-reader');
    await page.locator('.auth-container button.authorize').click();
    await page.locator('.auth-container .btn-done').click();
    const operation = page.locator('.opblock', { has: page.locator('[data-path="/metrics"]') });
    await operation.locator('.opblock-summary-control').click();
    await operation.locator('.try-out__btn').click();
    const sent = page.waitForRequest((request) => request.url() === `${service.url}/metrics`);
    await operation.locator('button.execute').click();
    expect((await sent).headers()['authorization']).toMatch(/^Bearer /);
    await operation.locator('.live-responses-table').getByText('payouts_').first().waitFor();
    expect({ foreign, violations }).toEqual({ foreign: [], violations: [] });
    await page.close();
  });
});
