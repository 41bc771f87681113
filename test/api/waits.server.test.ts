/** The parameter `wait` of reads, and `untilEnd` of the client library. */
import { request } from 'undici';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { ReceivingAccounts } from '../../src/client/receiving-accounts.ts';
import { Drain } from '../../src/runtime/process.ts';
import { rowsOf } from '../support/batches.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, type HttpResponse, startApiServer, type TestApiServer } from '../support/http.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const BY = { by: 'test' };
const OPEN = { state: { phase: 'AWAITING_APPROVAL' } };
const ENDED = { state: { phase: 'DONE' }, result: { outcome: 'NOT_CREATED' } };

let world: PayoutWorld;
let service: TestApiServer;
let v1: string;

beforeAll(async () => {
  world = await PayoutWorld.start();
  service = await startApiServer(world.client);
  v1 = `${service.url}/v1`;
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

/** A payout that waits for approval. */
async function openPayout() {
  const ref = await world.pay('success', { approval: 'required' });
  await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
  return { ref, at: `${v1}/payouts/${ref.partnerOrderId}` };
}

/** Counts the long polls that are open. */
function longPolls() {
  const { workflowService } = world.client;
  const original = workflowService.getWorkflowExecutionHistory.bind(workflowService);
  const counts = { sent: 0, open: 0 };
  const spy = vi.spyOn(workflowService, 'getWorkflowExecutionHistory');
  spy.mockImplementation((async (req: Parameters<typeof original>[0]) => {
    if (!req.waitNewEvent) return original(req);
    counts.sent += 1;
    counts.open += 1;
    return original(req).finally(() => {
      counts.open -= 1;
    });
  }) as typeof workflowService.getWorkflowExecutionHistory);
  return { counts, restore: () => spy.mockRestore() };
}

test('answers at the end of a payout, with one long poll and no earlier state', async () => {
  const { ref, at } = await openPayout();
  expect((await get(at)).body).toMatchObject(OPEN);
  const polls = longPolls();
  const waiting = Promise.all([get(`${at}?wait=60s`), get(`${at}?wait=60s`)]);
  await eventually(async () => polls.counts.open === 2 || undefined);
  await world.payouts.refuse(ref, BY);
  for (const answer of await waiting) expect(answer).toMatchObject({ status: 200, body: ENDED });
  // The result is read once more, after the end.
  expect(polls.counts.open).toBe(0);
  expect(polls.counts.sent).toBeLessThanOrEqual(4);
  polls.restore();
  expect(await get(`${at}?wait=60s`)).toMatchObject({ status: 200, body: ENDED });
});

test('answers at the timeout with the current state', async () => {
  const { at } = await openPayout();
  for (const wait of ['0s', '1s']) expect((await get(`${at}?wait=${wait}`)).body).toMatchObject(OPEN);
});

test('names an invalid wait, and does not wait for an unknown payout', async () => {
  const unknown = `${v1}/payouts/${newPartnerOrderId()}`;
  for (const wait of ['61s', '30', '1m', '-1s', '', '1.5s'])
    expect(await get(`${unknown}?wait=${wait}`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'wait' }] },
    });
  expect((await get(`${unknown}?wait=60s`)).status).toBe(404);
});

test('waits for batches and receiving accounts', async () => {
  const batches = new Batches({ client: world.client, environment: 'test' });
  const ref = { batchId: 'waited' };
  await batches.start({ ...ref, payouts: rowsOf('success') });
  expect(await get(`${v1}/payout-batches/waited?wait=60s`)).toMatchObject({
    status: 200,
    body: { state: { phase: 'DONE', done: 1 } },
  });
  await batches.untilEnd(ref, { timeoutMs: 60_000 });
  const accounts = new ReceivingAccounts({ client: world.client, environment: 'test' });
  const opening = { requestId: newPartnerOrderId(), payerId: 'payer-1', currency: 'USD' };
  await accounts.open(opening);
  expect(await get(`${v1}/receiving-accounts/${opening.requestId}?wait=60s`)).toMatchObject({
    status: 200,
    body: { result: { outcome: 'OPENED' } },
  });
  await accounts.untilEnd(opening, { timeoutMs: 60_000 });
});

test('the client library waits until the end, the timeout or the signal', async () => {
  const { ref } = await openPayout();
  await world.payouts.untilEnd(ref, { timeoutMs: 100 });
  expect(await world.payouts.look(ref)).toMatchObject(OPEN);
  const stop = new AbortController();
  const stopped = world.payouts.untilEnd(ref, { timeoutMs: 60_000, signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(stopped).rejects.toThrow('enough');
  const ended = world.payouts.untilEnd(ref, { timeoutMs: 60_000 });
  await world.payouts.refuse(ref, BY);
  await ended;
  expect(await world.payouts.look(ref)).toMatchObject(ENDED);
  const unknown = { partnerOrderId: newPartnerOrderId() };
  await expect(world.payouts.untilEnd(unknown, { timeoutMs: 60_000 })).rejects.toThrow('not found');
});

test('one caller has at most half of the hundred waits; one who disconnects releases the place and the long poll', async () => {
  const { at } = await openPayout();
  const polls = longPolls();
  const callers = Array.from({ length: 50 }, () => new AbortController());
  const waiting = callers.map(({ signal }) => request(`${at}?wait=60s`, { signal }).catch(() => undefined));
  await eventually(async () => polls.counts.open === 50 || undefined);
  expect(await get(`${at}?wait=60s`)).toMatchObject({
    status: 503,
    headers: { 'retry-after': expect.any(String) },
    body: { type: '/problems/too-many-waiting' },
  });
  expect(await get(at)).toMatchObject({ status: 200, body: OPEN });
  for (const caller of callers) caller.abort();
  await Promise.all(waiting);
  await eventually(async () => polls.counts.open === 0 || undefined);
  expect(await get(`${at}?wait=1s`)).toMatchObject({ status: 200, body: OPEN });
  polls.restore();
});

test('a server that closes answers its waiting requests with the current state', async () => {
  const drain = new Drain();
  const own = await startApiServer(world.client, {}, { drain });
  const { ref } = await openPayout();
  const polls = longPolls();
  const beganMs = performance.now();
  const waiting = get(`${own.url}/v1/payouts/${ref.partnerOrderId}?wait=60s`);
  await eventually(async () => polls.counts.open === 1 || undefined);
  // As a process that ends does it: otherwise, the client keeps its connection.
  drain.begin();
  await own.close();
  expect(await waiting).toMatchObject({ status: 200, body: OPEN });
  expect(performance.now() - beganMs).toBeLessThan(60_000);
  polls.restore();
});

test('a key that is removed during a wait gets no answer', async () => {
  const file = keysFile([callerEntry('first')]);
  const own = await startApiServer(world.client, { PAYOUTS_API_KEYS_FILE: file });
  try {
    const { ref } = await openPayout();
    const at = `${own.url}/v1/payouts/${ref.partnerOrderId}`;
    const polls = longPolls();
    const waiting: Promise<HttpResponse> = get(`${at}?wait=60s`, as('first'));
    await eventually(async () => polls.counts.open === 1 || undefined);
    keysFile([callerEntry('second')], file);
    await eventually(async () => (await get(at, as('first'))).status === 401 || undefined);
    await world.payouts.refuse(ref, BY);
    expect((await waiting).status).toBe(401);
    polls.restore();
  } finally {
    await own.close();
  }
});

test('the status reads of one caller take at most half of the places in the queue for workers', async () => {
  const callers = ['first', 'second'].map((name) => callerEntry(name, { requestsPerSecond: 1_000 }));
  const own = await startApiServer(world.client, { PAYOUTS_API_KEYS_FILE: keysFile(callers) });
  const { ref } = await openPayout();
  const read = (caller: string) => get(`${own.url}/v1/payouts/${ref.partnerOrderId}`, as(caller));
  const { workflowService } = world.client;
  const describeRun = workflowService.describeWorkflowExecution.bind(workflowService);
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const spy = vi.spyOn(workflowService, 'describeWorkflowExecution');
  spy.mockImplementation((async (req: Parameters<typeof describeRun>[0]) => {
    await held;
    return describeRun(req);
  }) as typeof workflowService.describeWorkflowExecution);
  try {
    // 510 places: each read beyond half of them is refused at once.
    const flood = Array.from({ length: 256 }, () => read('first'));
    expect(await Promise.race(flood)).toMatchObject({
      status: 503,
      body: { type: '/problems/too-many-waiting' },
    });
    const other = read('second');
    release();
    expect(await other).toMatchObject({ status: 200, body: OPEN });
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(255);
  } finally {
    spy.mockRestore();
    await own.close();
  }
});
