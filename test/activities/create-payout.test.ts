import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import type { ClientPairs } from '../../src/activities/payout/client-pairs.ts';
import { type CreateOrder, createPayout } from '../../src/activities/payout/create-payout.ts';
import type { Claim } from '../../src/activities/payout/send-once.ts';
import { workerConfig } from '../../src/config/config.ts';
import type { SendPolicy } from '../../src/domain/payout-record.ts';
import type { PaymentsClient } from '../../src/payments/index.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { providerClient } from '../../src/workers/provider-client.ts';
import { NEVER_RESET } from '../support/fixed-looks.ts';
import { realLimiter } from '../support/rate-limit.ts';
import { payoutRequest } from '../support/requests.ts';
import { SEND_POLICY } from '../support/send-policy.ts';
import { newPartnerOrderId, QUICK } from '../support/test-world.ts';

const runtime = PROCESS_RUNTIME;
const RUN = 'the-first-run';
const SCHEDULED_AT_MS = 1;
const STARTED_AT_MS = Date.parse('2026-01-01T00:00:00Z');
const RECOVERED = { recoveredAtMs: STARTED_AT_MS + 1 };
/** Orders created before the restore become visible within a minute after it. */
const SETTLING = { ...RECOVERED, visibleWithinMs: 60_000 };
const SOON_AFTER = RECOVERED.recoveredAtMs + 59_999;
const caller = { environment: 'test', app: 'default' };
const KNOWN_PAIRS: ClientPairs = { isKnown: async () => true };
const ours: Claim = async () => undefined;

describe('create activity: sends only when no earlier run or attempt can have sent', () => {
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
      gate: realLimiter(500),
      callsPerSecond: 500,
      runtime,
    });
  });
  afterAll(async () => {
    await client.close();
    await simulator.close();
  });

  beforeEach(async () => {
    const { clientId, payerId, ...request } = payoutRequest(newPartnerOrderId());
    const { type, instructedAmount, originCurrency, targetCurrency } = request;
    const quote = await client.quote({ payerId, type, instructedAmount, originCurrency, targetCurrency });
    create = {
      order: { ...request, lockRateId: quote.lockRateId },
      quote,
      clientId,
      payerId: 'payer-1',
      isApproved: false,
      firstRunId: RUN,
      isDoubtful: false,
      startedAtMs: STARTED_AT_MS,
      sendWithinMs: 10_000,
      scheduleByMs: SCHEDULED_AT_MS,
    };
  });

  const posts = () => simulator.control.ledgerOf(create.order.partnerOrderId).creates.length;

  interface Options {
    attempt?: number;
    heartbeatDetails?: unknown;
    repeatedAfterMs?: number;
    claim?: Claim;
    policy?: Partial<SendPolicy>;
    pairs?: ClientPairs;
  }

  function run(change: Partial<CreateOrder> = {}, options: Options = {}) {
    const environment = new MockActivityEnvironment({
      attempt: options.attempt ?? 1,
      heartbeatDetails: options.heartbeatDetails,
      scheduledTimestampMs: SCHEDULED_AT_MS,
      currentAttemptScheduledTimestampMs: SCHEDULED_AT_MS + (options.repeatedAfterMs ?? 0),
      workflowExecution: { workflowId: 'payout:default:x', runId: RUN },
    });
    return environment.run(() =>
      createPayout(
        {
          ...{ client, claim: options.claim ?? ours, runtime },
          policy: { ...SEND_POLICY, ...options.policy },
          pairs: options.pairs ?? KNOWN_PAIRS,
          histories: NEVER_RESET,
        },
        caller,
        { ...create, ...change },
      ),
    );
  }

  test('sends once in the first run of a new partnerOrderId', async () => {
    expect(await run()).toMatchObject({ kind: 'created' });
    expect(posts()).toBe(1);
  });

  const cleared = { runId: RUN };
  test.each<[string, Partial<CreateOrder>, Options, string]>([
    ['H6 a run other than the first', { firstRunId: 'another' }, {}, 'earlier-run'],
    ['H7 a doubtful start', { isDoubtful: true }, {}, 'earlier-run'],
    ['H6 a clearance that another run obtained', { cleared: { runId: 'another' } }, {}, 'earlier-run'],
    ['H6 a later attempt', {}, { attempt: 2 }, 'may-have-been-sent'],
    ['H6 a later attempt, cleared', { cleared }, { attempt: 2 }, 'may-have-been-sent'],
    [
      'H6 an attempt that follows one that may have sent',
      {},
      { heartbeatDetails: 'may-send' },
      'may-have-been-sent',
    ],
    ['H6 an attempt after an operator reset the activity', {}, { repeatedAfterMs: 5 }, 'may-have-been-sent'],
    ['a create whose workflow task took too long', { scheduleByMs: SCHEDULED_AT_MS - 1 }, {}, 'too-late'],
    ['H53 a payout that started before a restore', {}, { policy: RECOVERED }, 'restored'],
    ['H53 a payout that was cleared before the restore', { cleared }, { policy: RECOVERED }, 'restored'],
    [
      'H53 a payout that started soon after a restore',
      { startedAtMs: SOON_AFTER },
      { policy: SETTLING },
      'lost-run',
    ],
    [
      'H53 H6 a payout that started soon after a restore, in a run other than the first',
      { startedAtMs: SOON_AFTER, firstRunId: 'another-run' },
      { policy: SETTLING },
      'earlier-run',
    ],
    [
      'H53 H7 a payout that started soon after a restore, by a doubtful start',
      { startedAtMs: SOON_AFTER, isDoubtful: true },
      { policy: SETTLING },
      'earlier-run',
    ],
    [
      'H53 a payout that started soon after a restore, cleared without a full confirmation window',
      { startedAtMs: SOON_AFTER, cleared },
      { policy: SETTLING },
      'lost-run',
    ],
  ])('%s sends nothing', async (_name, change, options, why) => {
    expect(await run(change, options)).toEqual({ kind: 'not-sent', cause: why });
    expect(posts()).toBe(0);
  });

  test('H53 sends after a person decides following the restore, and for a new payout without a person', async () => {
    const decided = { cleared: { runId: RUN, ...RECOVERED } };
    expect(await run(decided, { policy: RECOVERED })).toMatchObject({ kind: 'created' });
    expect(posts()).toBe(1);
  });

  test.each([
    [
      'started soon after the restore and was cleared by a full confirmation window',
      SOON_AFTER,
      { runId: RUN, ...RECOVERED },
    ],
    ['started when every order from before the restore is visible', SOON_AFTER + 1, undefined],
  ])('H53 sends for a payout that %s', async (_name, startedAtMs, cleared) => {
    expect(await run({ startedAtMs, cleared }, { policy: SETTLING })).toMatchObject({ kind: 'created' });
    expect(posts()).toBe(1);
  });

  test.each<[string, Partial<SendPolicy>]>([
    ['H8 with PAYOUTS_CREATE_CHECK=always', { createCheck: 'always' }],
    ['H53 after a restore', RECOVERED],
  ])('%s, confirms a new payout immediately before the send', async (_name, policy) => {
    const fresh = { startedAtMs: STARTED_AT_MS + 5 };
    expect(await run(fresh, { policy })).toMatchObject({ kind: 'created' });
    expect(await run(fresh, { policy })).toEqual({ kind: 'not-sent', cause: 'exists' });
    expect(posts()).toBe(1);
  });

  test('H321 after a restore, a person decides about a pair that has shown no order', async () => {
    const pairs = { isKnown: async () => false };
    const fresh = { startedAtMs: STARTED_AT_MS + 5 };
    const refused = { kind: 'not-sent', cause: 'earlier-run' };
    expect(await run(fresh, { policy: RECOVERED, pairs })).toEqual(refused);
    expect(posts()).toBe(0);
    const decided = { ...fresh, cleared: { runId: RUN, ...RECOVERED } };
    expect(await run(decided, { policy: RECOVERED, pairs })).toMatchObject({ kind: 'created' });
  });

  test('H8 sends nothing when the confirmation returns no usable answer', async () => {
    simulator.control.addFault({
      operation: 'queryResult',
      times: 1,
      fault: { kind: 'envelope', code: 900002 },
    });
    expect(await run({}, { policy: { createCheck: 'always' } })).toEqual({
      kind: 'not-sent',
      cause: 'unconfirmed',
    });
    expect(posts()).toBe(0);
  });

  test('sends in a run that confirmed that no order exists', async () => {
    expect(await run({ isDoubtful: true, cleared: { runId: RUN } })).toMatchObject({ kind: 'created' });
    expect(posts()).toBe(1);
  });

  test('H102 sends nothing once Temporal no longer counts the activity', async () => {
    const claim: Claim = () => Promise.reject(new Error('activity not found'));
    expect(await run({}, { claim })).toEqual({ kind: 'not-sent', cause: 'unreachable' });
    expect(posts()).toBe(0);
  });

  test('H102 sends nothing after the deadline of the create', async () => {
    const slow: Claim = () => new Promise((resolve) => setTimeout(resolve, 100));
    expect(await run({ sendWithinMs: 50 }, { claim: slow })).toEqual({
      kind: 'not-sent',
      cause: 'unreachable',
    });
    expect(posts()).toBe(0);
  });

  test('H1 reports "not sent" when the provider is unreachable', async () => {
    const nobody = await startSimulator();
    await nobody.close();
    const config = workerConfig({ ...QUICK, PAYMENTS_BASE_URL: nobody.url, PAYMENTS_AUTH_URL: nobody.url });
    const [application] = config.applications.values();
    if (!application) throw new Error('no application');
    const lost = await providerClient(config, application, {
      tokens: { token: async () => 'any' },
      gate: realLimiter(500),
      callsPerSecond: 500,
      runtime,
    });
    const environment = new MockActivityEnvironment({
      attempt: 1,
      workflowExecution: { workflowId: 'x', runId: RUN },
    });
    expect(
      await environment.run(() =>
        createPayout(
          {
            ...{ client: lost, claim: ours, policy: SEND_POLICY, pairs: KNOWN_PAIRS, runtime },
            histories: NEVER_RESET,
          },
          caller,
          create,
        ),
      ),
    ).toEqual({
      kind: 'not-sent',
      cause: 'unreachable',
    });
    await lost.close();
  });
});
