import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { createPayout } from '../../src/activities/create-payout.ts';
import type { Claim } from '../../src/activities/send-once.ts';
import type { CreateOrder } from '../../src/activities/types.ts';
import { workerConfig } from '../../src/config/config.ts';
import type { PaymentsClient } from '../../src/payments/index.ts';
import { serviceClient } from '../../src/workers/service-client.ts';
import { openBudget } from '../support/budget.ts';
import { freshNumber, QUICK } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';

const RUN = 'the-first-run';
const caller = { environment: 'test', app: 'default' };
const ours: Claim = async () => undefined;

describe('the create activity sends only when it is sure that nobody has sent before', () => {
  let simulator: Simulator;
  let client: PaymentsClient;
  let create: CreateOrder;

  beforeAll(async () => {
    simulator = await startSimulator({ settings: { callsPerSecond: 1_000 } });
    const config = workerConfig({
      ...QUICK,
      PAYMENTS_BASE_URL: simulator.url,
      PAYMENTS_AUTH_URL: simulator.url,
    });
    const [application] = config.applications.values();
    if (!application) throw new Error('no application');
    const tokens = { token: async () => (await client.applicationToken()).accessToken };
    client = await serviceClient(config, application, { tokens, gate: openBudget(20), callsPerSecond: 20 });
  });
  afterAll(async () => {
    await client.close();
    await simulator.close();
  });

  beforeEach(async () => {
    const { receiver, ...request } = payoutRequest(freshNumber());
    const { payerId, type, instructedAmount, originCurrency, targetCurrency } = request;
    const quote = await client.quote({ payerId, type, instructedAmount, originCurrency, targetCurrency });
    create = {
      order: { ...request, receiver, lockRateId: quote.lockRateId },
      firstRunId: RUN,
      askFirst: false,
      lockExpiresAtMs: Date.now() + 60_000,
      sendWithinMs: 10_000,
    };
  });

  const posts = () => simulator.control.ledgerOf(create.order.partnerOrderId).creates.length;

  function run(change: Partial<CreateOrder> = {}, options: { attempt?: number; claim?: Claim } = {}) {
    const environment = new MockActivityEnvironment({
      attempt: options.attempt ?? 1,
      workflowExecution: { workflowId: 'payout:default:x', runId: RUN },
    });
    return environment.run(() =>
      createPayout(client, options.claim ?? ours, caller, { ...create, ...change }),
    );
  }

  test('the first run of a fresh number sends, once', async () => {
    expect(await run()).toMatchObject({ kind: 'created' });
    expect(posts()).toBe(1);
  });

  test.each([
    ['H6 another run than the first', { firstRunId: 'another' }, {}],
    ['H6 a later attempt', {}, { attempt: 2 }],
    ['H7 a start that promises nothing', { askFirst: true }, {}],
    ['H6 a clearance of another run', { cleared: { runId: 'another' } }, {}],
    ['H6 a later attempt, cleared', { cleared: { runId: RUN } }, { attempt: 2 }],
  ])('%s sends nothing and says that it may exist', async (_name, change, options) => {
    expect(await run(change, options)).toEqual({ kind: 'not-sent', why: 'may-exist' });
    expect(posts()).toBe(0);
  });

  test('a run that has asked itself may send', async () => {
    expect(await run({ askFirst: true, cleared: { runId: RUN } })).toMatchObject({ kind: 'created' });
    expect(posts()).toBe(1);
  });

  test('H102 an activity that Temporal no longer counts sends nothing', async () => {
    const claim: Claim = () => Promise.reject(new Error('activity not found'));
    expect(await run({}, { claim })).toEqual({ kind: 'not-sent', why: 'unreachable' });
    expect(posts()).toBe(0);
  });

  test('H102 a create that is past its deadline sends nothing', async () => {
    const slow: Claim = () => new Promise((resolve) => setTimeout(resolve, 100));
    expect(await run({ sendWithinMs: 50 }, { claim: slow })).toEqual({
      kind: 'not-sent',
      why: 'unreachable',
    });
    expect(posts()).toBe(0);
  });

  test('H3 a lock that has run out is not sent', async () => {
    expect(await run({ lockExpiresAtMs: Date.now() })).toEqual({ kind: 'not-sent', why: 'lock-expired' });
    expect(posts()).toBe(0);
  });

  test('H1 a service that cannot be reached has surely not received it', async () => {
    const nobody = await startSimulator();
    await nobody.close();
    const config = workerConfig({ ...QUICK, PAYMENTS_BASE_URL: nobody.url, PAYMENTS_AUTH_URL: nobody.url });
    const [application] = config.applications.values();
    if (!application) throw new Error('no application');
    const lost = await serviceClient(config, application, {
      tokens: { token: async () => 'any' },
      gate: openBudget(20),
      callsPerSecond: 20,
    });
    const environment = new MockActivityEnvironment({
      attempt: 1,
      workflowExecution: { workflowId: 'x', runId: RUN },
    });
    expect(await environment.run(() => createPayout(lost, ours, caller, create))).toEqual({
      kind: 'not-sent',
      why: 'unreachable',
    });
    await lost.close();
  });
});
