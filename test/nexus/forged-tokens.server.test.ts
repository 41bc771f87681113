/** A Nexus caller chooses the token of the operation that it cancels. Over the HTTP API of the real Temporal server. */

import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { type DevServer, startDevServer } from '../../scripts/dev-server.ts';
import { keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let temporal: DevServer;
let world: PayoutWorld;
/** Of the endpoint of the application `default`. */
let cancelUrl: string;

beforeAll(async () => {
  const [httpPort = 0] = await freePorts(1);
  temporal = await startDevServer({ always: true, ui: false, httpPort });
  const permissions = { largestAmount: { CNY: '500.00' } };
  const env = { PAYOUTS_NEXUS_FILE: keysFile({ default: permissions }) };
  world = await PayoutWorld.start({ address: temporal.address, env });
  const native = await NativeConnection.connect({ address: temporal.address });
  const { endpoint } = await native.operatorService.createNexusEndpoint({
    spec: {
      name: `payouts-${randomUUID()}`,
      target: { worker: { namespace: world.namespace, taskQueue: 'payouts-nexus:test:default' } },
    },
  });
  await native.close();
  cancelUrl = `http://127.0.0.1:${httpPort}/nexus/endpoints/${endpoint?.id}/services/payouts/pay/cancel`;
});
afterAll(async () => {
  await world?.stop();
  await temporal?.stop();
});

/** As Temporal's SDKs write the token of an operation that a workflow runs. */
const tokenOf = (workflowId: string) =>
  Buffer.from(JSON.stringify({ t: 1, ns: world.namespace, wid: workflowId })).toString('base64url');

async function cancel(token: string): Promise<number> {
  // Temporal learns of a new endpoint some time after its creation.
  const { statusCode } = await eventually(async () => {
    const answer = await request(cancelUrl, { method: 'POST', headers: { 'nexus-operation-token': token } });
    const text = await answer.body.text();
    return answer.statusCode === 404 && text.includes('nexus endpoint not found') ? undefined : answer;
  });
  return statusCode;
}

test.each([
  ['a payout', (id: string) => `payout:default:${id}`],
  ['an operation of another application', (id: string) => `payout-operation:east:${id}:r`],
])('H180 the token of %s cancels nothing', async (_what, workflowIdOf) => {
  const partnerOrderId = newPartnerOrderId();
  const workflowId = workflowIdOf(partnerOrderId);
  const { workflow } = world.client;
  const handle = await workflow.start('payout', { taskQueue: 'nobody', workflowId });
  expect(await cancel(tokenOf(workflowId))).toBe(404);
  const { events } = await handle.fetchHistory();
  expect(events?.map(({ eventType }) => eventType)).toHaveLength(2);
});

test.each(['', 'x', Buffer.from('[]').toString('base64url')])(
  'H180 the token %j is refused',
  async (token) => {
    expect(await cancel(token)).toBeGreaterThanOrEqual(400);
  },
);

test('H180 the token of an own operation cancels it', async () => {
  const workflowId = `payout-operation:default:${newPartnerOrderId()}:r`;
  const handle = await world.client.workflow.start('payoutOperation', { taskQueue: 'nobody', workflowId });
  expect(await cancel(tokenOf(workflowId))).toBe(202);
  const { events } = await handle.fetchHistory();
  expect(events?.at(-1)?.workflowExecutionCancelRequestedEventAttributes).toBeTruthy();
});
