/** docs/quickstart.md, walked through by a reader who knows nothing else: every command by a real shell, as it is on the page. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DeskBrowser } from '../support/desk.ts';
import { Reader } from '../support/reader.ts';
import { stepsOf } from '../support/walkthrough.ts';

const steps = stepsOf(readFileSync(join(import.meta.dirname, '../../docs/quickstart.md'), 'utf8'));
/** The page has the default ports. Here, the demo must use others, because other tests may need these. */
const TAKEN = [7233, 8233, 8090, 8080, 8081];
const holders: Server[] = [];
const opened: string[] = [];

const reader = new Reader({
  values: new Map(),
  varies: [[/(?<=http:\/\/127\.0\.0\.1:)\d+/g, 'PORT']],
  repeated: ['/v1/payouts/mine-1 -H', '/v1/payouts?limit=1'],
  open,
});

beforeAll(async () => {
  for (const port of TAKEN)
    holders.push(
      createServer()
        .on('error', () => undefined)
        .listen(port, '127.0.0.1'),
    );
  await reader.begin();
});
afterAll(async () => {
  await reader.end();
  for (const holder of holders) holder.close();
});

/** At the address that the demo printed. */
async function open(shown: string): Promise<void> {
  const { pathname, search } = new URL(shown);
  const { PAYOUTS_URL = '', KEY = '' } = parseEnv(
    readFileSync(reader.inClone('.quickstart/demo.env'), 'utf8'),
  );
  opened.push(pathname);
  if (pathname.startsWith('/desk')) {
    const browser = new DeskBrowser(PAYOUTS_URL);
    await browser.signIn(KEY);
    const { status, html } = await browser.get(pathname + search);
    expect({ status, html }).toMatchObject({ status: 200, html: expect.stringContaining('mine-1') });
    return;
  }
  const demo = reader.terminals.at(-1)?.output ?? '';
  const [, ui = ''] = /^Temporal UI +(\S+)$/m.exec(demo) ?? [];
  const { statusCode, body } = await request(`${ui}/api/v1${pathname}`);
  expect({ statusCode, body: await body.text() }).toMatchObject({
    statusCode: 200,
    body: expect.stringContaining('WORKFLOW_EXECUTION_STATUS_COMPLETED'),
  });
}

test('docs/quickstart.md takes a reader from a clone to the first payout, as it says', async () => {
  for (const step of steps) await reader.perform(step);
  expect(opened).toHaveLength(2);
});

test('the curl line that the demo prints works as pasted', async () => {
  const demo = reader.terminals.at(-1)?.output ?? '';
  const [command = ''] = /^ +curl .+$/m.exec(demo) ?? [];
  const { status, output } = (await reader.terminals[0]?.run(command)) ?? {};
  expect({ status, output }).toMatchObject({
    status: 0,
    output: expect.stringContaining('"partnerOrderId":"example-1"'),
  });
});
