/** The real activities and the real client, on a virtual clock. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { providerActivities } from '../../src/activities/shared/provider-activities.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { clientFor } from '../payments/support/client.ts';
import { type InProcessOptions, InProcessTransport } from '../payments/support/in-process.ts';
import { AGREED, CREATE, successBody } from '../payments/support/samples.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { NO_HISTORIES } from '../support/no-histories.ts';
import { SEND_POLICY } from '../support/send-policy.ts';

const CALLER = { environment: 'test', app: 'default' };
const RUN = 'the-first-run';
const HEARTBEAT_TIMEOUT_MS = 10_000;

function workerWith(provider: InProcessOptions) {
  const clock = new FakeClock();
  const runtime = { clock, random: { ...PROCESS_RUNTIME.random, number: () => 0.5 } };
  const client = clientFor('https://provider.example', {
    runtime,
    transport: (wanted) => new InProcessTransport(wanted, provider),
  });
  const claims: number[] = [];
  const beganMs = clock.nowMs();
  const activities = providerActivities({
    ...CALLER,
    client,
    runtime,
    histories: NO_HISTORIES,
    claim: async () => void claims.push(clock.nowMs() - beganMs),
    quoteCodes: new Map(),
    prepare: () => Promise.reject(new Error('no payout begins')),
    pairs: { isKnown: async () => false },
    policy: SEND_POLICY,
  });
  const environment = new MockActivityEnvironment({
    attempt: 1,
    heartbeatTimeoutMs: HEARTBEAT_TIMEOUT_MS,
    workflowExecution: { workflowId: 'payout:default:P-1', runId: RUN },
  });
  return { clock, activities, environment, claims, beganMs };
}

const guard = {
  firstRunId: RUN,
  isDoubtful: false,
  sendWithinMs: 10_000,
  scheduleByMs: Number.POSITIVE_INFINITY,
};
const create = { order: CREATE, quote: AGREED, clientId: 'C-1', payerId: 'P-1', isApproved: false, ...guard };

test.each([
  [9_999, { kind: 'created' }],
  [10_000, { kind: 'not-sent', cause: 'unreachable' }],
])('a create that can be written %i ms into the 10,000 ms that its lock leaves', async (ms, answer) => {
  const { clock, activities, environment } = workerWith({
    connectsAfterMs: ms,
    body: successBody('createPayout'),
  });
  const call = environment.run(() => activities.createPayout(CALLER, create));
  await clock.until(call);
  expect(await call).toMatchObject(answer);
});

test('a create renews its claim on the send until it ends', async () => {
  const { clock, activities, environment, claims } = workerWith({
    answersAfterMs: 5_000,
    body: successBody('createPayout'),
  });
  await clock.until(environment.run(() => activities.createPayout(CALLER, create)));
  await clock.advance(60_000);
  expect(claims).toEqual([0, 2_000, 4_000]);
});

test('a long read heartbeats until it ends', async () => {
  const { clock, activities, environment, beganMs } = workerWith({
    answersAfterMs: 5_000,
    body: successBody('payoutOrder'),
  });
  const beats: number[] = [];
  environment.on('heartbeat', () => beats.push(clock.nowMs() - beganMs));
  await clock.until(environment.run(() => activities.fetchOrder(CALLER, 'O-1')));
  await clock.advance(60_000);
  expect(beats).toEqual([2_000, 4_000]);
});

test('a rate-limited call retries after a delay drawn from the injected randomness', async () => {
  const { clock, activities, environment } = workerWith({ body: '{"code":429,"message":"busy"}' });
  const call = environment.run(() => activities.fetchOrder(CALLER, 'O-1')).catch((error: unknown) => error);
  await clock.until(call);
  expect(await call).toMatchObject({ type: 'RATE_LIMITED', nextRetryDelay: 1_600 });
});
