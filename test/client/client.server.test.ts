/** The client library as another project uses it: packed, installed, compiled there, and run by plain Node. */
import { WorkflowFailedError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConfigError, connectPayouts, type PayoutsConnection, PayoutsError } from '../../src/client/index.ts';
import { translatedError } from '../../src/client/translated.ts';
import { eventually } from '../support/eventually.ts';
import { runExample } from '../support/examples.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { NO_POLLS, newPartnerOrderId } from '../support/test-world.ts';
import { type Consumer, installClient } from './installed.ts';

const KEYS = newKey('k1');
let world: PayoutWorld;
let consumer: Consumer;
beforeAll(async () => {
  consumer = await installClient();
  world = await PayoutWorld.start({ env: { ...NO_POLLS, PAYOUTS_ENCRYPTION_KEYS: KEYS } });
});
afterAll(async () => {
  consumer.remove();
  await world.stop();
});

const newRequest = () => payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=0s' });

test('another project compiles the example against its types and pays with it in plain Node', async () => {
  const program = await consumer.compiled();
  const request = newRequest();
  const paid = await runExample(program, world.workerEnvironment, request);
  expect({ code: paid.code, stderr: paid.stderr }).toEqual({ code: 0, stderr: '' });
  expect(paid.result()).toMatchObject({ outcome: 'SUCCESS', learnedBy: 'notification' });

  const again = await runExample(program, world.workerEnvironment, request);
  expect(again.state).toBe('DONE: Paid 100.00 CNY.');
  expect(again.result()).toEqual(paid.result());

  const bad = await runExample(program, world.workerEnvironment, { ...newRequest(), clientId: '' });
  expect({ code: bad.code, stderr: bad.stderr }).toEqual({ code: 1, stderr: 'clientId must not be empty\n' });
});

test('options override the environment, and one connection serves payouts, batches, accounts, reads and lists', async () => {
  const connected = await connect();
  try {
    const { payouts, batches, receivingAccounts, reads, list } = connected;
    const [row, one] = [newRequest(), await payouts.start({ ...newRequest(), approval: 'required' })];
    await eventually(async () => (await payouts.state(one)).phase === 'AWAITING_APPROVAL' || undefined);
    expect(await payouts.cancel(one, { by: 'test' })).toMatchObject({ outcome: 'NOT_CREATED' });
    expect(await batches.start({ batchId: 'b1', payouts: [row] })).toMatchObject({ count: 1 });
    expect((await reads.accounts('default', 'client-1'))?.accounts.length).toBeGreaterThan(0);
    const opening = { requestId: newPartnerOrderId(), payerId: 'payer-1', currency: 'USD' };
    await receivingAccounts.open(opening);
    expect(await receivingAccounts.result(opening)).toMatchObject({ outcome: 'OPENED' });
    const found = await eventually(async () => {
      for await (const listed of list({ outcome: 'NOT_CREATED' })) return listed;
      return undefined;
    });
    expect(found).toMatchObject({ partnerOrderId: one.partnerOrderId, phase: 'DONE' });
  } finally {
    await connected.close();
  }
});

test('rejects an invalid filter by name, and a client without keys', async () => {
  const connected = await connect();
  const quoted = connected.list({ app: "default' OR 'a' = 'a" }).next();
  await expect(quoted).rejects.toMatchObject({ fields: [{ path: 'app' }] });
  await connected.close();
  await expect(connectPayouts({ connection: { address: world.address } })).rejects.toThrow(ConfigError);
});

test('every refusal is a PayoutsError with a stable code', async () => {
  const { payouts, batches, receivingAccounts, reads, list, close } = await connect();
  const codeOf = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => 'none',
      (error: unknown) => (error instanceof PayoutsError ? error.code : error),
    );
  try {
    const request = { ...newRequest(), approval: 'required' as const };
    const payout = await payouts.start(request);
    const nothing = { partnerOrderId: 'nothing', batchId: 'nothing', requestId: 'nothing' };
    const opening = { requestId: newPartnerOrderId(), payerId: 'payer-1', currency: 'USD' };
    await receivingAccounts.open(opening);
    await batches.start({ batchId: 'taken', payouts: [request] });
    expect({
      otherBody: await codeOf(payouts.start({ ...request, payerId: 'payer-2' })),
      badBody: await codeOf(payouts.start({ ...request, clientId: '' })),
      otherRows: await codeOf(batches.start({ batchId: 'taken', payouts: [newRequest()] })),
      otherOpening: await codeOf(receivingAccounts.open({ ...opening, currency: 'EUR' })),
      resolveTooEarly: await codeOf(payouts.resolve(payout, { by: 'olga', created: false, then: 'end' })),
      state: await codeOf(payouts.state(nothing)),
      result: await codeOf(payouts.result(nothing)),
      approval: await codeOf(payouts.approve(nothing, { by: 'olga' })),
      batch: await codeOf(batches.state(nothing)),
      opening: await codeOf(receivingAccounts.state(nothing)),
      filter: await codeOf(list({ app: 'Not An App' }).next()),
      readOfUnknownApp: await codeOf(reads.accounts('unknown', 'client-1')),
    }).toEqual({
      otherBody: 'CONFLICT',
      badBody: 'INVALID_PAYOUT_REQUEST',
      otherRows: 'CONFLICT',
      otherOpening: 'CONFLICT',
      resolveTooEarly: 'NOT_ACCEPTED_NOW',
      state: 'NOT_FOUND',
      result: 'NOT_FOUND',
      approval: 'NOT_FOUND',
      batch: 'NOT_FOUND',
      opening: 'NOT_FOUND',
      filter: 'INVALID_PAYOUT_REQUEST',
      readOfUnknownApp: 'INVALID_PAYOUT_REQUEST',
    });
  } finally {
    await close();
  }
});

test('a start that a worker finds bad names the fields, and a stopped payout can be read again later', async () => {
  const { payouts, client, close } = await connect();
  try {
    const wrong = await payouts.start({ ...newRequest(), app: 'unconfigured' });
    const bad = await payouts.result(wrong).catch((error: unknown) => error);
    expect(bad).toMatchObject({
      code: 'INVALID_PAYOUT_REQUEST',
      isRetryable: false,
      fields: [{ path: 'app' }],
    });
    const stopped = await payouts.start({ ...newRequest(), approval: 'required' });
    await client.workflow.getHandle(stopped.workflowId).terminate();
    const ended = await payouts.result(stopped).catch((error: unknown) => error);
    expect(ended).toMatchObject({ code: 'STOPPED', isRetryable: true });
  } finally {
    await close();
  }
});

test('a read without a usable answer, and an update without an answer, can be repeated', () => {
  const failure = ApplicationFailure.nonRetryable('the provider refused', 'REFUSED');
  const read = translatedError(new WorkflowFailedError('failed', failure, 'NON_RETRYABLE_FAILURE'));
  expect(read).toMatchObject({
    code: 'NO_USABLE_ANSWER',
    message: 'the provider refused',
    isRetryable: true,
  });
  const update = translatedError(new WorkflowUpdateRPCTimeoutOrCancelledError('late'));
  expect(update).toMatchObject({ code: 'TEMPORAL_UNAVAILABLE', isRetryable: true });
  const aborted = new Error('aborted');
  expect(translatedError(aborted)).toBe(aborted);
});

test('an unreachable Temporal is a PayoutsError that can be retried', async () => {
  const away = connectPayouts({
    connection: { address: '127.0.0.1:9' },
    encryptionKeys: KEYS,
    environment: 'test',
  });
  await expect(away).rejects.toMatchObject({
    name: 'PayoutsError',
    code: 'TEMPORAL_UNAVAILABLE',
    isRetryable: true,
  });
});

function connect(): Promise<PayoutsConnection> {
  const { address, namespace } = world;
  return connectPayouts({
    connection: { address },
    namespace,
    encryptionKeys: KEYS,
    environment: 'test',
  });
}
