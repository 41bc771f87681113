/** Who must approve, and decisions that are sent twice, through every interface. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { createsOf } from '../support/ledger.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

const POLICY = {
  above: { CNY: '100.00' },
  callers: { shop: { CNY: '20.00' }, stall: { USD: '1.00' } },
};

let world: TestWorld;
let server: TestApiServer;
let at: string;
beforeAll(async () => {
  world = await startWorld({ approvals: POLICY });
  server = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      ...['shop', 'stall', 'market', 'desk'].map((name) =>
        callerEntry(name, { largestAmount: { CNY: '1000.00' } }),
      ),
    ]),
  });
  at = `${server.url}/v1/payouts`;
});
afterAll(async () => {
  await server.close();
  await world.stop();
});

const bodyOf = (amount: string, over: object = {}) =>
  payoutRequest(newPartnerOrderId(), {
    ...{ platform: 'sim:success', instructedAmount: { currency: 'CNY', amount }, approval: 'none' },
    ...over,
  });
const waits = (ref: { partnerOrderId: string }) =>
  world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL' || phase === 'DONE');

describe('H161 workers require an approval, whatever the request says', () => {
  test.each([
    ['of the application', 'market', '100.00', 'DONE'],
    ['of the application', 'market', '100.01', 'AWAITING_APPROVAL'],
    ['of the caller', 'shop', '20.00', 'DONE'],
    ['of the caller', 'shop', '20.01', 'AWAITING_APPROVAL'],
    ['of a caller, in a currency that it does not list', 'stall', '0.01', 'AWAITING_APPROVAL'],
  ])('the limit %s: %s pays %s CNY: %s', async (_of, caller, amount, phase) => {
    const body = bodyOf(amount);
    expect((await post(at, body, as(caller))).status).toBe(202);
    expect((await waits(body)).phase).toBe(phase);
    expect(createsOf(world, body).length).toBe(phase === 'DONE' ? 1 : 0);
    // The start is still the same request.
    expect((await post(at, body, as(caller))).status).toBe(202);
    if (phase === 'AWAITING_APPROVAL') await world.payouts.cancel(body, { by: 'olga' });
  });

  test('on the command line and in a batch too', async () => {
    const [one, two] = [bodyOf('20.01'), bodyOf('20.01')];
    const started = await cli(world.workerEnvironment, ['start', '-', '--by', 'shop'], JSON.stringify([one]));
    expect(started.code).toBe(0);
    const batch = { batchId: newPartnerOrderId(), payouts: [two] };
    expect((await post(`${server.url}/v1/payout-batches`, batch, as('shop'))).status).toBe(202);
    for (const body of [one, two]) {
      expect((await eventually(() => waits(body).catch(() => undefined))).phase).toBe('AWAITING_APPROVAL');
      await world.payouts.approve(body, { by: 'olga' });
      expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
    }
  });
});

describe('H162 a decision that is sent twice', () => {
  test('an approval: the same answer for its approver, before and after the end; a refusal for others', async () => {
    const body = bodyOf('100.01', { platform: 'sim:slow final=1h' });
    await post(at, body, as('shop'));
    const { quote } = await waits(body);
    const terms = { pay: quote?.pay, fee: quote?.fee, target: quote?.target };
    const approve = (who: string, decision: object = {}) =>
      post(`${at}/${body.partnerOrderId}/approve`, { lockRateId: quote?.lockRateId, ...decision }, as(who));
    expect((await approve('desk')).status).toBe(200);
    await world.until(body, ({ phase }) => phase === 'PROCESSING');
    const again = await approve('desk');
    expect(again).toMatchObject({ status: 200, body: { phase: 'PROCESSING' } });
    expect((await approve('market')).status).toBe(409);
    expect((await approve('desk', { lockRateId: 'another' })).status).toBe(409);
    world.simulator.control.changeOrder(body.partnerOrderId, { status: 'SUCCESS' });
    const { decisions } = await world.payouts.result(body);
    expect(decisions).toEqual([
      {
        ...{ action: 'approve', by: 'desk', at: expect.any(String), lockRateId: quote?.lockRateId },
        ...{ seen: terms, covers: terms },
      },
    ]);
    expect(await approve('desk')).toMatchObject({ status: 200, body: { phase: 'DONE', outcome: 'SUCCESS' } });
    expect((await approve('market')).status).toBe(409);
    expect(createsOf(world, body).length).toBe(1);
    const shown = await get(`${at}/${body.partnerOrderId}`, as('shop'));
    expect(shown.body).toMatchObject({ result: { decisions: [{ action: 'approve', by: 'desk' }] } });
  });

  test.each([
    ['refuse', { note: 'too much' }],
    ['cancel', { reason: 'a typing error' }],
  ])('%s, after the end', async (verb, decision) => {
    const body = bodyOf('100.01');
    await post(at, body, as('shop'));
    await waits(body);
    const send = (who: string) => post(`${at}/${body.partnerOrderId}/${verb}`, decision, as(who));
    expect((await send('desk')).status).toBe(200);
    expect(await world.payouts.result(body)).toMatchObject({
      outcome: 'NOT_CREATED',
      decisions: [{ action: verb, by: 'desk', note: Object.values(decision)[0] }],
    });
    expect(await send('desk')).toMatchObject({ status: 200, body: { phase: 'DONE' } });
    expect((await send('market')).status).toBe(409);
  });

  test('a resolution: counts once, and not by the caller who started the payout', async () => {
    const body = bodyOf('10.00');
    world.simulator.control.addFault({
      ...{ operation: 'createCnyOrder', partnerOrderId: body.partnerOrderId, times: 1 },
      fault: { kind: 'drop-before' },
    });
    await post(at, body, as('market'));
    const { sends } = await world.until(body, ({ phase }) => phase === 'NEEDS_REVIEW');
    const resolve = (who: string) =>
      post(`${at}/${body.partnerOrderId}/resolve`, { created: false, then: 'retry', sends }, as(who));
    expect(await resolve('market')).toMatchObject({ status: 403, body: { type: '/problems/own-payout' } });
    const elsewhere = world.payouts.resolve(body, { by: 'Market', created: false, then: 'end' });
    await expect(elsewhere).rejects.toMatchObject({ cause: { type: 'NotAcceptedNow' } });
    expect((await resolve('desk')).status).toBe(200);
    expect((await resolve('desk')).status).toBe(200);
    expect(await world.payouts.result(body)).toMatchObject({
      outcome: 'SUCCESS',
      decisions: [{ action: 'resolve', by: 'desk', created: false, then: 'retry', sends }],
    });
    expect((await resolve('desk')).status).toBe(200);
    expect(createsOf(world, body).length).toBe(2);
  });
});
