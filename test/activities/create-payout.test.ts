import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { createPayout } from '../../src/activities/payout/create-payout.ts';
import type { Claim } from '../../src/activities/payout/send-once.ts';
import type { CreateOrder } from '../../src/activities/shared/types.ts';
import { workerConfig } from '../../src/config/config.ts';
import type { SendPolicy } from '../../src/domain/payout.ts';
import type { PaymentsClient } from '../../src/payments/index.ts';
import { PROCESS_SURROUNDINGS } from '../../src/surroundings/process.ts';
import { providerClient } from '../../src/workers/provider-client.ts';
import { freshNumber, QUICK } from '../support/payout-world.ts';
import { realLimiter } from '../support/rate-limit.ts';
import { payoutRequest } from '../support/requests.ts';

const surroundings = PROCESS_SURROUNDINGS;
const RUN = 'the-first-run';
const STARTED_AT_MS = Date.parse('2026-01-01T00:00:00Z');
const RECOVERED = { recoveredAtMs: STARTED_AT_MS + 1 };
/** An order that was created before the restore is visible a minute after it at the latest. */
const SETTLING = { ...RECOVERED, visibleWithinMs: 60_000 };
const SOON_AFTER = RECOVERED.recoveredAtMs + 59_999;
const POLICY: SendPolicy = { createCheck: 'doubtful', repeatedCreate: 'review', visibleWithinMs: 0 };
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
    client = await providerClient(config, application, {
      tokens,
      gate: realLimiter(20),
      callsPerSecond: 20,
      surroundings,
    });
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
      clientId: request.clientId,
      firstRunId: RUN,
      isDoubtful: false,
      startedAtMs: STARTED_AT_MS,
      sendWithinMs: 10_000,
    };
  });

  const posts = () => simulator.control.ledgerOf(create.order.partnerOrderId).creates.length;

  interface Options {
    attempt?: number;
    heartbeatDetails?: unknown;
    repeatedAfterMs?: number;
    claim?: Claim;
    policy?: Partial<SendPolicy>;
  }

  function run(change: Partial<CreateOrder> = {}, options: Options = {}) {
    const environment = new MockActivityEnvironment({
      attempt: options.attempt ?? 1,
      heartbeatDetails: options.heartbeatDetails,
      scheduledTimestampMs: 1,
      currentAttemptScheduledTimestampMs: 1 + (options.repeatedAfterMs ?? 0),
      workflowExecution: { workflowId: 'payout:default:x', runId: RUN },
    });
    return environment.run(() =>
      createPayout(
        { client, claim: options.claim ?? ours, policy: { ...POLICY, ...options.policy }, surroundings },
        caller,
        { ...create, ...change },
      ),
    );
  }

  test('the first run of a fresh number sends, once', async () => {
    expect(await run()).toMatchObject({ kind: 'created' });
    expect(posts()).toBe(1);
  });

  const cleared = { runId: RUN };
  test.each<[string, Partial<CreateOrder>, Options, string]>([
    ['H6 another run than the first', { firstRunId: 'another' }, {}, 'earlier-run'],
    ['H7 a doubtful start', { isDoubtful: true }, {}, 'earlier-run'],
    ['H6 a clearance of another run', { cleared: { runId: 'another' } }, {}, 'earlier-run'],
    ['H6 a later attempt', {}, { attempt: 2 }, 'may-have-been-sent'],
    ['H6 a later attempt, cleared', { cleared }, { attempt: 2 }, 'may-have-been-sent'],
    [
      'H6 an attempt after one that may have sent',
      {},
      { heartbeatDetails: 'may-send' },
      'may-have-been-sent',
    ],
    ['H6 an attempt that an operator made anew', {}, { repeatedAfterMs: 5 }, 'may-have-been-sent'],
    ['H53 a payout from before a restore', {}, { policy: RECOVERED }, 'restored'],
    ['H53 one that was cleared before it', { cleared }, { policy: RECOVERED }, 'restored'],
    ['H53 one that started soon after it', { startedAtMs: SOON_AFTER }, { policy: SETTLING }, 'forgotten'],
    [
      'H53 H6 one that started soon after it, in another run than the first',
      { startedAtMs: SOON_AFTER, firstRunId: 'another-run' },
      { policy: SETTLING },
      'earlier-run',
    ],
    [
      'H53 H7 one that started soon after it, by a doubtful start',
      { startedAtMs: SOON_AFTER, isDoubtful: true },
      { policy: SETTLING },
      'earlier-run',
    ],
    [
      'H53 one that started soon after it and was cleared by no whole window',
      { startedAtMs: SOON_AFTER, cleared },
      { policy: SETTLING },
      'forgotten',
    ],
  ])('%s sends nothing', async (_name, change, options, why) => {
    expect(await run(change, options)).toEqual({ kind: 'not-sent', why });
    expect(posts()).toBe(0);
  });

  test('H53 a person who decided after the restore clears the send, and a new payout needs nobody', async () => {
    const decided = { cleared: { runId: RUN, ...RECOVERED } };
    expect(await run(decided, { policy: RECOVERED })).toMatchObject({ kind: 'created' });
    expect(posts()).toBe(1);
  });

  test.each([
    ['started soon after it, once a whole window has cleared it', SOON_AFTER, { runId: RUN, ...RECOVERED }],
    ['started when every order from before it is visible', SOON_AFTER + 1, undefined],
  ])('H53 a payout that %s is sent', async (_name, startedAtMs, cleared) => {
    expect(await run({ startedAtMs, cleared }, { policy: SETTLING })).toMatchObject({ kind: 'created' });
    expect(posts()).toBe(1);
  });

  test.each<[string, Partial<SendPolicy>]>([
    ['H8 with the check on', { createCheck: 'always' }],
    ['H53 after a restore', RECOVERED],
  ])('%s, a payout that looks new is confirmed right before its send', async (_name, policy) => {
    const fresh = { startedAtMs: STARTED_AT_MS + 5 };
    expect(await run(fresh, { policy })).toMatchObject({ kind: 'created' });
    expect(await run(fresh, { policy })).toEqual({ kind: 'not-sent', why: 'exists' });
    expect(posts()).toBe(1);
  });

  test('H8 a check that brings no usable answer sends nothing', async () => {
    simulator.control.addFault({
      operation: 'queryResult',
      times: 1,
      fault: { kind: 'envelope', code: 900002 },
    });
    expect(await run({}, { policy: { createCheck: 'always' } })).toEqual({
      kind: 'not-sent',
      why: 'unconfirmed',
    });
    expect(posts()).toBe(0);
  });

  test('a run that has confirmed that no order exists may send', async () => {
    expect(await run({ isDoubtful: true, cleared: { runId: RUN } })).toMatchObject({ kind: 'created' });
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

  test('H1 a provider that cannot be reached has not received it', async () => {
    const nobody = await startSimulator();
    await nobody.close();
    const config = workerConfig({ ...QUICK, PAYMENTS_BASE_URL: nobody.url, PAYMENTS_AUTH_URL: nobody.url });
    const [application] = config.applications.values();
    if (!application) throw new Error('no application');
    const lost = await providerClient(config, application, {
      tokens: { token: async () => 'any' },
      gate: realLimiter(20),
      callsPerSecond: 20,
      surroundings,
    });
    const environment = new MockActivityEnvironment({
      attempt: 1,
      workflowExecution: { workflowId: 'x', runId: RUN },
    });
    expect(
      await environment.run(() =>
        createPayout({ client: lost, claim: ours, policy: POLICY, surroundings }, caller, create),
      ),
    ).toEqual({
      kind: 'not-sent',
      why: 'unreachable',
    });
    await lost.close();
  });
});
