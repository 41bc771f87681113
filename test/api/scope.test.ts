/** Keys that are limited to clients, payers, users or a prefix, or that expire. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PAYOUTS_TASK_QUEUE, payoutWorkflowId } from '../../src/contract/ids.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;
let v1: string;

beforeAll(async () => {
  world = await VirtualWorld.start();
  service = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      callerEntry('all'),
      callerEntry('one', { clientIds: ['client-1'], payerIds: ['payer-1'] }),
      callerEntry('two', { clientIds: ['client-2'], payerIds: ['payer-1'] }),
      callerEntry('payer', { clientIds: ['client-1'], payerIds: ['payer-1'] }),
      callerEntry('user', { clientIds: ['client-1'], openIds: ['user-1'], payerIds: ['payer-1'] }),
      callerEntry('acme', { idPrefix: 'acme-', clientIds: ['client-1'], payerIds: ['payer-1'] }),
      callerEntry('acme-reader', { idPrefix: 'acme-', verbs: ['read'] }),
      callerEntry('client', { clientIds: ['client-1'], verbs: ['read', 'resolve', 'pause'] }),
      callerEntry('late', { expiresAt: '2020-01-01T00:00:00Z' }),
      callerEntry('early', { expiresAt: '2999-01-01T00:00:00+08:00' }),
    ]),
  });
  v1 = `${service.url}/v1`;
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

const request = (over: object = {}) =>
  payoutRequest(newPartnerOrderId(), {
    ...{ platform: 'sim:slow final=1h', clientId: 'client-1', payerId: 'payer-1' },
    ...over,
  });
const refused = (detail: string) => ({
  status: 403,
  body: { type: '/problems/outside-scope', detail: expect.stringContaining(detail) },
});
const CLIENT = refused('does not include that clientId');
const PAYER = refused('does not include that payerId');
const USER = refused('does not include that openId');
/** The response about what does not exist. */
const ABSENT = {
  status: 404,
  body: { type: '/problems/not-found', detail: 'no such payout, batch, request or token' },
};

describe('scope of a key', () => {
  test('a start for another client, payer or user is refused, and starts nothing', async () => {
    const body = request();
    expect(await post(`${v1}/payouts`, body, as('two'))).toMatchObject(CLIENT);
    expect(await post(`${v1}/payouts`, { ...body, payerId: 'payer-2' }, as('payer'))).toMatchObject(PAYER);
    expect(await post(`${v1}/payouts`, body, as('user'))).toMatchObject(USER);
    expect(await post(`${v1}/payouts`, { ...body, openId: 'user-2' }, as('user'))).toMatchObject(USER);
    expect((await get(`${v1}/payouts/${body.partnerOrderId}`, as('all'))).status).toBe(404);
    for (const name of ['one', 'payer'])
      expect((await post(`${v1}/payouts`, body, as(name))).status).toBe(202);
  });

  test('a payout of another client looks as if it did not exist', async () => {
    const body = request();
    await post(`${v1}/payouts`, body, as('all'));
    const at = `${v1}/payouts/${body.partnerOrderId}`;
    expect(await get(at, as('two'))).toMatchObject(ABSENT);
    for (const verb of ['approve', 'refuse', 'cancel', 'poll'])
      expect(await post(`${at}/${verb}`, '', as('two'))).toMatchObject(ABSENT);
    const end = { created: false, then: 'end' };
    expect(await post(`${at}/resolve`, end, as('two'))).toMatchObject(ABSENT);
    expect((await get(at, as('one'))).status).toBe(200);
    expect(await get(`${v1}/payouts/${newPartnerOrderId()}`, as('two'))).toMatchObject(ABSENT);
  });

  test('what another program has started with a bad request looks as if it did not exist', async () => {
    const partnerOrderId = newPartnerOrderId();
    const handle = await world.client.workflow.start('payout', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: payoutWorkflowId('default', partnerOrderId),
      args: [{ partnerOrderId }],
    });
    await expect(handle.result()).rejects.toThrow();
    const at = `${v1}/payouts/${partnerOrderId}`;
    expect((await get(at, as('all'))).status).toBe(409);
    expect(await get(at, as('two'))).toMatchObject(ABSENT);
    expect(await post(`${at}/cancel`, '', as('two'))).toMatchObject(ABSENT);
  });

  test('one row of another client refuses the batch; the batch of another caller cannot be read', async () => {
    const rows = [request({ platform: 'sim:success' }), request({ clientId: 'client-2' })];
    const mixed = await post(`${v1}/payout-batches`, { batchId: 'mixed', payouts: rows }, as('one'));
    expect(mixed).toMatchObject(refused('payouts[1]'));
    expect(mixed).toMatchObject(CLIENT);
    const own = { batchId: 'own', payouts: rows.slice(0, 1) };
    expect((await post(`${v1}/payout-batches`, own, as('one'))).status).toBe(202);
    expect((await get(`${v1}/payout-batches/own`, as('one'))).status).toBe(200);
    expect((await get(`${v1}/payout-batches/own`, as('all'))).status).toBe(200);
    expect(await get(`${v1}/payout-batches/own`, as('two'))).toMatchObject(ABSENT);
    expect(await get(`${v1}/payout-batches/nothing`, as('two'))).toMatchObject(ABSENT);
  });

  test('quotes, accounts and receiving accounts of others are refused', async () => {
    expect(await post(`${v1}/quotes`, request(), as('two'))).toMatchObject(CLIENT);
    expect(await get(`${v1}/accounts?clientId=client-1`, as('two'))).toMatchObject(CLIENT);
    expect((await get(`${v1}/accounts?clientId=client-1`, as('one'))).status).toBe(200);
    expect(await get(`${v1}/accounts?clientId=client-1`, as('user'))).toMatchObject(USER);
    const opening = { requestId: newPartnerOrderId(), payerId: 'payer-2', currency: 'USD' };
    const accounts = `${v1}/receiving-accounts`;
    expect(await post(accounts, opening, as('payer'))).toMatchObject(PAYER);
    expect((await post(accounts, opening, as('all'))).status).toBe(202);
    expect(await get(`${accounts}/${opening.requestId}`, as('payer'))).toMatchObject(ABSENT);
    const opened = { created: true, accountId: 'A' };
    expect(await post(`${accounts}/${opening.requestId}/resolve`, opened, as('payer'))).toMatchObject(ABSENT);
    expect(await get(`${accounts}/balance/payer-2/USD`, as('payer'))).toMatchObject(PAYER);
    expect(await get(`${accounts}/detail/A`, as('payer'))).toMatchObject(PAYER);
    expect((await get(`${accounts}/balance/payer-1/USD`, as('payer'))).status).toBe(200);
  });

  test('H365 a key without payers has no receiving accounts, and a limited one pauses nothing', async () => {
    const opening = { requestId: newPartnerOrderId(), payerId: 'payer-1', currency: 'USD' };
    const at = `${v1}/receiving-accounts`;
    expect((await post(at, opening, as('all'))).status).toBe(202);
    expect((await get(`${at}/${opening.requestId}`, as('payer'))).status).toBe(200);
    expect(await get(`${at}/${opening.requestId}`, as('client'))).toMatchObject(ABSENT);
    const opened = { created: true, accountId: 'A' };
    expect(await post(`${at}/${opening.requestId}/resolve`, opened, as('client'))).toMatchObject(ABSENT);
    expect((await post(`${v1}/applications/default/pause`, {}, as('client'))).status).toBe(403);
  });
});

describe('H275 the prefix of a key', () => {
  const named = (id: string) => ({ ...request({ platform: 'sim:success' }), partnerOrderId: id });
  const other = (field: string) => refused(`does not include that ${field}: it must begin with acme-`);

  test('a start under another id is refused, names the field, and starts nothing', async () => {
    const body = request();
    expect(await post(`${v1}/payouts`, body, as('acme'))).toMatchObject(other('partnerOrderId'));
    expect((await get(`${v1}/payouts/${body.partnerOrderId}`, as('all'))).status).toBe(404);
    const own = named(`acme-${newPartnerOrderId()}`);
    const batches = `${v1}/payout-batches`;
    const elsewhere = { batchId: 'other-1', payouts: [own] };
    expect(await post(batches, elsewhere, as('acme'))).toMatchObject(other('batchId'));
    const mixed = await post(batches, { batchId: 'acme-1', payouts: [own, body] }, as('acme'));
    expect(mixed).toMatchObject(refused('payouts[1]'));
    expect(mixed).toMatchObject(other('partnerOrderId'));
    const opening = { requestId: body.partnerOrderId, payerId: 'payer-1', currency: 'USD' };
    expect(await post(`${v1}/receiving-accounts`, opening, as('acme'))).toMatchObject(other('requestId'));
    expect((await get(`${v1}/payouts/${own.partnerOrderId}`, as('all'))).status).toBe(404);
    expect((await post(`${v1}/payouts`, own, as('acme'))).status).toBe(202);
  });

  test('a start that debits another payer is refused', async () => {
    const body = { ...named(`acme-${newPartnerOrderId()}`), payerId: 'payer-2' };
    expect(await post(`${v1}/payouts`, body, as('acme'))).toMatchObject(PAYER);
  });

  test('what has another id looks absent; what has the prefix can be read, whoever started it', async () => {
    const [theirs, own] = [request(), named(`acme-${newPartnerOrderId()}`)];
    for (const body of [theirs, own]) expect((await post(`${v1}/payouts`, body, as('all'))).status).toBe(202);
    const at = `${v1}/payouts/${theirs.partnerOrderId}`;
    expect(await get(at, as('acme'))).toMatchObject(ABSENT);
    expect(await post(`${at}/cancel`, '', as('acme'))).toMatchObject(ABSENT);
    expect((await get(`${v1}/payouts/${own.partnerOrderId}`, as('acme-reader'))).status).toBe(200);
    for (const batchId of ['acme-2', 'zeta-2'])
      expect((await post(`${v1}/payout-batches`, { batchId, payouts: [request()] }, as('all'))).status).toBe(
        202,
      );
    expect((await get(`${v1}/payout-batches/acme-2`, as('acme-reader'))).status).toBe(200);
    expect(await get(`${v1}/payout-batches/zeta-2`, as('acme-reader'))).toMatchObject(ABSENT);
  });
});

test('an expired key is refused under its own type', async () => {
  const unknown = `${v1}/payouts/${newPartnerOrderId()}`;
  expect(await get(unknown, as('late'))).toMatchObject({
    status: 401,
    body: { type: '/problems/key-expired' },
    headers: { 'www-authenticate': 'Bearer' },
  });
  expect((await get(unknown, as('early'))).status).toBe(404);
});

test('H340 a page of a limited key tells nothing of the payouts that it leaves out', async () => {
  const partnerOrderId = `acme-${newPartnerOrderId()}`;
  const hidden = request({ partnerOrderId, clientId: 'client-9', approval: 'required' });
  expect((await post(`${v1}/payouts`, hidden, as('all'))).status).toBe(202);
  await world.until(hidden, ({ phase }) => phase === 'AWAITING_APPROVAL');
  const list = `${v1}/payouts?limit=1&phase=AWAITING_APPROVAL`;
  const seen = await eventually(async () => {
    const { body } = await get(list, as('all'));
    return JSON.stringify(body).includes(partnerOrderId) ? body : undefined;
  });
  expect(seen).toMatchObject({ payouts: [{ partnerOrderId }] });
  expect((await get(list, as('acme'))).body).toEqual({ payouts: [] });
});
