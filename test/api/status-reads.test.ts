import { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { get, getOnce, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

/** The queries that a worker received, by workflow id. */
const asked: string[] = [];

function counting({ connection, options }: Client): Client {
  const { namespace, dataConverter } = options;
  return new Client({
    connection,
    namespace,
    ...(dataConverter && { dataConverter }),
    interceptors: {
      workflow: [
        {
          query: (input, next) => {
            asked.push(input.workflowExecution.workflowId ?? '');
            return next(input);
          },
        },
      ],
    },
  });
}

describe('H62 status reads use few worker queries', () => {
  let world: VirtualWorld;
  let service: TestApiServer;
  let at: string;
  beforeAll(async () => {
    world = await VirtualWorld.start();
    service = await startApiServer(counting(world.client));
    at = `${service.url}/v1/payouts`;
  });
  afterAll(async () => {
    await service.close();
    await world.stop();
  });

  test('a hundred readers of one payout cost one query per second', async () => {
    const ref = await world.pay('stuck', { approval: 'required' });
    await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    asked.length = 0;
    const beganMs = world.clock.nowMs();
    const answers = await Promise.all(Array.from({ length: 100 }, () => get(`${at}/${ref.partnerOrderId}`)));
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 200, body: { state: { phase: 'AWAITING_APPROVAL' } } });
    expect(new Set(asked)).toEqual(new Set([`payout:default:${ref.partnerOrderId}`]));
    expect(asked.length).toBeLessThanOrEqual(1 + (world.clock.nowMs() - beganMs) / 1_000);
  });

  test('a read after an update shows its effect, even while an earlier answer is fresh', async () => {
    const ref = await world.pay('success', { approval: 'required' });
    await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    const one = `${at}/${ref.partnerOrderId}`;
    expect((await get(one)).body).toMatchObject({ state: { phase: 'AWAITING_APPROVAL' } });
    // Answered once the payout has ended.
    expect((await post(`${one}/cancel`, { reason: 'no' })).status).toBe(200);
    expect((await get(one)).body).toMatchObject({ state: { phase: 'DONE', outcome: 'NOT_CREATED' } });
  });

  test('the state of an ended payout is read without a worker, and equals what its workflow reports', async () => {
    const refs = await Promise.all(['success', 'failure', 'partial'].map((scenario) => world.pay(scenario)));
    const results = await Promise.all(refs.map((ref) => world.payouts.result(ref)));
    const told = await Promise.all(
      refs.map((ref) => world.payouts.handle(ref).query<Record<string, unknown>, []>('state')),
    );
    await world.stopWorkers();
    asked.length = 0;
    for (const [index, ref] of refs.entries()) {
      // Only the workflow knows when the provider was last asked.
      const { lastAskedAt, lastConfirmedAt, ...state } = told[index] ?? {};
      expect([typeof lastAskedAt, typeof lastConfirmedAt]).toEqual(['string', 'string']);
      const body = { state, result: results[index] };
      expect(await get(`${at}/${ref.partnerOrderId}`)).toMatchObject({ status: 200, body });
      expect(await world.payouts.state(ref)).toEqual(state);
    }
    expect(asked).toEqual([]);
    await world.startWorkers();
  });

  test('an ended payout that needs attention reports the reasons from its workflow', async () => {
    const ref = await world.payWithFault({ kind: 'drop-after' }, 'v2-disagrees final=0s');
    const result = await world.payouts.result(ref);
    const reasons = [expect.objectContaining({ code: 'PROVIDER_CONTRADICTS_ITSELF' })];
    const body = { state: { phase: 'DONE', needsAttention: true, reasons }, result };
    expect(await get(`${at}/${ref.partnerOrderId}`)).toMatchObject({ status: 200, body });
  });
});

describe('H62 more readers than workers can answer', () => {
  test('are rejected in bounded time, with at most ten queries waiting for a worker', async () => {
    const world = await VirtualWorld.start({ idle: true });
    // Its timers run in virtual time, as Temporal's deadlines do.
    const service = await startApiServer(counting(world.client), {}, { clock: world.system.world });
    const ids = Array.from({ length: 14 }, newPartnerOrderId);
    for (const id of ids) await world.payouts.start(payoutRequest(id));
    asked.length = 0;
    const answers = await Promise.all(ids.map((id) => getOnce(`${service.url}/v1/payouts/${id}`)));
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    const refused = answers.filter(({ body }) => JSON.stringify(body).includes('too many status reads'));
    expect(refused).toHaveLength(4);
    expect(asked).toHaveLength(10);
    await service.close();
    await world.stop();
  });
});
