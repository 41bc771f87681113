/** Lists of payouts and batches, and the cancellation of batches: over HTTP, in the client library and in the CLI. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import type { ListedPayout, PayoutPage } from '../../src/contract/lists.ts';
import { manyRows, rowsOf } from '../support/batches.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { get, type HttpResponse, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { PATIENT } from '../support/patience.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let world: PayoutWorld;
let service: TestApiServer;
let v1: string;
let batches: Batches;
const run = (...args: string[]) => cli(world.workerEnvironment, args);

/** In the order of their starts. */
const ended: string[] = [];
const open: string[] = [];
/** Between the starts of the ended and of the open payouts. */
let between: string;

beforeAll(async () => {
  world = await PayoutWorld.start();
  service = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      callerEntry('all'),
      callerEntry('both', { applications: ['default', 'another'] }),
      callerEntry('other', { applications: ['another'] }),
      callerEntry('starter', { verbs: ['start', 'batch'] }),
      callerEntry('one', { clientIds: ['client-1'], payerIds: ['payer-1'] }),
    ]),
  });
  v1 = `${service.url}/v1`;
  batches = new Batches({ client: world.client, environment: 'test' });
  for (let at = 0; at < 3; at += 1) {
    const ref = await world.payouts.start(request('success'));
    await world.payouts.result(ref);
    ended.push(ref.partnerOrderId);
  }
  between = await startOf(ended[2]);
  for (let at = 0; at < 3; at += 1)
    open.push((await world.payouts.start(request('slow final=1h'))).partnerOrderId);
  // A worker of this world does not serve it, so it fails as bad input.
  await world.payouts.start({ ...request('success'), app: 'another' });
  await eventually(async () => (await listed('limit=100', 'both')).payouts.length === 7 || undefined);
  await eventually(async () => (await listed('phase=PROCESSING')).payouts.length === 3 || undefined);
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

const request = (scenario: string) => payoutRequest(newPartnerOrderId(), { platform: `sim:${scenario}` });

/** One millisecond after the start of a payout, whose successor starts only after its end. */
async function startOf(partnerOrderId = ''): Promise<string> {
  const { startTime } = await world.payouts.handle({ partnerOrderId }).describe();
  return new Date(startTime.getTime() + 1).toISOString();
}

const page = (query: string, name = 'all'): Promise<HttpResponse> => get(`${v1}/payouts?${query}`, as(name));

async function listed(query: string, name = 'all'): Promise<PayoutPage> {
  const { status, body } = await page(query, name);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as PayoutPage;
}

const idsOf = (payouts: readonly ListedPayout[]) => payouts.map(({ partnerOrderId }) => partnerOrderId);
const newestFirst = (ids: readonly string[]) => [...ids].reverse();

describe('GET /v1/payouts', () => {
  test('lists the open payouts, newest first, then the ended ones, the last to end first', async () => {
    const { payouts, nextCursor } = await listed('');
    expect(idsOf(payouts)).toEqual([...newestFirst(open), ...newestFirst(ended)]);
    expect(nextCursor).toBeUndefined();
    expect(payouts[0]).toMatchObject({
      app: 'default',
      phase: 'PROCESSING',
      outcome: '',
      workflow: 'RUNNING',
    });
    expect(payouts.at(-1)).toMatchObject({ phase: 'DONE', outcome: 'SUCCESS', workflow: 'COMPLETED' });
  });

  test('a row shows what the payout is about and what arrived, in every interface', async () => {
    const { payouts } = await listed('');
    const about = {
      instructedAmount: { currency: 'CNY', amount: '100.00' },
      beneficiary: 'Zhang San',
      accountEnd: '0000',
      clientId: 'client-1',
      payerId: 'payer-1',
    };
    expect(payouts[0]).toMatchObject(about);
    expect(payouts[0]).not.toHaveProperty('received');
    expect(payouts[3]).toMatchObject({ ...about, received: about.instructedAmount });
    const shown = await run('list', '--outcome', 'SUCCESS');
    for (const text of ['100.00 CNY', 'Zhang San', '…0000', 'client-1', 'payer-1'])
      expect(shown.stdout).toContain(text);
    // Nobody is recorded as the starter, and no batch.
    expect(shown.stdout).not.toContain('starter');
    expect((await run('list', '--outcome', 'SUCCESS', '--json')).json()).toEqual(
      (await listed('outcome=SUCCESS')).payouts,
    );
  });

  test('pages with a cursor, with one call to Temporal for each page, and another one if it has paid payouts', async () => {
    const call = vi.spyOn(world.client.workflowService, 'listWorkflowExecutions');
    const pages = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const one: PayoutPage = await listed(`limit=2${cursor && `&cursor=${cursor}`}`);
      expect(one.payouts.length).toBeLessThanOrEqual(2);
      pages.push(one);
      cursor = one.nextCursor;
    }
    const paid = pages.filter(({ payouts }) => payouts.some(({ outcome }) => outcome === 'SUCCESS'));
    expect(call).toHaveBeenCalledTimes(pages.length + paid.length);
    call.mockRestore();
    expect(pages.flatMap(({ payouts }) => idsOf(payouts))).toEqual([
      ...newestFirst(open),
      ...newestFirst(ended),
    ]);
  });

  test('filters by phase, outcome, attention and creation time', async () => {
    expect(idsOf((await listed('phase=PROCESSING')).payouts)).toEqual(newestFirst(open));
    expect(idsOf((await listed('outcome=SUCCESS')).payouts)).toEqual(newestFirst(ended));
    expect((await listed('attention=true')).payouts).toEqual([]);
    expect(idsOf((await listed(`createdFrom=${between}`)).payouts)).toEqual(newestFirst(open));
    expect(idsOf((await listed(`createdTo=${between}`)).payouts)).toEqual(newestFirst(ended));
    const offset = encodeURIComponent(between.replace('Z', '+00:00'));
    expect((await listed(`createdFrom=${offset}&createdTo=${offset}`)).payouts).toEqual([]);
  });

  test('shows only the applications of the key', async () => {
    const others = (await listed('', 'other')).payouts;
    expect(others.map(({ app }) => app)).toEqual(['another']);
    expect((await listed('app=another', 'both')).payouts).toEqual(others);
    expect((await listed('limit=100', 'both')).payouts.length).toBe(7);
    expect(await page('app=another')).toMatchObject({
      status: 403,
      body: { type: '/problems/application-not-allowed' },
    });
    // A cursor of one key does not work with another.
    const { nextCursor } = await listed('limit=2');
    expect((await page(`limit=2&cursor=${nextCursor}`, 'both')).status).toBe(400);
  });

  test('H275 shows only what begins with the prefix of the key, open and flagged payouts and batches', async () => {
    const [id = ''] = open;
    const idPrefix = id.slice(0, 30);
    const own = await startApiServer(world.client, {
      PAYOUTS_API_KEYS_FILE: keysFile([
        callerEntry('own', { idPrefix, clientIds: ['client-1'], payerIds: ['payer-1'] }),
      ]),
    });
    try {
      const read = (query: string) => get(`${own.url}/v1/${query}`, as('own'));
      for (const query of ['', '?app=default', '?phase=PROCESSING', `?createdFrom=${between}`])
        expect(await read(`payouts${query}`)).toMatchObject({
          status: 200,
          body: { payouts: [{ partnerOrderId: id }] },
        });
      expect(await read('payouts?attention=true')).toMatchObject({ status: 200, body: { payouts: [] } });
      expect(await read('payout-batches')).toMatchObject({ status: 200, body: { batches: [] } });
      expect((await read(`payouts?idPrefix=p`)).status).toBe(400);
    } finally {
      await own.close();
    }
  });

  test.each(['payouts', 'payout-batches'])(
    'of %s requires the verb read and a key without scope',
    async (path) => {
      const url = `${v1}/${path}`;
      expect((await get(url)).status).toBe(401);
      expect((await get(url, as('starter'))).status).toBe(403);
      expect(await get(url, as('one'))).toMatchObject({
        status: 403,
        body: { type: '/problems/outside-scope' },
      });
    },
  );

  test.each([
    ['cursor', 'cursor=garbage'],
    ['cursor', 'cursor='],
    ['cursor', 'cursor=%00'],
    ['cursor', `cursor=${Buffer.from('{"a":1}'.repeat(9)).toString('base64url')}`],
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=1e1'],
    ['phase', "phase=x' OR 1=1"],
    ['outcome', 'outcome=NONE'],
    ['attention', 'attention=false'],
    ['app', 'app=A'],
    ['createdFrom', 'createdFrom=2026-01-31'],
    ['createdTo', 'createdTo=soon'],
    ['openId', 'openId=user-1'],
    ['clientId', 'clientId='],
    ['limit', 'limit=1&limit=2'],
  ])('names %s as invalid: %s', async (path, query) => {
    expect(await page(query)).toMatchObject({
      status: 400,
      body: { type: '/problems/invalid-request', errors: [{ path }] },
    });
  });

  test('a cursor with other filters, or with another token, is invalid', async () => {
    const { nextCursor = '' } = await listed('limit=2');
    const changed = Buffer.from(nextCursor, 'base64url');
    changed[changed.length - 2] = 0;
    for (const query of [
      `limit=2&phase=PROCESSING&cursor=${nextCursor}`,
      `limit=2&cursor=${nextCursor.slice(0, -4)}`,
      `limit=2&cursor=${changed.toString('base64url')}`,
    ])
      expect(await page(query)).toMatchObject({ status: 400, body: { errors: [{ path: 'cursor' }] } });
    expect((await listed(`limit=3&cursor=${nextCursor}`)).payouts.length).toBe(3);
  });
});

describe('the client library', () => {
  test('lists payouts as an iterator and by page', async () => {
    const rows: ListedPayout[] = [];
    for await (const row of world.payouts.list({ app: 'default' })) rows.push(row);
    expect(idsOf(rows)).toEqual([...newestFirst(open), ...newestFirst(ended)]);
    const first = await world.payouts.listPage({ app: 'default', createdTo: between }, { limit: 2 });
    const filter = { app: 'default', createdTo: between };
    const second = await world.payouts.listPage(filter, { limit: 2, cursor: first.nextCursor });
    expect(idsOf([...first.payouts, ...second.payouts])).toEqual(newestFirst(ended));
  });

  test('names an invalid filter, limit and cursor', async () => {
    for (const [path, listing] of [
      ['createdFrom', world.payouts.listPage({ createdFrom: 'now' })],
      ['limit', world.payouts.listPage({}, { limit: 101 })],
      ['cursor', world.payouts.listPage({}, { cursor: 'x' })],
      ['apps.0', batches.listPage({ apps: ["'"] })],
    ] as const)
      await expect(listing).rejects.toMatchObject({ fields: [{ path }] });
  });
});

describe('the CLI', () => {
  test('list filters by creation time, and --json prints only the document', async () => {
    const answer = await run('list', '--created-from', between, '--app', 'default', '--json');
    expect(answer).toMatchObject({ code: 0, stderr: '' });
    expect(idsOf(answer.json() as ListedPayout[])).toEqual(newestFirst(open));
    const day = await run('list', '--created-to', '2020-01-31', '--json');
    expect(day.json()).toEqual([]);
    for (const bad of ['soon', '2026-13-01', '2026-01-31T12:00']) {
      const refused = await run('list', '--created-from', bad, '--json');
      expect(refused).toMatchObject({ code: 2, stderr: '' });
      expect(refused.json()).toMatchObject({ error: { code: 'USAGE' } });
    }
  });
});

describe('batches', () => {
  const at = () => `${v1}/payout-batches`;

  test('are listed by application, time and whether they are open', async () => {
    await batches.start({ batchId: 'done', payouts: manyRows(2) });
    await batches.result({ batchId: 'done' });
    await batches.start({ batchId: 'open', payouts: rowsOf('slow final=1h') });
    const list = async (query = '') => (await get(`${at()}?${query}`, as('all'))).body;
    await eventually(async () => JSON.stringify(await list()).includes('"open"') || undefined);
    expect(await list('app=default')).toEqual({
      batches: [
        { batchId: 'open', app: 'default', startedAt: expect.any(String), workflow: 'RUNNING' },
        {
          ...{ batchId: 'done', app: 'default', startedAt: expect.any(String) },
          ...{ endedAt: expect.any(String), workflow: 'COMPLETED' },
        },
      ],
    });
    expect(await list('open=true')).toMatchObject({ batches: [{ batchId: 'open' }] });
    expect(await list('open=false')).toMatchObject({ batches: [{ batchId: 'done' }] });
    const first = await batches.listPage({}, { limit: 1 });
    expect(first.batches).toMatchObject([{ batchId: 'open' }]);
    const next = await get(`${at()}?limit=1&cursor=${first.nextCursor}`, as('all'));
    // Another query: the key limits the applications.
    expect(next).toMatchObject({ status: 400, body: { errors: [{ path: 'cursor' }] } });
    const found = await run('batch', 'list', '--open', '--json');
    expect(found).toMatchObject({ code: 0, stderr: '' });
    expect(found.json()).toMatchObject([{ batchId: 'open' }]);
    expect((await run('batch', 'status', 'done', '--json')).json()).toMatchObject({
      phase: 'DONE',
      count: 2,
    });
  });

  test('are canceled over HTTP, repeatably, until their end', async () => {
    await batches.start({ batchId: 'stop', payouts: rowsOf('slow final=1h') });
    const cancel = (name = 'all', id = 'stop') => post(`${at()}/${id}/cancel`, '', as(name));
    expect((await cancel('other')).status).toBe(403);
    expect((await cancel('starter')).status).toBe(403);
    expect(await cancel('one')).toMatchObject({ status: 404, body: { type: '/problems/not-found' } });
    const canceled = await cancel();
    expect(canceled).toMatchObject({ status: 202, body: { state: { batchId: 'stop', canceled: true } } });
    expect(await cancel()).toMatchObject({ status: 202, body: { state: { canceled: true } } });
    expect(await cancel('all', 'nothing')).toMatchObject({ status: 404 });
    expect(await cancel('all', 'done')).toMatchObject({
      status: 409,
      body: { type: '/problems/already-ended' },
    });
  });

  test('are canceled with the CLI', async () => {
    await batches.start({ batchId: 'stop-too', payouts: rowsOf('slow final=1h') });
    const canceled = await run('batch', 'cancel', 'stop-too', '--json');
    expect(canceled).toMatchObject({ code: 0, stderr: '' });
    expect(canceled.json()).toMatchObject({ canceled: true });
    const late = await run('batch', 'cancel', 'done', '--json');
    expect(late.code).toBe(4);
    expect(late.json()).toMatchObject({ error: { code: 'NOT_ACCEPTED_NOW' } });
    expect((await run('batch', 'cancel', 'nothing')).code).toBe(3);
  });
});

// Last: the others list everything that there is.
test('H287 tells the prefix of a key from the same one in other letters, as this visibility store does not', async () => {
  const prefix = `${newPartnerOrderId().slice(0, 30).toLowerCase()}-`;
  const id = `${prefix}1`;
  const body = { ...request('success'), partnerOrderId: id };
  await world.payouts.start(body);
  await batches.start({ batchId: id, payouts: [body] });
  const names = { lower: prefix, upper: prefix.toUpperCase() };
  const tenants = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile(
      Object.entries(names).map(([name, idPrefix]) => callerEntry(name, { verbs: ['read'], idPrefix })),
    ),
  });
  try {
    const read = async (name: string) => [
      (await get(`${tenants.url}/v1/payouts`, as(name))).body,
      (await get(`${tenants.url}/v1/payout-batches`, as(name))).body,
    ];
    const own = [{ payouts: [{ partnerOrderId: id }] }, { batches: [{ batchId: id }] }];
    await vi.waitFor(async () => expect(await read('lower')).toMatchObject(own), PATIENT);
    expect(await read('upper')).toMatchObject([{ payouts: [] }, { batches: [] }]);
  } finally {
    await tenants.close();
  }
});
