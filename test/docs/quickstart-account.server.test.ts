/**
 * docs/quickstart-account.md, walked through by a reader who knows nothing else: every command by a real shell, with real
 * processes, a Temporal dev server and the simulator as the provider. What is printed is what the page shows.
 */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { Reader } from '../support/reader.ts';
import { NO_POLLS } from '../support/test-world.ts';
import { startTlsFront, type TlsFront } from '../support/tls-front.ts';
import { stepsOf } from '../support/walkthrough.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'docs/quickstart-account.md');
const markdown = readFileSync(PAGE, 'utf8');
const steps = stepsOf(markdown);

const APP = { appId: 'app-of-a-stranger', appSecret: 'secret-of-a-stranger' };
/** Of the page: the payout, and who the user turns out to be. */
const PAYOUT = 'first-payout';
const USER = 'user-1';

/** What the reader replaces, by the table on the page. Hashes and links are added when they are printed. */
const values = new Map<string, string>();
let simulator: Simulator;
/** Outside a test, the provider must be https. */
let provider: TlsFront;
let reader: Reader;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-quickstart-'));
  const [temporal, ui, api, codec] = (await freePorts(4)).map(String);
  const address = `http://127.0.0.1:${api}`;
  const notifyUrl = `${address}/v1/notifications/default`;
  const redirectUri = `${address}/v1/oauth/default/callback`;
  simulator = await startSimulator({ apps: [{ ...APP, notifyUrl, redirectUri }] });
  provider = await startTlsFront(simulator.url, folder);
  simulator.control.setAccounts('payer-7', [{ currency: 'USD', available: '5000.00' }]);
  // It ends when the test says so.
  simulator.control.setScenario(PAYOUT, 'success final=1d');
  for (const [shown, value] of Object.entries({
    'https://api.provider.example': provider.url,
    'https://auth.provider.example': provider.url,
    'api.provider.example': new URL(provider.url).host,
    'auth.provider.example': new URL(provider.url).host,
    'replace-with-your-app-id': APP.appId,
    'https://payouts.example': address,
    'client-1001': 'client-7',
    'payer-1001': 'payer-7',
    '6222020000000001': '6222020000000077',
    7233: temporal,
    8233: ui,
    8080: api,
    8081: codec,
  }))
    values.set(shown, value ?? '');
  const options = {
    values,
    environment: { ...NO_POLLS, NODE_EXTRA_CA_CERTS: provider.certificateFile },
    typed: new Map([['read -rs', APP.appSecret]]),
    meanwhile: new Map([
      ['payouts -- result', () => simulator.control.changeOrder(PAYOUT, { status: 'SUCCESS' })],
    ]),
    repeated: ['payouts -- status'],
    // A hash, or the link for a user.
    copied: /^[0-9a-f]{64}$|(?<=authorize\?link=)[\w.-]+/m,
    open,
  };
  reader = new Reader(options, folder);
  await reader.begin();
});
afterAll(async () => {
  await reader?.end();
  await provider?.close();
  await simulator?.close();
});

/** What the reader opens in a browser: the consent of a user, or a payout in the Temporal UI. */
async function open(url: string): Promise<void> {
  if (url.includes('/authorize?')) await consent(url);
  else await lookAtWorkflow(new URL(url));
}

async function consent(url: string): Promise<void> {
  const sent = await visit(url);
  const page = new URL(sent.location);
  const cookie = sent.cookie.split(';')[0] ?? '';
  const form = new URLSearchParams([...page.searchParams, ['decision', 'allow'], ['open_id', USER]]);
  const back = await visit(`${page.origin}${page.pathname}`, { method: 'POST', body: form.toString() });
  const { status, text } = await visit(back.location, { headers: { cookie } });
  expect(status, text).toBe(200);
  expect(markdown).toContain('"Access granted"');
  expect(text).toContain('Access granted');
}

async function visit(url: string, options: Parameters<typeof request>[1] = {}) {
  const dispatcher = new Agent({ connect: { ca: provider.certificate } });
  const { statusCode, headers, body } = await request(url, { dispatcher, ...options });
  const [location, cookie] = [headers['location'], headers['set-cookie']].map(String);
  return { status: statusCode, location: location ?? '', cookie: cookie ?? '', text: await body.text() };
}

/** The UI draws in the browser; what it draws comes from Temporal by the same server. */
async function lookAtWorkflow({ origin, pathname }: URL): Promise<void> {
  expect((await visit(`${origin}${pathname}`)).status).toBe(200);
  const { status, text } = await visit(`${origin}/api/v1${pathname}`);
  expect(status, text).toBe(200);
  expect(JSON.parse(text)).toMatchObject({
    workflowExecutionInfo: { type: { name: 'payout' }, status: 'WORKFLOW_EXECUTION_STATUS_COMPLETED' },
  });
}

describe('docs/quickstart-account.md', () => {
  test('takes a reader from an account to the result of the first payout, as it says', async () => {
    for (const step of steps) await reader.perform(step);
    // Money left once, and the secrets are nowhere but in files.
    expect(simulator.control.ledgerOf(PAYOUT)).toMatchObject({ debits: 1 });
    expect(readFileSync(reader.inClone('.env'), 'utf8')).not.toContain(APP.appSecret);
    for (const terminal of reader.terminals) expect(terminal.output).not.toContain(APP.appSecret);
  });

  test('has a row for every value that the reader replaces, and uses each', () => {
    const rows = [...markdown.matchAll(/^\| (`.+?) +\|/gm)].map(([, cell = '']) => cell);
    const named = rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, value]) => value));
    const replaceable = [...values.keys()].filter((value) => !/^([0-9a-f]{64}|t1\..+)$/.test(value));
    expect(named.sort()).toEqual(replaceable.sort());
    const typed = JSON.stringify(steps);
    expect(replaceable.filter((value) => !typed.includes(value))).toEqual([]);
  });

  test('says in every step what differs in production', () => {
    const numbered = markdown.split(/^## /m).filter((section) => /^\d/.test(section));
    expect(numbered.length).toBeGreaterThan(8);
    expect(numbered.filter((section) => !section.includes('**Production:**'))).toEqual([]);
  });
});
