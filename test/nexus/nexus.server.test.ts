/** The Nexus operation `pay`, called by workflows of another namespace on the real Temporal server. */

import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure, type DataConverter, NexusOperationFailure } from '@temporalio/common';
import { bundleWorkflowCode, NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Allowances } from '../../src/client/allowances.ts';
import { encryptionKeys } from '../../src/config/keys.ts';
import type { PayoutResult } from '../../src/contract/payout.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { dataConverter, FAILURE_CONVERTER_PATH } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { newKey } from '../support/keys.ts';
import { createsOf } from '../support/ledger.ts';
import { createNamespace, PayoutWorld } from '../support/payout-world.ts';
import { terminate, untilStartedAgain } from '../support/reconciliation.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import type { payInvoice } from './caller.ts';

const ENDPOINT = `payouts-${randomUUID()}`;
const NAMESPACE = `callers-${randomUUID()}`;
const PAYERS = ['payer-1', 'payer-2'];

let world: PayoutWorld;
let native: NativeConnection;
let bundle: WorkflowBundle;
let begin: Begin;
const invoices: Team = async (request) => (await begin(request)).result();
const stops: (() => Promise<void>)[] = [];

/** Starts a workflow that requests a payout. */
type Begin = (request: PayoutRequest) => Promise<WorkflowHandle<typeof payInvoice>>;
/** Runs one to its end, and returns its result. */
type Team = (request: PayoutRequest) => Promise<PayoutResult>;

beforeAll(async () => {
  world = await PayoutWorld.start({
    env: {
      PAYOUTS_ENCRYPTION_KEYS: newKey('k1'),
      PAYOUTS_SEARCH_KEYS: newKey('s1'),
      PAYMENTS_TARGET_CURRENCIES: 'CNY,EUR',
      PAYOUTS_NEXUS_FILE: keysFile({ default: { largestAmount: { CNY: '500.00' }, payerIds: PAYERS } }),
    },
    approvals: { callers: { 'nexus:default': { CNY: '400.00' } } },
  });
  await createNamespace(world.client.connection, NAMESPACE);
  native = await NativeConnection.connect({ address: world.address });
  await native.operatorService.createNexusEndpoint({
    spec: {
      name: ENDPOINT,
      target: { worker: { namespace: world.namespace, taskQueue: 'payouts-nexus:test:default' } },
    },
  });
  bundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./caller.ts', import.meta.url)),
    failureConverterPath: FAILURE_CONVERTER_PATH,
  });
  begin = await team('invoices', ownConverter());
});
afterAll(async () => {
  for (const stop of stops) await stop();
  await native?.close();
  await world.stop();
});

function ownConverter(): DataConverter {
  return dataConverter(encryptionKeys(world.workerEnvironment).payloads, PROCESS_RUNTIME.random);
}

async function team(taskQueue: string, converter: DataConverter): Promise<Begin> {
  const { connection } = world.client;
  const worker = await Worker.create({
    connection: native,
    namespace: NAMESPACE,
    taskQueue,
    workflowBundle: bundle,
    dataConverter: converter,
  });
  const done = worker.run();
  stops.push(async () => {
    worker.shutdown();
    await done;
  });
  const client = new Client({ connection, namespace: NAMESPACE, dataConverter: converter });
  return (request) =>
    client.workflow.start<typeof payInvoice>('payInvoice', {
      taskQueue,
      workflowId: randomUUID(),
      args: [ENDPOINT, request],
    });
}

/** The innermost cause of the failure of the caller's workflow, on which the caller can decide. */
async function refusal(work: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof NexusOperationFailure))
    throw new Error('the operation was not refused', { cause: error });
  let innermost: unknown = error.cause;
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause;
  if (innermost instanceof ApplicationFailure) return innermost;
  throw new Error('it does not say why', { cause: error });
}

test('a workflow of another team requests a payout and receives the result', async () => {
  const request = payoutRequest(newPartnerOrderId());
  const result = await invoices(request);
  expect(result).toMatchObject({ outcome: 'SUCCESS', received: { currency: 'CNY', amount: '100.00' } });
  expect(await world.payouts.result(request)).toEqual(result);
  // Started as by our other starters: the worker trusts that the partnerOrderId is new.
  const { memo } = await world.payouts.handle(request).describe();
  const { clientId, payerId, instructedAmount, receiver } = request;
  const start = {
    rejectDuplicate: expect.stringMatching(/Z$/),
    environment: 'test',
    startedBy: 'nexus:default',
  };
  const listed = { beneficiary: receiver.bankAccountName, accountEnd: receiver.bankAccountNumber.slice(-4) };
  expect(memo).toEqual({ start: { ...start, clientId, payerId, instructedAmount, ...listed } });
  const isFound = async () => {
    const { payouts } = await world.payouts.listPage({
      beneficiary: receiver.bankAccountName,
      amount: '100 CNY',
    });
    return payouts.some(({ partnerOrderId }) => partnerOrderId === request.partnerOrderId) || undefined;
  };
  await eventually(isFound);
});

test('two callers of one payout cause one payment, also when one calls after its end', async () => {
  const request = payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=1s' });
  const [one, two] = await Promise.all([invoices(request), invoices(request)]);
  const late = await invoices({ ...request, instructedAmount: { currency: 'CNY', amount: '100' } });
  expect([two, late]).toEqual([one, one]);
  expect(createsOf(world, request)).toHaveLength(1);
});

test('rejects bad input with every bad field named, and starts nothing', async () => {
  const request = { ...payoutRequest(newPartnerOrderId()), clientId: '', originCurrency: 'usd' };
  const { type, details } = await refusal(invoices(request));
  expect(type).toBe('InvalidPayoutRequest');
  expect(details).toEqual([
    [{ path: 'clientId', message: 'must not be empty' }, expect.objectContaining({ path: 'originCurrency' })],
  ]);
  await expect(world.payouts.state(request)).rejects.toThrow();
});

test('H220 rejects a target currency that the provider does not take, with the field', async () => {
  const body = payoutRequest(newPartnerOrderId());
  const request = {
    ...body,
    targetCurrency: 'USD',
    instructedAmount: { currency: 'USD', amount: '1.00' },
    receiver: { ...body.receiver, bankAccountCurrency: 'USD' },
  };
  const { type, details } = await refusal(invoices(request));
  expect([type, details]).toEqual([
    'InvalidPayoutRequest',
    [[expect.objectContaining({ path: 'targetCurrency' })]],
  ]);
  await expect(world.payouts.state(request)).rejects.toThrow();
});

const IN_EUROS = {
  targetCurrency: 'EUR',
  instructedAmount: { currency: 'EUR', amount: '1.00' },
  receiver: { ...payoutRequest('any').receiver, bankAccountCurrency: 'EUR' },
};
const amount = (text: string) => ({ instructedAmount: { currency: 'CNY', amount: text } });

test.each([
  ['another application', { app: 'east' }, 'application east'],
  ['a larger amount', amount('500.01'), '500.00 CNY'],
  ['another currency', IN_EUROS, 'payouts in EUR'],
  ['another payer', { payerId: 'payer-3' }, 'that payerId'],
])('H164 the endpoint refuses %s, and starts nothing', async (_what, over, why) => {
  const request = payoutRequest(newPartnerOrderId(), over);
  const { type, message } = await refusal(invoices(request));
  expect([type, message]).toEqual(['PayoutNotAllowed', expect.stringContaining(why)]);
  await expect(world.payouts.state(request)).rejects.toThrow();
});

test('H164 the endpoint is the caller who started the payout: it requires an approval above its limit', async () => {
  const request = payoutRequest(newPartnerOrderId(), { platform: 'sim:success', ...amount('400.01') });
  const call = await begin(request);
  await eventually(async () => {
    const state = await world.payouts.state(request).catch(() => undefined);
    return state?.phase === 'AWAITING_APPROVAL' || undefined;
  });
  const byItself = world.payouts.approve(request, { by: 'nexus:default' });
  await expect(byItself).rejects.toMatchObject({ cause: { type: 'NotAcceptedNow' } });
  await world.payouts.approve(request, { by: 'olga' });
  expect(await call.result()).toMatchObject({ outcome: 'SUCCESS', decisions: [{ by: 'olga' }] });
});

test('H155 rejects a partnerOrderId that looks like another one', async () => {
  const request = payoutRequest(`\u0440${newPartnerOrderId()}`);
  const { type, details } = await refusal(invoices(request));
  expect([type, details]).toEqual([
    'InvalidPayoutRequest',
    [[{ path: 'partnerOrderId', message: expect.stringContaining('printable ASCII') }]],
  ]);
});

test('rejects another body under the same partnerOrderId, while the payout runs and after its end', async () => {
  const request = payoutRequest(newPartnerOrderId(), { approval: 'required' });
  await world.payouts.start(request);
  const other = { ...request, payerId: 'payer-2' };
  expect((await refusal(invoices(other))).type).toBe('PayoutConflict');
  await world.until(request, ({ phase }) => phase === 'AWAITING_APPROVAL');
  await world.payouts.cancel(request, { by: 'test' });
  expect((await refusal(invoices(other))).type).toBe('PayoutConflict');
  expect(await invoices(request)).toMatchObject({ outcome: 'NOT_CREATED', reason: { code: 'CANCELLED' } });
});

const awaitsApproval = (request: PayoutRequest) =>
  // The query fails until the payout has started.
  eventually(() => world.until(request, ({ phase }) => phase === 'AWAITING_APPROVAL').catch(() => undefined));

test.each(['started', 'joined'] as const)(
  'H10 a payout that was %s by the call and is terminated has not ended: the call waits for its next run',
  async (how) => {
    const request = payoutRequest(newPartnerOrderId(), { approval: 'required' });
    if (how === 'joined') await world.payouts.start(request);
    const { result, told } = outcomeOf(await begin(request));
    await awaitsApproval(request);
    const stopped = await terminate(world, request);
    await untilStartedAgain(world, request, stopped);
    await awaitsApproval(request);
    expect(told()).toBe(false);
    await world.approveShown(request);
    expect(await result).toMatchObject({ outcome: 'SUCCESS' });
    expect(createsOf(world, request)).toHaveLength(1);
  },
);

test('H10 canceling the call between two runs of its payout cancels the next run', async () => {
  const request = payoutRequest(newPartnerOrderId(), { approval: 'required' });
  const caller = await begin(request);
  const { result } = outcomeOf(caller);
  await awaitsApproval(request);
  const stopped = await terminate(world, request);
  await caller.cancel();
  await untilStartedAgain(world, request, stopped);
  expect(await world.payouts.result(request)).toMatchObject({ reason: { code: 'CANCELLED' } });
  expect(await result).toMatchObject({ outcome: 'NOT_CREATED' });
  expect(createsOf(world, request)).toEqual([]);
});

test('a start that failed as bad input elsewhere does not end the call; another team may correct it', async () => {
  const request = payoutRequest(newPartnerOrderId());
  const workflowId = `payout:default:${request.partnerOrderId}`;
  const bad = { taskQueue: 'payouts', workflowId, args: [{ ...request, clientId: '' }] };
  await expect(world.client.workflow.execute('payout', bad)).rejects.toThrow();
  expect(await invoices(request)).toMatchObject({ outcome: 'SUCCESS' });
});

/** The result of a caller's workflow, and whether it has one yet. */
function outcomeOf(caller: WorkflowHandle<typeof payInvoice>) {
  let told = false;
  const result = caller.result().finally(() => {
    told = true;
  });
  result.catch(() => undefined);
  return { result, told: () => told };
}

test('serves a caller that sends plain payloads, and encrypts its payout', async () => {
  const [codec] = ownConverter().payloadCodecs ?? [];
  if (!codec) throw new Error('no codec');
  const plain = {
    encode: async (payloads) => payloads,
    decode: (payloads) => codec.decode(payloads),
  } satisfies typeof codec;
  const request = payoutRequest(newPartnerOrderId());
  const plainTeam = await team('plain', { ...ownConverter(), payloadCodecs: [plain] });
  expect(await (await plainTeam(request)).result()).toMatchObject({ outcome: 'SUCCESS' });
  const { events } = await world.history(request);
  const [input] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  expect(Buffer.from(input?.metadata?.['encoding'] ?? []).toString()).toBe('binary/encrypted');
});

test('H275 an endpoint with a prefix refuses another partnerOrderId before anything starts', async () => {
  const [other, own] = [newPartnerOrderId(), `acme-${newPartnerOrderId()}`];
  await world.stopWorkers();
  const permissions = { largestAmount: { CNY: '500.00' }, payerIds: PAYERS, idPrefix: 'acme-' };
  await world.startWorkers({ PAYOUTS_NEXUS_FILE: keysFile({ default: permissions }) });
  expect(await refusal(invoices(payoutRequest(other)))).toMatchObject({
    type: 'PayoutNotAllowed',
    message: 'this endpoint does not include that partnerOrderId: it must begin with acme-',
  });
  await expect(world.payouts.state({ partnerOrderId: other })).rejects.toThrow();
  expect((await invoices(payoutRequest(own))).outcome).toBe('SUCCESS');
});

test('H179 a daily limit holds for Nexus calls: a refused call starts nothing, a repeated one gets its result', async () => {
  const [first, second] = [payoutRequest(newPartnerOrderId()), payoutRequest(newPartnerOrderId())];
  await world.stopWorkers();
  const permissions = { largestAmount: { CNY: '500.00' }, payerIds: PAYERS, dailyAmount: { CNY: '150.00' } };
  await world.startWorkers({ PAYOUTS_NEXUS_FILE: keysFile({ default: permissions }) });
  const result = await invoices(first);
  expect(result.outcome).toBe('SUCCESS');
  const { type, message } = await refusal(invoices(second));
  expect([type, message]).toEqual([
    'PayoutNotAllowed',
    'this endpoint allows at most 150.00 CNY per day (UTC): 100.00 CNY are reserved, and 100.00 CNY more are requested',
  ]);
  await expect(world.payouts.state(second)).rejects.toThrow();
  expect(await invoices(first)).toEqual(result);
  expect((await refusal(invoices({ ...first, payerId: 'payer-2' }))).type).toBe('PayoutConflict');
  const allowances = new Allowances(world.client, 'test', PROCESS_RUNTIME.clock);
  expect(await allowances.state('nexus:default')).toMatchObject({ count: 1 });
});
