/** Statements and the results of batches: over HTTP and in the CLI, on a real Temporal server. */
import { parse } from 'csv-parse/sync';
import { request as send } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { dailyReport } from '../../src/client/reads.ts';
import { startMemo } from '../../src/contract/memo.ts';
import { totalsByCurrency } from '../../src/contract/money.ts';
import { type StatementRow, statementRowSchema, statementSchema } from '../../src/contract/statement.ts';
import { addUpdate } from '../../src/contract/workflows.ts';
import { STARTED_AT } from '../../src/temporal/namespace.ts';
import { batchesOf, rowsOf } from '../support/batches.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { get, startApiServer, type TestApiServer } from '../support/http.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { reconcile } from '../support/reconciliation.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const metadata = { orderRef: '@SUM("A1")', note: 'déjà vu; -1' };
const FORMULA_ID = `=1+1;-${newPartnerOrderId()}`;

let world: PayoutWorld;
let service: TestApiServer;
let v1: string;
let period: string;
let day: string;
const ended: PayoutRef[] = [];
let returned: PayoutRef;

beforeAll(async () => {
  world = await PayoutWorld.start({ env: { PAYOUTS_FOLLOW_UP: '1s' } });
  service = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      callerEntry('all'),
      callerEntry('both', { applications: ['default', 'another'] }),
      callerEntry('other', { applications: ['another'] }),
      callerEntry('starter', { verbs: ['start'] }),
      callerEntry('one', { clientIds: ['client-1'], payerIds: ['payer-1'] }),
      callerEntry('acme', { idPrefix: 'acme-', clientIds: ['client-1'], payerIds: ['payer-1'] }),
    ]),
  });
  v1 = `${service.url}/v1`;
  day = new Date().toISOString().slice(0, 10);
  period = `from=${day}T00:00:00Z&to=${nextDay(day)}T00:00:00Z`;
  const back = await world.pay('split splits=2 final=1h');
  returned = await world.pay('success', { clientId: '-5', partnerOrderId: FORMULA_ID, metadata });
  ended.push(
    back,
    returned,
    await world.pay('partial splits=2 failed=1', { partnerOrderId: `acme-${newPartnerOrderId()}` }),
    await world.pay('failure', { partnerOrderId: `acme-${newPartnerOrderId()}`, payerId: 'payer-2' }),
    await world.pay('success', { limits: { minRate: '99' } }),
  );
  await world.pay('slow final=1h');
  await world.until(back, ({ phase }) => phase === 'PROCESSING');
  const { control } = world.simulator;
  control.changeOrder(back.partnerOrderId, { status: 'SUCCESS' });
  control.changeOrder(back.partnerOrderId, { splits: [{ index: 0, refund: true }] });
  await Promise.all(ended.map((ref) => world.payouts.result(ref)));
  control.changeOrder(returned.partnerOrderId, { splits: [{ index: 0, refund: true }] });
  await eventually(async () => {
    await reconcile(world);
    const rows = await statement();
    const isFound = rows.some(({ laterReturns }) => laterReturns.length > 0);
    return (rows.length === ended.length && isFound) || undefined;
  });
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

function nextDay(of: string): string {
  return new Date(Date.parse(of) + 24 * 3_600_000).toISOString().slice(0, 10);
}

async function text(path: string, name = 'all'): Promise<string> {
  const { statusCode, body } = await send(`${v1}/${path}`, { headers: as(name) });
  // Not `text`, which drops a byte order mark.
  const read = Buffer.from(await body.arrayBuffer()).toString();
  expect(statusCode, read).toBe(200);
  return read;
}

const lineSchema = z.union([statementRowSchema, z.object({ end: z.object({ payouts: z.number() }) })]);

/** Checks the end. */
async function statement(query = period, name = 'all'): Promise<StatementRow[]> {
  const read = await text(`statements?format=ndjson&${query}`, name);
  const lines = read.trimEnd().split('\n');
  const rows = lines.map((line) => lineSchema.parse(JSON.parse(line)));
  expect(rows.at(-1)).toMatchObject({ end: { payouts: rows.length - 1 } });
  return rows.flatMap((row) => ('end' in row ? [] : [row]));
}

/** As the docs say. */
const restored = (cell = '') => cell.replaceAll(/(^|[;\t\r\n])'(?=[\s"']*[=+\-@])/g, '$1');

const recordsOf = (csv: string) =>
  z
    .array(z.record(z.string(), z.string()))
    .parse(parse(csv, { bom: true, columns: true, record_delimiter: '\r\n' }));

const idsOf = (rows: readonly { partnerOrderId: string }[]) =>
  rows.map(({ partnerOrderId }) => partnerOrderId).sort();

describe('GET /v1/statements', () => {
  test('H303 its rows sum up to the daily report', async () => {
    const rows = await statement();
    expect(idsOf(rows)).toEqual(idsOf(ended));
    const [app] = (await dailyReport(world.client, 'test', day)).apps;
    const count = (outcome: string) => rows.filter((row) => row.outcome === outcome).length;
    expect(app).toMatchObject({ outcomes: { SUCCESS: 2, PARTIAL_SUCCESS: 1, FAILED: 1, NOT_CREATED: 1 } });
    for (const [outcome, payouts] of Object.entries(app?.outcomes ?? {}))
      expect(count(outcome)).toBe(payouts);
    const sum = (name: 'received' | 'failed' | 'returned') =>
      rows.flatMap((row) => (row[name] ? [row[name]] : []));
    const later = rows.flatMap(({ laterReturns }) => laterReturns.map(({ target }) => target));
    // The report books on the day of a return what came back later, and takes nothing from an earlier day.
    expect(app?.received).toEqual(totalsByCurrency([...sum('received'), ...later]));
    expect(app?.failed).toEqual(totalsByCurrency(sum('failed')));
    expect(app?.returned).toEqual(totalsByCurrency(sum('returned')));
    expect(app?.returned).toEqual([{ currency: 'CNY', amount: '150.00' }]);
  });

  test('a row has the ids, the times, the amounts and what came back later', async () => {
    const row = (await statement()).find(({ partnerOrderId }) => partnerOrderId === FORMULA_ID);
    const { quote, orderId, debits, splits } = await world.payouts.result(returned);
    const { closeTime, typedSearchAttributes } = await world.payouts.handle(returned).describe();
    expect(row).toEqual({
      ...{ app: 'default', partnerOrderId: FORMULA_ID, orderId, clientId: '-5', payerId: 'payer-1' },
      ...{
        startedAt: typedSearchAttributes.get(STARTED_AT)?.toISOString(),
        endedAt: closeTime?.toISOString(),
        outcome: 'SUCCESS',
      },
      ...{ beneficiary: 'Zhang San', accountEnd: '0000' },
      instructedAmount: { currency: 'CNY', amount: '100.00' },
      ...{ pay: quote?.pay, rate: quote?.exchangeRate, fee: quote?.fee },
      returned: { currency: 'CNY', amount: '100.00' },
      ...{ failed: { currency: 'CNY', amount: '0.00' }, metadata, debits, splits },
      laterReturns: [
        { distributeId: splits[0]?.distributeId, target: splits[0]?.target, seenAt: expect.any(String) },
      ],
    });
  });

  test('begins at from and ends before to, and says whether rows may follow', async () => {
    const all = await statement();
    const [last, previous] = all.map(({ endedAt }) => endedAt ?? '');
    const upToLast = await statement(`from=${day}T00:00:00Z&to=${last}`);
    expect(idsOf(upToLast)).toEqual(idsOf(all.filter(({ endedAt }) => endedAt !== last)));
    const fromPrevious = await statement(`from=${previous}&to=${nextDay(day)}T00:00:00Z`);
    expect(fromPrevious.map(({ endedAt }) => endedAt)).toContain(previous);
    expect(JSON.parse(await text(`statements?${period}`))).toMatchObject({ end: { isFinal: false } });
    const earlier = 'from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z';
    expect(statementSchema.parse(JSON.parse(await text(`statements?${earlier}`)))).toEqual({
      payouts: [],
      end: { payouts: 0, unreadable: 0, isFinal: true },
    });
  });

  test('H304 as CSV: no cell is a formula, and every id and amount can be restored', async () => {
    const csv = await text(`statements?format=csv&details=true&${period}`);
    expect(csv.startsWith('\uFEFFrecord,app,partnerOrderId,')).toBe(true);
    const records = recordsOf(csv);
    const payouts = records.filter(({ record }) => record === 'payout');
    expect(payouts).toHaveLength(ended.length);
    expect(records.at(-1)).toMatchObject({ record: 'end', 'end.payouts': String(ended.length) });
    const odd = payouts.find(({ clientId }) => clientId === '-5');
    expect(odd?.['partnerOrderId']).toBe(`'${FORMULA_ID.replace(';-', ";'-")}`);
    expect(restored(odd?.['partnerOrderId'])).toBe(FORMULA_ID);
    expect(JSON.parse(restored(odd?.['metadata']))).toEqual(metadata);
    expect(odd).toMatchObject({
      'received.amount': '',
      'returned.amount': '100.00',
      'debits.actual.amount': '',
    });
    const below = records.filter(({ orderId }) => orderId === odd?.['orderId']);
    expect(below.map(({ record }) => record)).toEqual(['payout', 'debits', 'splits', 'laterReturns']);
    expect(below[1]?.['debits.actual.amount']).toMatch(/^\d+\.\d\d$/);
    for (const cell of records.flatMap(Object.values)) expect(cell).not.toMatch(/^[=@]|^[+-](?!\d+$)/);
  });

  test('H338 as CSV for accountants: a row per payout, whose columns sum up to the daily report', async () => {
    const csv = await text(`statements?format=csv&${period}`);
    expect(csv).toMatch(/^\uFEFFendedAt,partnerOrderId,beneficiary,accountEnd,instructedAmount\.currency,/);
    const [end, ...rows] = recordsOf(csv).reverse();
    expect(end).toMatchObject({
      endedAt: expect.stringMatching(/^End of the statement: 5 payouts/),
      'end.payouts': `${ended.length}`,
      'end.isFinal': 'false',
    });
    expect(rows).toHaveLength(ended.length);
    const sum = (name: string) =>
      totalsByCurrency(
        rows.flatMap((row) => {
          const [currency = '', amount = ''] = [row[`${name}.currency`], row[`${name}.amount`]];
          return amount === '' ? [] : [{ currency, amount }];
        }),
      );
    const [app] = (await dailyReport(world.client, 'test', day)).apps;
    const later = sum('laterReturned');
    expect(totalsByCurrency([...sum('received'), ...later])).toEqual(app?.received);
    expect(sum('failed')).toEqual(app?.failed);
    expect(sum('returned')).toEqual(app?.returned);
    expect(app?.returned).toEqual([{ currency: 'CNY', amount: '150.00' }]);
    expect(later).toEqual([{ currency: 'CNY', amount: '100.00' }]);
    const odd = rows.find(({ clientId }) => clientId === '-5');
    expect(restored(odd?.['partnerOrderId'])).toBe(FORMULA_ID);
    expect(odd).toMatchObject({ beneficiary: 'Zhang San', accountEnd: '0000', outcome: 'SUCCESS' });
    // A quote that was not paid is no sum.
    const unpaid = rows.filter(({ outcome }) => outcome === 'FAILED' || outcome === 'NOT_CREATED');
    expect(unpaid.length).toBeGreaterThan(0);
    for (const row of unpaid)
      expect([row['pay.amount'], row['fee.amount'], row['rate']]).toEqual(['', '', '']);
    // Nothing is left out but the lists.
    const fields = Object.keys(statementRowSchema.shape).filter(
      (name) => !/^(debits|splits|laterReturns)$/.test(name),
    );
    const columns = Object.keys(odd ?? {}).map((column) => column.split('.')[0]);
    expect(columns).toEqual(expect.arrayContaining(fields));
  });

  test('H305 contains only what the key may list', async () => {
    expect(idsOf(await statement(period, 'acme'))).toEqual([
      ended.map(({ partnerOrderId }) => partnerOrderId).find((id) => id.startsWith('acme-')),
    ]);
    expect(await statement(period, 'other')).toEqual([]);
    expect(idsOf(await statement(`${period}&app=default`, 'both'))).toEqual(idsOf(ended));
    const status = async (name: string, query = period) =>
      (await get(`${v1}/statements?${query}`, as(name))).status;
    expect([await status('one'), await status('starter')]).toEqual([403, 403]);
    expect(await status('other', `${period}&app=default`)).toBe(403);
  });

  test.each([
    ['to', `from=${'2020-01-02T00:00:00Z'}&to=2020-01-02T00:00:00Z`],
    ['from', 'from=yesterday&to=2020-01-02T00:00:00Z'],
    ['to', 'from=2020-01-02T00:00:00Z'],
    ['format', 'from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z&format=xls'],
  ])('an invalid %s is named', async (path, query) => {
    expect(await get(`${v1}/statements?${query}`, as('all'))).toMatchObject({
      status: 400,
      body: { type: '/problems/invalid-request', errors: [{ path }] },
    });
  });
});

describe('the results of a batch', () => {
  test('are its rows in their order, with what has become of each', async () => {
    const batches = batchesOf(world);
    const rows = rowsOf('success', 'success', 'partial splits=2 failed=1', 'slow final=1h');
    const [joined, taken, partial, open] = rows;
    if (!joined || !taken || !partial || !open) throw new Error('four rows');
    await world.payouts.result(await world.payouts.start(joined));
    await world.payouts.start({ ...taken, clientId: 'client-2' });
    const batchId = `b-${newPartnerOrderId()}`;
    await batches.start({ batchId, payouts: rows, startedBy: 'all' });
    await eventually(async () => (await batches.state({ batchId })).done === 3 || undefined);
    const results = async (name = 'all') =>
      statementSchema.parse(JSON.parse(await text(`payout-batches/${batchId}/results`, name)));
    const { payouts, end } = await results();
    expect(payouts.map(({ partnerOrderId }) => partnerOrderId)).toEqual(
      rows.map((row) => row.partnerOrderId),
    );
    expect(payouts).toMatchObject([
      { outcome: 'SUCCESS', received: { amount: '100.00' } },
      { outcome: 'conflict', clientId: 'client-1', debits: [] },
      { outcome: 'PARTIAL_SUCCESS', batch: batchId, failed: { amount: '50.00' }, splits: [{}, {}] },
      { startedAt: expect.any(String), instructedAmount: { amount: '100.00' } },
    ]);
    // It counts in the batch that started it.
    expect(payouts[0]).not.toHaveProperty('batch');
    expect(payouts[3]).not.toHaveProperty('outcome');
    expect(payouts[1]).not.toHaveProperty('received');
    expect(end).toEqual({ payouts: 4, unreadable: 0, isFinal: false });
    expect((await get(`${v1}/payout-batches/${batchId}/results`, as('one'))).status).toBe(404);
    const printed = await cli(world.workerEnvironment, ['batch', 'results', batchId, '--json']);
    expect(printed).toMatchObject({ code: 0, stderr: expect.stringContaining('not final') });
    expect(printed.json()).toEqual({ payouts, end });
    world.simulator.control.changeOrder(open.partnerOrderId, { status: 'SUCCESS' });
    await world.payouts.poll(open);
    await batches.result({ batchId });
    expect((await results()).end).toEqual({ payouts: 4, unreadable: 0, isFinal: true });
  });
});

test('H318 the results of a canceled batch tell nothing of a payout that another caller has started', async () => {
  const mine = payoutRequest(FORMULA_ID);
  const batchId = `b-${newPartnerOrderId()}`;
  const handle = batchesOf(world).handle({ batchId });
  await world.client.workflow.start('payoutBatch', {
    taskQueue: 'payouts',
    workflowId: handle.workflowId,
    args: [{ app: 'default', batchId, count: 2 }],
    memo: startMemo({ environment: 'test', startedBy: 'one' }),
  });
  // A row is missing, so that none is started before the batch is canceled.
  await handle.executeUpdate(addUpdate, { args: [{ offset: 0, payouts: [{ ...mine, app: 'default' }] }] });
  await handle.cancel();
  await handle.result();
  const { payouts } = statementSchema.parse(
    JSON.parse(await text(`payout-batches/${batchId}/results`, 'one')),
  );
  const { partnerOrderId, instructedAmount } = mine;
  expect(payouts).toEqual([
    {
      ...{ app: 'default', partnerOrderId, clientId: 'client-1', payerId: 'payer-1', batch: batchId },
      ...{ beneficiary: 'Zhang San', accountEnd: '0000' },
      ...{ outcome: 'notStarted', instructedAmount, debits: [], splits: [], laterReturns: [] },
    },
  ]);
});

describe('payouts statement', () => {
  const run = (...args: string[]) => cli(world.workerEnvironment, ['statement', ...args]);

  test('prints the same as HTTP', async () => {
    const period = ['--from', day, '--to', nextDay(day)];
    const csv = await run(...period);
    expect(csv).toMatchObject({ code: 0, stderr: expect.stringContaining('not final') });
    expect(csv.stdout).toContain(FORMULA_ID.replace(';-', ";'-"));
    expect(csv.stdout).not.toMatch(/^(debits|splits),/m);
    expect((await run(...period, '--details')).stdout).toMatch(/^splits,/m);
    const all = statementSchema.parse((await run(...period, '--json')).json());
    expect(idsOf(all.payouts)).toEqual(expect.arrayContaining(idsOf(ended)));
    const ndjson = await run(...period, '--format', 'ndjson', '--app', 'another');
    expect(ndjson.stdout).toBe('{"end":{"payouts":0,"unreadable":0,"isFinal":false}}\n');
  });

  test('an invalid period is bad input', async () => {
    expect((await run('--from', day, '--to', day, '--json')).code).toBe(2);
    expect((await run('--from', day)).code).toBe(2);
  });
});

test('the client library iterates over the same rows', async () => {
  const rows: StatementRow[] = [];
  for await (const row of world.payouts.statement({
    from: `${day}T00:00:00Z`,
    to: `${nextDay(day)}T00:00:00Z`,
  }))
    rows.push(row);
  expect(idsOf(rows)).toEqual(expect.arrayContaining(idsOf(ended)));
});

test('a payout that was started without our memo has its ids in the statement', async () => {
  const request = payoutRequest(newPartnerOrderId(), { platform: 'sim:success' });
  const { workflowId } = world.payouts.handle(request);
  await world.client.workflow.execute('payout', { taskQueue: 'payouts', workflowId, args: [request] });
  const row = await eventually(async () =>
    (await statement()).find(({ partnerOrderId }) => partnerOrderId === request.partnerOrderId),
  );
  expect(row).toMatchObject({
    clientId: 'client-1',
    payerId: 'payer-1',
    instructedAmount: { amount: '100.00' },
  });
});
