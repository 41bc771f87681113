/** Metadata of payouts at every way in, and in every answer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { payoutWorkflowId } from '../../src/contract/ids.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { newKey } from '../support/keys.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const VALUE = 'INVOICE-metadata-4711';
const metadata = { orderRef: VALUE, constructor: 'cost center 7', empty: '' };

let world: VirtualWorld;
let server: TestApiServer;

beforeAll(async () => {
  world = await VirtualWorld.start({ env: { PAYOUTS_ENCRYPTION_KEYS: newKey('k1') } });
  server = await startApiServer(world.client, { PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop')]) });
});

afterAll(async () => {
  await server.close();
  await world.stop();
});

const body = (over: object = {}) =>
  payoutRequest(newPartnerOrderId(), { platform: 'sim:success', metadata, ...over });
const start = (sent: string | object) => post(`${server.url}/v1/payouts`, sent, as('shop'));
const batch = (sent: string | object, query = '', headers = {}) =>
  post(`${server.url}/v1/payout-batches${query}`, sent, { ...as('shop'), ...headers });
const answerOf = ({ partnerOrderId }: { partnerOrderId: string }) =>
  get(`${server.url}/v1/payouts/${partnerOrderId}?wait=20s`, as('shop'));

describe('metadata', () => {
  test('is in state and result, over HTTP and in the client library', async () => {
    const sent = body();
    expect((await start(sent)).status).toBe(202);
    const ended = await eventually(async () => {
      const answer = await answerOf(sent);
      return JSON.stringify(answer.body).includes('"result"') ? answer : undefined;
    });
    expect(ended.body).toMatchObject({ state: { metadata }, result: { outcome: 'SUCCESS', metadata } });
    expect((await world.payouts.result(sent)).metadata).toEqual(metadata);
    expect((await world.payouts.state(sent)).metadata).toEqual(metadata);
  });

  test('is in the state of an open payout, and in the result without an order', async () => {
    const sent = body({ notBefore: new Date(world.clock.wallMs() + 3_600_000).toISOString() });
    await start(sent);
    await world.until(sent, ({ phase }) => phase === 'SCHEDULED');
    const { url } = server;
    const open = await get(`${url}/v1/payouts/${sent.partnerOrderId}`, as('shop'));
    expect(open.body).toMatchObject({ state: { phase: 'SCHEDULED', metadata } });
    await post(`${url}/v1/payouts/${sent.partnerOrderId}/cancel`, '', as('shop'));
    expect(await world.payouts.result(sent)).toMatchObject({ outcome: 'NOT_CREATED', metadata });
  });

  test('H175 is stored encrypted, in no search attribute, memo, id or summary, and the provider never sees it', async () => {
    const sent = body();
    await start(sent);
    await world.payouts.result(sent);
    const workflowId = payoutWorkflowId('default', sent.partnerOrderId);
    const handle = world.client.workflow.getHandle(workflowId);
    const { raw } = await handle.describe();
    const stored = JSON.stringify([raw, await handle.fetchHistory()]);
    expect(stored).not.toContain(VALUE);
    expect(Buffer.from(stored).includes(Buffer.from(VALUE).toString('base64').slice(0, -4))).toBe(false);
    const created = world.simulator.control
      .ledger()
      .creates.filter(({ partnerOrderId }) => partnerOrderId === sent.partnerOrderId);
    expect(created).toHaveLength(1);
    expect(created[0]?.body).not.toMatch(/metadata|INVOICE/);
  });

  test('is a part of the body: another order of keys joins, other pairs are a conflict', async () => {
    const sent = body();
    const first = await start(sent);
    const { constructor: center, ...rest } = metadata;
    const turned = { ...sent, metadata: { constructor: center, ...rest } };
    expect(await start(turned)).toMatchObject({ status: 202, body: first.body });
    for (const other of [{ ...metadata, orderRef: 'X' }, { orderRef: VALUE }, undefined])
      expect(await start({ ...sent, metadata: other })).toMatchObject({
        status: 409,
        body: { type: '/problems/id-conflict' },
      });
  });

  test('that is bad starts nothing, and the error names the field', async () => {
    const sent = body({ metadata: { orderRef: 'a\nb' } });
    const message = expect.stringContaining('control characters');
    expect(await start(sent)).toMatchObject({
      status: 400,
      body: { type: '/problems/invalid-request', errors: [{ path: 'metadata.orderRef', message }] },
    });
    const proto = JSON.stringify(body()).replace('"constructor"', '"__proto__"');
    expect(await start(proto)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'metadata.__proto__', message: 'must have another name' }] },
    });
    expect((await answerOf(sent)).status).toBe(404);
    const rows = { batchId: newPartnerOrderId(), payouts: [body(), sent] };
    expect(await batch(rows)).toMatchObject({
      status: 400,
      body: { errors: [{ path: '1.metadata.orderRef', message }] },
    });
  });

  test('of the rows of a batch is in their results, from JSON and from NDJSON', async () => {
    const [one, two, three] = [body(), body({ metadata: { row: '2' } }), body({ metadata: undefined })];
    expect((await batch({ batchId: newPartnerOrderId(), payouts: [one, two] })).status).toBe(202);
    const query = `?batchId=${newPartnerOrderId()}`;
    const type = { 'content-type': 'application/x-ndjson' };
    const four = body();
    const lines = [three, four].map((row) => JSON.stringify(row)).join('\n');
    expect((await batch(lines, query, type)).status).toBe(202);
    // The same rows with other metadata are another batch.
    expect((await batch(lines.replace(VALUE, 'other'), query, type)).status).toBe(409);
    const results = await Promise.all(
      [one, two, three, four].map(async (row) => {
        await eventually(() => world.payouts.startDetails(row).catch(() => undefined));
        return world.payouts.result(row);
      }),
    );
    expect(results.map((result) => result.metadata)).toEqual([metadata, { row: '2' }, undefined, metadata]);
  });
});
