/** People whom a proxy signs in to the desk have the permissions of a caller, and are bound by its rules. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callerEntry, keysFile } from '../support/callers.ts';
import {
  BEHIND_IDENTITY_PROXY,
  DeskBrowser,
  type DeskResponse,
  fromProxy,
  lockRateIdIn,
  startDesk,
  uploadBatch,
} from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import type { TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let server: TestApiServer;

beforeAll(async () => {
  const approvals = { callers: { finance: { CNY: '50.00' } } };
  world = await VirtualWorld.start({ approvals });
  server = await startDesk(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('finance', { users: ['olga', 'piet'] })]),
    ...BEHIND_IDENTITY_PROXY,
  });
});
afterAll(async () => {
  await server?.close();
  await world?.stop();
});

const personAt = (user: string) => new DeskBrowser(server.url, fromProxy(user));

async function approveAs(user: string, partnerOrderId: string): Promise<DeskResponse> {
  const browser = personAt(user);
  const { html } = await browser.get(`/desk/payout?partnerOrderId=${partnerOrderId}`);
  const lockRateId = lockRateIdIn(html);
  return browser.post('/desk/payouts/approve', { app: 'default', partnerOrderId, lockRateId });
}

function withKey(method: 'POST', path: string, body: object): Promise<Response> {
  const headers = { authorization: 'Bearer key-of-finance', 'content-type': 'application/json' };
  return fetch(server.url + path, { method, headers, body: JSON.stringify(body) });
}

const awaitsApproval = (partnerOrderId: string) =>
  // The query fails until the payout has started.
  eventually(() =>
    world.until({ partnerOrderId }, ({ phase }) => phase === 'AWAITING_APPROVAL').catch(() => undefined),
  );

test('H181 what a person starts requires the approvals of the caller, and no key of the caller approves it', async () => {
  const payout = payoutRequest(newPartnerOrderId());
  const { partnerOrderId } = payout;
  const batch = await uploadBatch(personAt('olga'), server.url, [payout]);
  expect((await batch.start()).status).toBe(303);
  await awaitsApproval(partnerOrderId);
  expect((await withKey('POST', `/v1/payouts/${partnerOrderId}/approve`, {})).status).toBe(403);
  expect((await approveAs('olga', partnerOrderId)).status).toBe(403);
  for (const by of ['olga', 'finance', 'finance/olga'])
    await expect(world.payouts.approve({ partnerOrderId }, { by })).rejects.toThrow();
  expect((await approveAs('piet', partnerOrderId)).status).toBe(303);
  expect(await world.payouts.result({ partnerOrderId })).toMatchObject({
    outcome: 'SUCCESS',
    decisions: [{ action: 'approve', by: 'piet' }],
  });
});

test('H181 no person of a caller approves what its key has started', async () => {
  const payout = payoutRequest(newPartnerOrderId());
  const { partnerOrderId } = payout;
  expect((await withKey('POST', '/v1/payouts', payout)).status).toBe(202);
  await awaitsApproval(partnerOrderId);
  expect((await approveAs('olga', partnerOrderId)).status).toBe(403);
  await world.payouts.refuse({ partnerOrderId }, { by: 'test' });
});
