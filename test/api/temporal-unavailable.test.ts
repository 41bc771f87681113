import { afterAll, beforeAll, expect, test } from 'vitest';
import { payoutBatchWorkflowId } from '../../src/contract/ids.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { get, getOnce, post, postOnce, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;
let at: string;

beforeAll(async () => {
  world = await VirtualWorld.start({ idle: true });
  service = await startApiServer(world.client);
  at = `${service.url}/v1/payouts`;
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

const AWAY = {
  status: 503,
  body: { type: '/problems/temporal-unavailable', title: 'Temporal unavailable' },
  headers: { 'retry-after': '5' },
};

test('without a worker, starting a payout succeeds; reads and decisions return 503 in bounded time', async () => {
  const body = payoutRequest(newPartnerOrderId());
  expect((await post(at, body)).status).toBe(202);
  const answers = await Promise.all([
    getOnce(`${at}/${body.partnerOrderId}`),
    postOnce(`${at}/${body.partnerOrderId}/cancel`, ''),
    postOnce(`${service.url}/v1/quotes`, body),
    getOnce(`${service.url}/v1/accounts?clientId=client-1`),
  ]);
  for (const answer of answers) expect(answer).toMatchObject(AWAY);
  expect((await get(`${at}/${newPartnerOrderId()}`)).status).toBe(404);
});

test('H179 without a worker or Temporal, a caller with daily limits starts nothing and gets 503', async () => {
  const PAYOUTS_API_KEYS_FILE = keysFile([callerEntry('shop', { dailyCount: 5 })]);
  const limited = await startApiServer(world.client, { PAYOUTS_API_KEYS_FILE });
  for (const isUnavailable of [false, true]) {
    const body = payoutRequest(newPartnerOrderId());
    const batch = { batchId: newPartnerOrderId(), payouts: [body] };
    world.system.service.isUnavailable = isUnavailable;
    const answers = await Promise.all([
      postOnce(`${limited.url}/v1/payouts`, body, as('shop')),
      postOnce(`${limited.url}/v1/payout-batches`, batch, as('shop')),
    ]);
    world.system.service.isUnavailable = false;
    for (const answer of answers) expect(answer).toMatchObject(AWAY);
    expect((await get(`${at}/${body.partnerOrderId}`)).status).toBe(404);
    await expect(
      world.client.workflow.getHandle(payoutBatchWorkflowId('default', batch.batchId)).describe(),
    ).rejects.toThrow();
  }
  await limited.close();
});

test('without Temporal, every route returns 503 and accepts nothing', async () => {
  const id = newPartnerOrderId();
  world.system.service.isUnavailable = true;
  const answers = await Promise.all([
    postOnce(at, payoutRequest(id)),
    getOnce(`${at}/${id}`),
    postOnce(`${at}/${id}/approve`, ''),
    postOnce(`${service.url}/v1/payout-batches`, { batchId: 'b', payouts: [payoutRequest(id)] }),
  ]);
  world.system.service.isUnavailable = false;
  for (const answer of answers) expect(answer).toMatchObject(AWAY);
  expect((await get(`${at}/${id}`)).status).toBe(404);
});
