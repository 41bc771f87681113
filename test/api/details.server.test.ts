/** A payout with its request and its timeline, for who may read it: over HTTP, in the client library and in the CLI. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { timelineSchema } from '../../src/contract/payout.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { newKey } from '../support/keys.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const KEYS = { PAYOUTS_ENCRYPTION_KEYS: newKey('k1') };
let world: VirtualWorld;
let server: TestApiServer;
let own: PayoutRequest;

beforeAll(async () => {
  world = await VirtualWorld.start({ env: KEYS });
  server = await startApiServer(world.client, {
    ...KEYS,
    PAYOUTS_API_KEYS_FILE: keysFile([
      callerEntry('shop'),
      callerEntry('clerk'),
      callerEntry('other', { clientIds: ['client-2'], payerIds: ['payer-2'] }),
    ]),
  });
  own = payoutRequest(newPartnerOrderId(), {
    platform: 'sim:success',
    approval: 'required',
    limits: { maxFee: { currency: 'USD', amount: '5' } },
    metadata: { invoice: '4711' },
  });
  expect((await post(`${server.url}/v1/payouts`, own, as('shop'))).status).toBe(202);
  await world.until(own, ({ phase }) => phase === 'AWAITING_APPROVAL');
  const { quote } = await world.payouts.state(own);
  await post(`${path()}/approve`, { lockRateId: quote?.lockRateId, note: 'checked' }, as('clerk'));
  await world.payouts.result(own);
});
afterAll(async () => {
  await server?.close();
  await world.stop();
});

const path = () => `${server.url}/v1/payouts/${own.partnerOrderId}`;
const read = (query: string, name = 'shop') => get(`${path()}${query}`, as(name));

/** What the payout is about and what happened. */
const details = {
  request: {
    clientId: 'client-1',
    instructedAmount: { currency: 'CNY', amount: '100.00' },
    receiver: { bankAccountName: 'Zhang San', bankName: 'Example Bank', accountEnd: '0000' },
    limits: { maxFee: { currency: 'USD', amount: '5.00' } },
    metadata: { invoice: '4711' },
  },
  startedBy: 'shop',
};
const steps = expect.arrayContaining([
  { at: expect.any(String), what: 'Started by shop' },
  { at: expect.any(String), what: 'Approved by clerk', detail: 'checked', tone: 'good' },
  { at: expect.any(String), what: 'Finished', detail: 'Success.', tone: 'good' },
]);
const timeline = { steps, isCut: false };

describe('over HTTP', () => {
  test('a read includes what it asks for, and a poll makes no further call', async () => {
    const history = vi.spyOn(world.client.workflowService, 'getWorkflowExecutionHistory');
    /** Of the reads of the start and of the whole history. That of a result has no size. */
    const made = async (query: string) => {
      history.mockClear();
      const { status, body } = await read(query);
      expect(status, JSON.stringify(body)).toBe(200);
      return { body, sizes: history.mock.calls.flatMap(([{ maximumPageSize: size }]) => size ?? []) };
    };
    const plain = await made('');
    expect(plain).toMatchObject({
      sizes: [],
      body: { state: { phase: 'DONE' }, result: { outcome: 'SUCCESS' } },
    });
    for (const field of ['request', 'startedBy', 'timeline']) expect(plain.body).not.toHaveProperty(field);
    const request = await made('?include=request');
    expect(request).toMatchObject({ sizes: [1], body: details });
    expect(request.body).not.toHaveProperty('timeline');
    expect(await made('?include=timeline')).toMatchObject({ sizes: [1, 1_000], body: { timeline } });
    expect(await made('?include=timeline,request')).toMatchObject({
      sizes: [1, 1_000],
      body: { ...details, timeline },
    });
    vi.restoreAllMocks();
  });

  test('steps that alternate are counted together', async () => {
    const ref = await world.pay('other-beneficiary');
    await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    await world.pass(600_000);
    const { body } = await get(`${server.url}/v1/payouts/${ref.partnerOrderId}?include=timeline`, as('shop'));
    const { steps } = z.object({ timeline: timelineSchema }).loose().parse(body).timeline;
    const repeated = steps.filter(({ count = 1 }) => count > 5);
    expect(repeated.map(({ what }) => what)).toEqual(['Asked whether the order exists', 'Order read']);
    expect(steps.length).toBeLessThan(10);
  });

  test('H300 nobody reads the numbers of account and identity, and nothing of another client', async () => {
    const { body } = await read('?include=request,timeline');
    const { bankAccountNumber, idCardNumber } = own.receiver;
    for (const number of [bankAccountNumber, idCardNumber])
      expect(JSON.stringify(body)).not.toContain(number);
    for (const query of ['?include=request', '?include=timeline', ''])
      expect(await read(query, 'other')).toMatchObject({
        status: 404,
        body: { type: '/problems/not-found' },
      });
  });

  test.each(['', 'everything', 'request,', 'request timeline'])(
    'names include=%s as invalid',
    async (value) => {
      const answer = await read(`?include=${encodeURIComponent(value)}`);
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'include' }] } });
    },
  );
});

test('the client library has the timeline', async () => {
  expect(await world.payouts.timeline(own)).toEqual(timeline);
});

test('the CLI shows both with --details', async () => {
  const run = (...args: string[]) => cli(world.workerEnvironment, ['status', own.partnerOrderId, ...args]);
  expect((await run('--json', '--details')).json()).toMatchObject({ phase: 'DONE', ...details, timeline });
  const { stdout } = await run('--details');
  for (const text of ['Zhang San', '…0000', 'shop', 'Approved by clerk', 'Finished'])
    expect(stdout).toContain(text);
  expect((await run()).stdout).not.toContain('Zhang San');
});

describe('the row of a payout in a list', () => {
  test.each([
    ['failure', 'FAILED', '0.00', '100.00'],
    ['partial splits=4 failed=1', 'PARTIAL_SUCCESS', '75.00', '25.00'],
  ] as const)('%s: has the sums, for one history event', async (scenario, outcome, received, failed) => {
    const ref = await world.pay(scenario);
    await world.payouts.result(ref);
    const row = await eventually(async () => (await world.payouts.listPage({ outcome })).payouts[0]);
    const cny = (amount: string) => ({ currency: 'CNY', amount });
    expect(row).toMatchObject({
      ...ref,
      received: cny(received),
      failed: cny(failed),
      beneficiary: 'Zhang San',
    });
    expect(await memoChanges(ref)).toBe(1);
  });

  test('of one that arrived as a whole has the sum too, for none', async () => {
    const [row] = (await world.payouts.listPage({ outcome: 'SUCCESS' })).payouts;
    expect(row).toMatchObject({ partnerOrderId: own.partnerOrderId, received: own.instructedAmount });
    expect(row).not.toHaveProperty('failed');
    expect(await memoChanges(own)).toBe(0);
  });

  async function memoChanges(ref: PayoutRef): Promise<number | undefined> {
    const { events } = await world.payouts.handle(ref).fetchHistory();
    return events?.filter((event) => event.workflowPropertiesModifiedEventAttributes).length;
  }
});
