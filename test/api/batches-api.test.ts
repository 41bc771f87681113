import { afterAll, beforeAll, expect, test } from 'vitest';
import { debitsByRow, manyRows } from '../support/batches.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;
let at: string;

beforeAll(async () => {
  world = await VirtualWorld.start();
  service = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop'), callerEntry('desk')]),
  });
  at = `${service.url}/v1/payout-batches`;
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

const ndjson = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const NDJSON = { 'content-type': 'application/x-ndjson' };

test('a batch in NDJSON is paid once to its end; the same rows in JSON join it', async () => {
  const rows = manyRows(20);
  const first = await post(`${at}?batchId=lines`, `\n${ndjson(rows)}`, { ...as('shop'), ...NDJSON });
  expect(first).toMatchObject({ status: 202, body: { state: { batchId: 'lines', count: 20, added: 20 } } });
  const again = await post(at, { batchId: 'lines', payouts: rows }, as('shop'));
  expect(again).toMatchObject({ status: 202, body: { state: { count: 20 } } });
  const ended = await eventually(async () => {
    const answer = await get(`${at}/lines`, as('desk'));
    return JSON.stringify(answer.body).includes('"DONE"') ? answer : undefined;
  });
  expect(ended.body).toMatchObject({ state: { done: 20, outcomes: { SUCCESS: 20 } } });
  expect(debitsByRow(world, rows)).toEqual(rows.map(() => 1));
});

test('returns 409 for other rows under the same batchId and for another caller', async () => {
  const rows = manyRows(2);
  await post(at, { batchId: 'mine', payouts: rows }, as('shop'));
  const other = { batchId: 'mine', payouts: manyRows(2) };
  expect((await post(at, other, as('shop'))).status).toBe(409);
  expect((await post(at, { batchId: 'mine', payouts: rows }, as('desk'))).status).toBe(409);
});

test('H51 the starter of a batch cannot approve its payouts', async () => {
  const row = payoutRequest(newPartnerOrderId(), { platform: 'sim:success', approval: 'required' });
  await post(at, { batchId: 'to-approve', payouts: [row] }, as('shop'));
  const payout = `${service.url}/v1/payouts/${row.partnerOrderId}`;
  await eventually(async () => {
    const { body } = await get(payout, as('desk'));
    return JSON.stringify(body).includes('AWAITING_APPROVAL') || undefined;
  });
  expect((await post(`${payout}/approve`, '', as('shop'))).status).toBe(403);
  expect((await post(`${payout}/approve`, '', as('desk'))).status).toBe(200);
});

test('names every bad row and field; one row above the largest amount rejects the batch', async () => {
  const [good] = manyRows(1);
  const bad = { ...payoutRequest(newPartnerOrderId()), clientId: '' };
  expect(await post(at, { batchId: 'bad', payouts: [good, bad, bad] }, as('shop'))).toMatchObject({
    status: 400,
    body: { errors: [{ path: '1.clientId' }, { path: '2.clientId' }] },
  });
  expect(await post(at, { payouts: [good] }, as('shop'))).toMatchObject({
    status: 400,
    body: { errors: [{ path: 'batchId' }] },
  });
  const lines = await post(`${at}?batchId=bad`, `${JSON.stringify(good)}\n{"a`, { ...as('shop'), ...NDJSON });
  expect(lines).toMatchObject({ status: 400, body: { detail: expect.stringContaining('line 2') } });
  const large = payoutRequest(newPartnerOrderId(), {
    instructedAmount: { currency: 'CNY', amount: '100.01' },
  });
  expect(await post(at, { batchId: 'bad', payouts: [good, large] }, as('shop'))).toMatchObject({
    status: 403,
    body: { detail: expect.stringContaining('payouts[1]: ') },
  });
  expect((await get(`${at}/bad`, as('shop'))).status).toBe(404);
});
