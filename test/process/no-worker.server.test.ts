/** What people and programs read, and what their decisions return, while no worker runs. */
import type { Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { payoutStateSchema } from '../../src/contract/payout.ts';
import { connectClient } from '../../src/temporal/connection.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { getOnce, postOnce, startApiServer, type TestApiServer } from '../support/http.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const request = payoutRequest(newPartnerOrderId(), { approval: 'required' });
const ref = { partnerOrderId: request.partnerOrderId };
const MISSING = /no worker is running \((?:last seen .+ ago|none seen for 5 minutes)\)/;
let world: PayoutWorld;
let connection: Connection;
let service: TestApiServer;
let at: string;

beforeAll(async () => {
  world = await PayoutWorld.start();
  const connected = await connectClient({ environment: world.workerEnvironment });
  connection = connected.connection;
  service = await startApiServer(connected.client, { PAYOUTS_DESK: 'on' });
  at = `${service.url}/v1/payouts/${ref.partnerOrderId}`;
  await world.payouts.start(request);
  await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
  await world.stopWorkers();
});
afterAll(async () => {
  await service.close();
  await connection.close();
  await world.stop();
});

async function run(...args: string[]) {
  const ran = await cli(world.workerEnvironment, [...args, '--json']);
  expect(ran.stderr).toBe('');
  return ran;
}
const LAST_KNOWN = {
  phase: 'AWAITING_APPROVAL',
  stale: true,
  asOf: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
  sentence: expect.stringMatching(MISSING),
};

test('reads return the last known state, marked as stale', async () => {
  const { status, body } = await getOnce(at);
  expect({ status, body }).toMatchObject({ status: 200, body: { state: LAST_KNOWN } });
  expect(payoutStateSchema.safeParse(Object(body).state).success).toBe(true);
  expect((await run('status', ref.partnerOrderId)).json()).toMatchObject(LAST_KNOWN);
  const page = await getOnce(`${service.url}/desk/payout?partnerOrderId=${ref.partnerOrderId}`);
  expect(page.status).toBe(200);
  expect(page.body).toMatch(MISSING);
});

test('H310 decisions say so at once, and nothing happens later', async () => {
  const problem = { type: '/problems/no-worker', detail: expect.stringMatching(MISSING) };
  const headers = { 'retry-after': '5' };
  for (const decision of ['cancel', 'poll'])
    expect(await postOnce(`${at}/${decision}`, '')).toMatchObject({ status: 503, headers, body: problem });
  const command = await run('cancel', ref.partnerOrderId, '--by', 'olga');
  expect(command).toMatchObject({ code: 1 });
  expect(command.json()).toMatchObject({
    error: { code: 'NO_WORKER', message: expect.stringMatching(MISSING) },
  });
  const quote = await postOnce(`${service.url}/v1/quotes`, payoutRequest(newPartnerOrderId()));
  expect(quote).toMatchObject({ status: 503, body: problem });
});

test('a worker that runs again is found, and no decision of the time without it has an effect', async () => {
  await world.startWorkers();
  const state = await eventually(async () => {
    const { body } = await getOnce(at);
    return Object(body).state?.stale ? undefined : Object(body).state;
  });
  expect(state).toMatchObject({ phase: 'AWAITING_APPROVAL', quote: expect.anything() });
  expect(state).not.toHaveProperty('decisions');
  const canceled = await postOnce(`${at}/cancel`, '');
  expect(canceled).toMatchObject({ status: 200, body: { phase: 'DONE', outcome: 'NOT_CREATED' } });
});
