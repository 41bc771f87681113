/** Statements of many payouts: in bounded memory, at the speed of their reader, and never cut without a sign. */
import { get as httpGet, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, getOnce, startApiServer, type TestApiServer } from '../support/http.ts';
import { ListedPayouts } from '../support/listed-payouts.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const HOUR_MS = 3_600_000;
const COUNT = 20_000;

let world: VirtualWorld;
let list: ListedPayouts;
let service: TestApiServer;
let keys: string;
let path: string;

beforeEach(async () => {
  world = await VirtualWorld.start();
  const untilMs = world.clock.wallMs() - HOUR_MS;
  const fromMs = untilMs - HOUR_MS;
  list = new ListedPayouts(world, { count: COUNT, fromMs, untilMs });
  keys = keysFile([callerEntry('one'), callerEntry('two')]);
  service = await startApiServer(world.client, { PAYOUTS_API_KEYS_FILE: keys });
  const [from, to] = [fromMs, untilMs].map((ms) => new Date(ms).toISOString());
  path = `${service.url}/v1/statements?from=${from}&to=${to}&format=ndjson`;
});
afterEach(async () => {
  await service.close();
  await world.stop();
});

function open(name = 'one'): Promise<IncomingMessage> {
  return new Promise((resolve, reject) =>
    httpGet(path, { headers: as(name) }, resolve).once('error', reject),
  );
}

/** Resolves with the text, and whether the response ended as HTTP wants it. */
async function read(response: IncomingMessage): Promise<{ text: string; isWhole: boolean }> {
  let text = '';
  try {
    for await (const part of response) text += String(part);
  } catch {
    return { text, isWhole: false };
  }
  return { text, isWhole: response.complete };
}

test('H303 20,000 payouts come whole, with few lists, and a caller who reads no more stops the reading', async () => {
  const slow = await open();
  const { requests } = list;
  // Nobody reads it: after the buffers are full, nothing is read from Temporal either.
  let before = -1;
  await eventually(async () => {
    const isStill = list.reads === before;
    before = list.reads;
    return isStill || undefined;
  });
  expect(list.reads).toBeLessThan(COUNT / 2);
  const { text, isWhole } = await read(slow);
  const lines = text.trimEnd().split('\n');
  expect([lines.length, isWhole]).toEqual([COUNT + 1, true]);
  expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ end: { payouts: COUNT, unreadable: 0, isFinal: true } });
  // A page has 1,000 payouts, and a query the follow-ups of 100.
  expect(list.requests - requests).toBeLessThanOrEqual(COUNT / 1_000 + COUNT / 100);
});

test('H303 an error breaks the response: no part of a statement looks whole', async () => {
  list.failsAfter = 1_500;
  const { text, isWhole } = await read(await open());
  expect(isWhole).toBe(false);
  expect(text.length).toBeGreaterThan(0);
  expect(text).not.toContain('"end"');
  list.failsAfter = 0;
  expect((await getOnce(path, as('one'))).status).toBe(503);
});

test('H306 a key that is removed meanwhile reads no further', async () => {
  const response = await open();
  keysFile([callerEntry('two')], keys);
  await eventually(
    async () => (await get(`${service.url}/v1/payouts`, as('one'))).status === 401 || undefined,
  );
  const { text, isWhole } = await read(response);
  expect([isWhole, text.includes('"end"')]).toEqual([false, false]);
});

test('one caller reads at most half of all statements, and gives its place back when it disconnects', async () => {
  const first = await open();
  const second = await open();
  expect((await getOnce(path, as('one'))).status).toBe(503);
  const other = await open('two');
  expect(other.statusCode).toBe(200);
  first.destroy();
  await eventually(async () => {
    const next = await open();
    next.destroy();
    return next.statusCode === 200 || undefined;
  });
  for (const one of [second, other]) one.destroy();
});

test('a server that ends breaks the statement off instead of waiting for it', async () => {
  const response = await open();
  await service.close();
  expect((await read(response)).isWhole).toBe(false);
});
