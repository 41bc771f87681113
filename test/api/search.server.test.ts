/** The search by what a payout is about, for payouts of every starter: over HTTP, in the client library and in the CLI. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { connectPayouts } from '../../src/client/index.ts';
import type { ListedPayout, PayoutFilter, PayoutPage } from '../../src/contract/lists.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { get, type HttpResponse, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { reconcile, terminate, untilStartedAgain } from '../support/reconciliation.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const KEYS = { PAYOUTS_ENCRYPTION_KEYS: newKey('k1'), PAYOUTS_SEARCH_KEYS: newKey('s1') };
const CALLERS = keysFile([
  callerEntry('all'),
  callerEntry('other', { applications: ['another'] }),
  callerEntry('narrow', { clientIds: ['client-1'], payerIds: ['payer-1'] }),
]);

let world: PayoutWorld;
let server: TestApiServer;

/** Everything about it differs from every other payout of this file. */
let target: PayoutRequest;
/** By which it is found. */
const filters = {
  clientId: 'client-over-http',
  payerId: 'payer-over-http',
  amount: '12.5 CNY',
  beneficiary: 'ＬＩ  Si over-http',
  beneficiaryWords: 'HTTP, li',
  account: '6222 0200 0000 9990',
  accountEnd: '9990',
  metadata: ['invoice=over-http', 'empty='],
};

beforeAll(async () => {
  world = await PayoutWorld.start({ env: { ...KEYS, PAYOUTS_FOLLOW_UP: '1s,1h' } });
  server = await serverWith();
  await world.payouts.start(payoutRequest(newPartnerOrderId(), { platform: 'sim:slow final=1h' }));
  target = aboutSomethingElse('over-http');
  expect((await post(`${server.url}/v1/payouts`, target, as('all'))).status).toBe(202);
});
afterAll(async () => {
  await server.close();
  await world.stop();
});

const serverWith = (over = {}) =>
  startApiServer(world.client, { ...KEYS, PAYOUTS_API_KEYS_FILE: CALLERS, ...over });

let made = 0;

function aboutSomethingElse(name: string): PayoutRequest {
  const last = String(made++);
  const { receiver, ...request } = payoutRequest(newPartnerOrderId(), { platform: 'sim:slow final=1h' });
  return {
    ...request,
    clientId: `client-${name}`,
    payerId: `payer-${name}`,
    instructedAmount: { currency: 'CNY', amount: `12.5${last}` },
    receiver: {
      ...receiver,
      bankAccountName: `Li Si ${name}`,
      bankAccountNumber: `6222-0200-0000-999${last}`,
    },
    metadata: { invoice: name, empty: '' },
  };
}

function urlOf(filter: PayoutFilter, api = server): string {
  const pairs = Object.entries(filter).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  );
  return `${api.url}/v1/payouts?${new URLSearchParams(pairs)}`;
}

const read = (filter: PayoutFilter, name = 'all', api = server): Promise<HttpResponse> =>
  get(urlOf(filter, api), as(name));

async function found(filter: PayoutFilter, api = server): Promise<string[]> {
  const { status, body } = await read(filter, 'all', api);
  expect(status, JSON.stringify(body)).toBe(200);
  return (body as PayoutPage).payouts.map(({ partnerOrderId }) => partnerOrderId);
}

/** Lists lag. */
const untilFound = (filter: PayoutFilter, ids: readonly string[]) =>
  eventually(async () => (await found(filter)).length === ids.length || undefined).then(async () =>
    expect((await found(filter)).sort()).toEqual([...ids].sort()),
  );

describe('each filter finds exactly the payout', () => {
  test('over HTTP, alone and all together', async () => {
    const ids = [target.partnerOrderId];
    await untilFound({ clientId: filters.clientId }, ids);
    for (const [name, value] of Object.entries(filters))
      expect([name, await found({ [name]: value })]).toEqual([name, ids]);
    expect(await found(filters)).toEqual(ids);
    expect(await found({ metadata: ['invoice=over-http'] })).toEqual(ids);
    expect(await found({ ...filters, payerId: 'payer-1' })).toEqual([]);
    expect(await found({ metadata: ['invoice=over-http', 'invoice=another'] })).toEqual([]);
  });

  test('not by a part, another currency, or a value of another field', async () => {
    for (const filter of [
      { beneficiary: 'Li Si' },
      { beneficiaryWords: 'li sixpence' },
      { beneficiaryWords: 'ov htt' },
      { account: '9990' },
      { accountEnd: '0999' },
      { account: 'over' },
      { amount: '12.50 USD' },
      { amount: '12.49 CNY' },
      { clientId: 'payer-over-http' },
      { clientId: 'CLIENT-over-http' },
      { payerId: 'client-over-http' },
      { metadata: ['client-over-http='] },
      { batch: 'over-http' },
    ])
      expect([filter, await found(filter)]).toEqual([filter, []]);
  });

  test('in the client library, which starts payouts that can be found too', async () => {
    const library = await connectPayouts({
      connection: { address: world.address },
      namespace: world.namespace,
      environment: 'test',
      encryptionKeys: KEYS.PAYOUTS_ENCRYPTION_KEYS,
      searchKeys: KEYS.PAYOUTS_SEARCH_KEYS,
    });
    try {
      const own = aboutSomethingElse('library');
      await library.payouts.start(own);
      await untilFound({ payerId: own.payerId }, [own.partnerOrderId]);
      const rows: ListedPayout[] = [];
      for await (const row of library.list(filters)) rows.push(row);
      expect(rows.map(({ partnerOrderId }) => partnerOrderId)).toEqual([target.partnerOrderId]);
    } finally {
      await library.close();
    }
  });

  test('with the CLI, which starts payouts that can be found too', async () => {
    const run = (args: string[], input = '') => cli(world.workerEnvironment, args, input);
    const own = aboutSomethingElse('cli');
    expect(await run(['start', '-'], JSON.stringify(own))).toMatchObject({ code: 0 });
    await untilFound({ payerId: own.payerId }, [own.partnerOrderId]);
    const options = {
      ...{ '--client-id': filters.clientId, '--payer-id': filters.payerId, '--amount': filters.amount },
      ...{ '--beneficiary': filters.beneficiary, '--account': filters.account },
      ...{ '--beneficiary-words': filters.beneficiaryWords, '--account-end': filters.accountEnd },
    };
    for (const args of [
      ...Object.entries(options),
      ['--metadata', ...filters.metadata],
      [...Object.entries(options).flat(), '--metadata', ...filters.metadata],
    ]) {
      const { stdout } = await run(['list', '--json', ...args]);
      expect([args, JSON.parse(stdout)]).toMatchObject([args, [{ partnerOrderId: target.partnerOrderId }]]);
    }
    expect(await run(['list', '--amount', '12,50 CNY'])).toMatchObject({ code: 2 });
  });

  test('of a batch', async () => {
    const batches = new Batches({ client: world.client, environment: 'test' });
    const rows = [aboutSomethingElse('row-1'), aboutSomethingElse('row-2')];
    await batches.start({ batchId: 'salaries', payouts: rows });
    await untilFound(
      { batch: 'salaries' },
      rows.map(({ partnerOrderId }) => partnerOrderId),
    );
    const { body } = await read({ batch: 'salaries', metadata: ['invoice=row-2'] });
    expect(body).toMatchObject({
      payouts: [
        {
          partnerOrderId: rows[1]?.partnerOrderId,
          beneficiary: 'Li Si row-2',
          accountEnd: expect.stringMatching(/^999\d$/),
          batch: 'salaries',
        },
      ],
    });
  });
});

test.each([
  ['amount', 'amount=12.50'],
  ['amount', 'amount=1e2%20CNY'],
  ['amount', 'amount=12.505%20CNY'],
  ['clientId', "clientId=x'%20OR%201=1"],
  ['batch', "batch=x'"],
  ['beneficiary', 'beneficiary='],
  ['beneficiaryWords', 'beneficiaryWords=...'],
  ['accountEnd', 'accountEnd=99900'],
  ['metadata.0', 'metadata=invoice'],
])('names %s as invalid: %s', async (path, query) => {
  const { status, body } = await get(`${server.url}/v1/payouts?${query}`, as('all'));
  expect([status, body]).toMatchObject([400, { errors: [{ path }] }]);
});

describe('what a payout has at its start, it keeps', () => {
  const row = async (filter: PayoutFilter) =>
    ((await read(filter)).body as PayoutPage).payouts.map(({ startedAt: _, ...one }) => one);

  test('after a restart, and after continue-as-new', async () => {
    const own = { ...aboutSomethingElse('kept'), approval: 'required' as const };
    await world.payouts.start(own, { startedBy: 'shop', batch: 'hand-made' });
    await world.until(own, ({ phase }) => phase === 'AWAITING_APPROVAL');
    const filter = { payerId: own.payerId };
    await untilFound(filter, [own.partnerOrderId]);
    const [before] = await row(filter);
    expect(before).toMatchObject({ beneficiary: 'Li Si kept', startedBy: 'shop', batch: 'hand-made' });
    await untilStartedAgain(world, own, await terminate(world, own));
    const isOpen = async () =>
      (await row({ ...filter, phase: 'AWAITING_APPROVAL' })).some(({ workflow }) => workflow === 'RUNNING');
    await eventually(async () => (await isOpen()) || undefined);
    expect(await row({ ...filter, phase: 'AWAITING_APPROVAL' })).toContainEqual(before);
    // A long history: the payout continues as new.
    const { runId } = await world.payouts.handle(own).describe();
    await world.approveShown(own);
    await world.until(own, ({ phase }) => phase === 'PROCESSING');
    const receivedAt = new Date().toISOString();
    await world.payouts.notify(own, { receivedAt, body: 'x'.repeat(100_000) });
    await eventually(async () => (await world.payouts.handle(own).describe()).runId !== runId || undefined);
    await eventually(async () => (await found({ ...filter, phase: 'PROCESSING' })).length === 1 || undefined);
    const text = expect.any(String);
    const after = { ...before, phase: 'PROCESSING', orderId: text, auditStatus: text };
    expect(await row({ ...filter, phase: 'PROCESSING' })).toEqual([after]);
  });

  test('by its follow-up', async () => {
    const own = { ...aboutSomethingElse('followed'), platform: 'sim:success' };
    await world.payouts.start(own, { startedBy: 'shop' });
    await world.payouts.result(own);
    world.simulator.control.changeOrder(own.partnerOrderId, {
      splits: [{ index: 0, refund: true, refundReason: 'account closed' }],
    });
    const flagged = await eventually(async () => {
      await reconcile(world);
      const rows = await row({ attention: true, beneficiary: 'li si followed' });
      return rows.length > 0 ? rows : undefined;
    });
    expect(flagged).toMatchObject([
      {
        partnerOrderId: own.partnerOrderId,
        phase: 'FOLLOW_UP',
        accountEnd: expect.stringMatching(/^999\d$/),
        startedBy: 'shop',
      },
    ]);
  });
});

describe('H298 Temporal knows no value by which a payout is found', () => {
  test('it keeps keyed hashes, in an order that does not tell of what', async () => {
    const { raw } = await world.payouts.handle(target).describe();
    const info = JSON.stringify(raw.workflowExecutionInfo, (_, value: unknown) =>
      value instanceof Uint8Array || Buffer.isBuffer(value) ? Buffer.from(value).toString() : value,
    );
    // Long enough that no hash, time or id holds one of them by chance.
    const plain = ['over-http', '12.5', 'Li Si', '6222-0200', '62220200', 'client-', 'payer-', 'invoice'];
    for (const text of plain) expect(info.replaceAll(target.partnerOrderId, '')).not.toContain(text);
    const hashes = (await hashesOf(world, target)) ?? [];
    // Client, payer, amount, beneficiary and its four words, account and its end, and two pairs.
    expect(hashes).toHaveLength(12);
    expect(hashes).toEqual([...hashes].sort());
    for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{32}$/);
  });

  test('the hashes under another key are others', async () => {
    const other = await PayoutWorld.start({
      env: { ...KEYS, PAYOUTS_SEARCH_KEYS: newKey('s2') },
      idle: true,
    });
    try {
      await other.payouts.start(target);
      const [mine, others = []] = [await hashesOf(world, target), await hashesOf(other, target)];
      expect(others).toHaveLength(12);
      expect(others.filter((hash) => mine?.includes(hash))).toEqual([]);
    } finally {
      await other.stop();
    }
  });
});

test('the longest name and metadata fit into the attribute, which keeps the first ten words', async () => {
  const words = 'abcdefghijklm'.split('').map((letter) => `${letter}-fitting`);
  const { receiver, ...request } = aboutSomethingElse('fitting');
  const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`key${at}`, 'v'.repeat(500)]));
  const own = { ...request, metadata, receiver: { ...receiver, bankAccountName: words.join(' ') } };
  await world.payouts.start(own, { batch: 'fitting' });
  await untilFound({ beneficiaryWords: 'i fitting A' }, [own.partnerOrderId]);
  expect(await found({ beneficiaryWords: 'j' })).toEqual([]);
});

test('after a rotation, payouts of the old key are found with both keys, and not with the new one', async () => {
  const newest = newKey('s2');
  const both = await serverWith({ PAYOUTS_SEARCH_KEYS: `${newest},${KEYS.PAYOUTS_SEARCH_KEYS}` });
  const only = await serverWith({ PAYOUTS_SEARCH_KEYS: newest });
  try {
    const own = aboutSomethingElse('rotated');
    await post(`${both.url}/v1/payouts`, own, as('all'));
    const filter = { payerId: own.payerId };
    await eventually(async () => (await found(filter, both)).length === 1 || undefined);
    expect(await found(filter, only)).toEqual([own.partnerOrderId]);
    expect(await found(filter)).toEqual([]);
    expect(await found(filters, both)).toEqual([target.partnerOrderId]);
    expect(await found(filters, only)).toEqual([]);
  } finally {
    await both.close();
    await only.close();
  }
});

describe('H299 a search finds only what the list shows without it', () => {
  test('not another application, and nothing for a key that cannot list', async () => {
    expect((await read(filters, 'other')).body).toEqual({ payouts: [] });
    expect((await read({ ...filters, app: 'default' }, 'other')).status).toBe(403);
    for (const filter of [filters, { clientId: 'client-1' }])
      expect((await read(filter, 'narrow')).status).toBe(403);
  });

  test('only what begins with the prefix of the key, of its payers', async () => {
    const idPrefix = target.partnerOrderId.slice(0, 30);
    const keys = (payerIds: string[]) =>
      keysFile([
        callerEntry('own', { idPrefix, payerIds, clientIds: [target.clientId] }),
        callerEntry('else', { idPrefix: 'x', payerIds, clientIds: [target.clientId] }),
      ]);
    const mine = await serverWith({ PAYOUTS_API_KEYS_FILE: keys([target.payerId]) });
    const others = await serverWith({ PAYOUTS_API_KEYS_FILE: keys(['payer-1']) });
    try {
      const body = { payouts: [{ partnerOrderId: target.partnerOrderId }] };
      expect(await read(filters, 'own', mine)).toMatchObject({ status: 200, body });
      expect((await read(filters, 'else', mine)).body).toEqual({ payouts: [] });
      expect((await read(filters, 'own', others)).body).toEqual({ payouts: [] });
    } finally {
      await mine.close();
      await others.close();
    }
  });
});

test('without keys, a search names the setting, and a list works', async () => {
  const off = await serverWith({ PAYOUTS_SEARCH_KEYS: '' });
  try {
    const { status, body } = await read({ clientId: 'client-1', amount: '1 CNY' }, 'all', off);
    const message = 'needs PAYOUTS_SEARCH_KEYS, which is not set';
    expect([status, body]).toMatchObject([
      400,
      {
        type: '/problems/invalid-request',
        errors: ['clientId', 'amount'].map((path) => ({ path, message })),
      },
    ]);
    expect((await read({ phase: 'PROCESSING' }, 'all', off)).status).toBe(200);
    const own = aboutSomethingElse('without-keys');
    expect((await post(`${off.url}/v1/payouts`, own, as('all'))).status).toBe(202);
    expect(await hashesOf(world, own)).toBeUndefined();
  } finally {
    await off.close();
  }
  const shown = await cli({ ...world.workerEnvironment, PAYOUTS_SEARCH_KEYS: '' }, ['list', '--batch', 'x']);
  expect(shown).toMatchObject({ code: 2 });
  expect(shown.stderr).toContain('batch needs PAYOUTS_SEARCH_KEYS');
});

/** Undefined without the attribute. */
async function hashesOf(
  { payouts }: PayoutWorld,
  ref: PayoutRequest,
): Promise<readonly unknown[] | undefined> {
  return (await payouts.handle(ref).describe()).searchAttributes['PayoutKeys'];
}
