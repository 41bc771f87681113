/** Workers that refuse what is not encrypted, on a real server: the simulated one has no other senders. */
import {
  Client,
  WorkflowFailedError,
  type WorkflowStartOptions,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import {
  ApplicationFailure,
  type DataConverter,
  defaultPayloadConverter,
  type Payload,
  RawValue,
} from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import proto from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { withoutAcknowledged } from '../../src/client/follow-ups.ts';
import { Leases } from '../../src/client/leases.ts';
import { payoutSettings, workerConfig } from '../../src/config/config.ts';
import { encryptionKeys } from '../../src/config/keys.ts';
import { LISTED_OUTCOMES, ROW_OUTCOMES } from '../../src/contract/codes.ts';
import {
  apiTaskQueue,
  PAYOUTS_TASK_QUEUE,
  payoutAcknowledgementWorkflowId,
  payoutBatchWorkflowId,
  payoutWorkflowId,
} from '../../src/contract/ids.ts';
import { addedRowsQuery } from '../../src/contract/workflows.ts';
import { isPartReport } from '../../src/domain/batch.ts';
import { PayoutRecord } from '../../src/domain/payout-record.ts';
import { dataConverter, type PlainPayloads, workerConverter } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { eventually } from '../support/eventually.ts';
import { replays } from '../support/histories.ts';
import { newKey } from '../support/keys.ts';
import { createsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { terminate, untilStartedAgain } from '../support/reconciliation.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const KEYS = { PAYOUTS_ENCRYPTION_KEYS: newKey('k1'), PAYOUTS_TOKEN_KEYS: newKey('t1') };

let world: PayoutWorld;
/** As the Temporal UI with a codec server: it reads what is encrypted, and sends plain payloads. */
let plain: Client;

beforeAll(async () => {
  world = await PayoutWorld.start({
    env: { ...KEYS, PAYOUTS_PLAIN_PAYLOADS: 'refuse', PAYOUTS_CREATE_CHECK: 'always' },
  });
  const { payloadCodecs: [codec] = [], ...rest } = dataConverter(
    encryptionKeys(world.workerEnvironment).payloads,
    PROCESS_RUNTIME.random,
  );
  const reading = {
    encode: async (sent: Payload[]) => sent,
    decode: async (got: Payload[]) => codec?.decode(got) ?? got,
  };
  plain = new Client({
    connection: world.client.connection,
    namespace: world.namespace,
    dataConverter: { ...rest, payloadCodecs: [reading] },
  });
});
afterAll(() => world.stop());

const request = (over: object = {}) =>
  payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=0s', ...over });

/** Starts a workflow by hand. Resolves with the failure of its run. */
async function failureOf(type: string, workflowId: string, args: unknown[]): Promise<unknown> {
  const memo = { environment: 'test', rejectDuplicate: true };
  const handle = await plain.workflow.start(type, { taskQueue: PAYOUTS_TASK_QUEUE, workflowId, args, memo });
  return handle.result().then(
    () => 'completed',
    (error) => (error instanceof WorkflowFailedError ? error.cause : error),
  );
}

const REFUSED = expect.objectContaining({
  type: 'InvalidPayoutRequest',
  message: expect.stringContaining('must be encrypted under a key of the workers'),
});

function converter(plainPayloads: PlainPayloads): DataConverter {
  return workerConverter(
    encryptionKeys(world.workerEnvironment).payloads,
    PROCESS_RUNTIME.random,
    plainPayloads,
  );
}

async function encrypted(body: object): Promise<RawValue> {
  const { payloadCodecs: [codec] = [] } = converter('refuse');
  const [payload = {}] = (await codec?.encode([defaultPayloadConverter.toPayload(body)])) ?? [];
  return RawValue.fromPayload(payload);
}

async function replaysAnywhere(history: History): Promise<void> {
  for (const plainPayloads of ['refuse', 'accept'] as const)
    await replays(history, undefined, converter(plainPayloads));
}

describe('H277 a start that is not encrypted', () => {
  test('fails as bad input, pays nothing, replays, and leaves the id to an encrypted start', async () => {
    const body = request();
    const id = payoutWorkflowId('default', body.partnerOrderId);
    expect(await failureOf('payout', id, [body])).toEqual(REFUSED);
    expect(createsOf(world, body)).toEqual([]);
    await replaysAnywhere(await world.history(body));
    await world.payouts.start(body);
    expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
    await replaysAnywhere(await world.history(body));
  });

  test.each([
    ['payoutBatch', [{ batchId: 'by-hand', count: 1 }]],
    ['payoutBatchPart', [{ app: 'default', batchId: 'by-hand', offset: 0, payouts: [request()] }]],
    ['payoutOperation', [{ environment: 'test', request: request(), startedBy: 'nexus:default' }]],
    ['openReceivingAccount', [{ requestId: 'by-hand', payerId: 'payer-1', currency: 'USD' }]],
    ['tokenRenewal', [{ environment: 'test', app: 'default', openId: 'by-hand' }]],
    ['eventDelivery', [{ environment: 'test', app: 'default', endpoint: 'by-hand' }]],
    ['callerAllowance', [{ environment: 'test', caller: 'by-hand' }]],
    ['payoutReconciliation', [{ environment: 'test' }]],
  ])('fails whatever its type: %s', async (type, args) => {
    expect(await failureOf(type, `by-hand:${type}`, args)).toEqual(REFUSED);
  });

  /** Starts it by a Schedule. Returns the result of its run. */
  async function resultOfScheduled(
    client: Client,
    workflowType: string,
    workflowId: string,
    args: unknown[],
  ) {
    const schedule = await client.schedule.create({
      scheduleId: `schedule-${workflowId}`,
      spec: {},
      action: { type: 'startWorkflow', workflowType, workflowId, taskQueue: PAYOUTS_TASK_QUEUE, args },
    });
    await schedule.trigger();
    const started = await eventually(async () => {
      const { info } = await schedule.describe();
      const [last] = info.recentActions;
      return last?.action.type === 'startWorkflow' ? last.action.workflow : undefined;
    });
    await schedule.delete();
    return world.client.workflow.getHandle(started.workflowId).result();
  }

  test('fails when a Schedule starts it', async () => {
    const body = request();
    const id = payoutWorkflowId('default', body.partnerOrderId);
    await expect(resultOfScheduled(plain, 'payout', id, [body])).rejects.toMatchObject({ cause: REFUSED });
  });

  test('our own Schedules start theirs, whose id has the time', async () => {
    const args = [{ environment: 'test' }];
    await resultOfScheduled(world.client, 'payoutReconciliation', 'payout-reconciliation:by-hand', args);
  });
});

test('H366 a batch ends that was canceled while its part watched a payout', async () => {
  const batches = new Batches({ client: world.client, environment: 'test' });
  const [ref, row] = [{ batchId: newPartnerOrderId() }, request({ platform: 'sim:slow final=6s' })];
  await batches.start({ ...ref, payouts: [row] });
  await eventually(async () => (await batches.state(ref)).phases['PROCESSING'] || undefined);
  await batches.cancel(ref);
  expect(await batches.result(ref)).toMatchObject({ outcomes: { SUCCESS: 1 } });
});

describe('H289 a run that follows another one by a cron schedule', () => {
  /** Resolves when the second run has ended. */
  async function runTwice(client: Client, workflowId: string, options: Partial<WorkflowStartOptions>) {
    const { firstExecutionRunId: first } = await client.workflow.start('payout', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId,
      args: [],
      cronSchedule: '@every 1s',
      ...options,
    });
    const second = await eventually(async () => {
      const { runId } = await client.workflow.getHandle(workflowId).describe();
      return runId === first ? undefined : runId;
    });
    await eventually(async () => {
      const { status } = await client.workflow.getHandle(workflowId, second).describe();
      return status.name === 'RUNNING' ? undefined : true;
    });
    await client.workflow.getHandle(workflowId).terminate();
  }

  test('carries no state of its start', async () => {
    const body = request({ approval: 'required' });
    const most = { currency: 'USD', amount: '9999999.00' };
    const covers = { pay: most, fee: most, target: { currency: 'CNY', amount: '0.00' } };
    const record = Object.assign(new PayoutRecord(Date.now()), { approved: { by: 'nobody', covers } });
    const { env } = workerConfig(world.workerEnvironment);
    const settings = payoutSettings(env, apiTaskQueue('test', 'default'));
    const carried = { request: { ...body, app: 'default' }, settings, record };
    // The first activity refuses the id, unless the state says that it has accepted it.
    const id = payoutWorkflowId('default', newPartnerOrderId());
    await runTwice(world.client, id, { args: [body, carried] });
    expect(createsOf(world, body)).toEqual([]);
  });

  test('accepts no plain memo', async () => {
    const body = request();
    const id = payoutWorkflowId('default', body.partnerOrderId);
    const memo = { start: { environment: 'test', startedBy: 'nobody' } };
    await runTwice(plain, id, { args: [await encrypted(body)], memo });
    expect(createsOf(world, body)).toEqual([]);
  });
});

test('H320 the start of an ended payout, sent again at once, pays nothing if workers always confirm', async () => {
  const body = request();
  await world.payouts.start(body);
  await world.payouts.result(body);
  const [first] = (await world.history(body)).events ?? [];
  const { input, memo } = first?.workflowExecutionStartedEventAttributes ?? {};
  const raw = (payload: Payload) => RawValue.fromPayload(payload);
  const handle = await plain.workflow.start('payout', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: payoutWorkflowId('default', body.partnerOrderId),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    args: (input?.payloads ?? []).map(raw),
    memo: Object.fromEntries(Object.entries(memo?.fields ?? {}).map(([name, value]) => [name, raw(value)])),
  });
  await handle.result();
  expect(createsOf(world, body)).toHaveLength(1);
});

describe('H326 a ciphertext of another payout', () => {
  /** The payloads of the first event of this kind, as whoever reads the namespace sees them. */
  async function ciphertexts(body: ReturnType<typeof request>) {
    const events = (await world.history(body)).events ?? [];
    const start = events[0]?.workflowExecutionStartedEventAttributes;
    const [approval] = events.flatMap(
      (event) =>
        event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input?.args?.payloads ?? [],
    );
    return { memo: start?.memo?.fields ?? {}, approval };
  }
  const raw = (payload: Payload) => RawValue.fromPayload(payload);

  test('approves nothing, and its memo starts nothing', async () => {
    const [approved, waiting, started] = [
      request({ approval: 'required' }),
      request({ approval: 'required' }),
      request(),
    ];
    for (const body of [approved, waiting]) await world.payouts.start(body);
    for (const body of [approved, waiting])
      await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.payouts.approve(approved, { by: 'olga' });
    expect((await world.payouts.result(approved)).outcome).toBe('SUCCESS');
    const { memo, approval } = await ciphertexts(approved);
    const byHand = plain.workflow.getHandle(payoutWorkflowId('default', waiting.partnerOrderId));
    await expect(byHand.executeUpdate('approve', { args: [raw(approval ?? {})] })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('must be encrypted under a key of the workers') },
    });
    expect((await world.payouts.state(waiting)).phase).toBe('AWAITING_APPROVAL');
    const handle = await plain.workflow.start('payout', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: payoutWorkflowId('default', started.partnerOrderId),
      args: [await encrypted(started)],
      memo: Object.fromEntries(Object.entries(memo).map(([name, value]) => [name, raw(value)])),
    });
    await expect(handle.result()).rejects.toMatchObject({ cause: REFUSED });
    expect(createsOf(world, waiting)).toEqual([]);
    expect(createsOf(world, started)).toEqual([]);
    await replaysAnywhere(await world.history(started));
  });
});

describe('H336 with ciphertexts of the payout itself', () => {
  test('what an activity returned is no memo of a start', async () => {
    const body = request();
    await world.payouts.start(body);
    await world.payouts.result(body);
    const events = (await world.history(body)).events ?? [];
    const { input } = events[0]?.workflowExecutionStartedEventAttributes ?? {};
    const [returned] = events.flatMap(
      ({ activityTaskCompletedEventAttributes: completed }) => completed?.result?.payloads ?? [],
    );
    const handle = await plain.workflow.start('payout', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: payoutWorkflowId('default', body.partnerOrderId),
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      args: (input?.payloads ?? []).map((payload) => RawValue.fromPayload(payload)),
      memo: { start: RawValue.fromPayload(returned ?? {}) },
    });
    await expect(handle.result()).rejects.toMatchObject({ cause: REFUSED });
    expect(createsOf(world, body)).toHaveLength(1);
  });

  test('a run on another task queue that continues as new on ours brings no plain memo', async () => {
    const body = request();
    const argument = (await encrypted(body)).payload;
    const handle = await plain.workflow.start('payout', {
      taskQueue: 'elsewhere',
      workflowId: payoutWorkflowId('default', body.partnerOrderId),
      args: [RawValue.fromPayload(argument)],
    });
    const { workflowService } = plain;
    const namespace = world.namespace;
    const { taskToken } = await plain.withDeadline(Date.now() + 70_000, () =>
      workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: 'elsewhere' } }),
    );
    const memo = { fields: { start: defaultPayloadConverter.toPayload({ startedBy: 'nobody' }) } };
    const continueAsNewWorkflowExecutionCommandAttributes = {
      workflowType: { name: 'payout' },
      taskQueue: { name: PAYOUTS_TASK_QUEUE },
      input: { payloads: [argument] },
      memo,
    };
    const { COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION: commandType } =
      proto.temporal.api.enums.v1.CommandType;
    const commands = [{ commandType, continueAsNewWorkflowExecutionCommandAttributes }];
    await workflowService.respondWorkflowTaskCompleted({ namespace, taskToken, commands });
    await expect(handle.result()).rejects.toMatchObject({ cause: REFUSED });
    expect(createsOf(world, body)).toEqual([]);
  });
});

test('H290 the reconciliation restarts no payout with a plain memo, which the restart would encrypt', async () => {
  const body = request();
  const handle = await plain.workflow.start('payout', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: payoutWorkflowId('default', body.partnerOrderId),
    args: [await encrypted(body)],
    memo: { start: { environment: 'test', startedBy: 'nobody' } },
    // No worker sees it before it is terminated.
    startDelay: '1h',
  });
  await handle.terminate();
  const control = request();
  const ref = await world.payouts.start({ ...control, platform: 'sim:slow final=1h' });
  await untilStartedAgain(world, ref, await terminate(world, ref));
  expect((await handle.describe()).status.name).toBe('TERMINATED');
  expect(createsOf(world, body)).toEqual([]);
});

describe('H278 a decision that is not encrypted', () => {
  test('is rejected with its reason, except refuse and poll; an encrypted one counts', async () => {
    const body = request({ approval: 'required' });
    await world.payouts.start(body);
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    const byHand = plain.workflow.getHandle(payoutWorkflowId('default', body.partnerOrderId));
    const decide = (name: string, decision: object) =>
      byHand
        .executeUpdate(name, { args: [decision] })
        .catch((error) =>
          error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure
            ? error.cause.message
            : 'another error',
        );
    const reason = expect.stringContaining('must be encrypted under a key of the workers');
    expect(await decide('approve', { by: 'olga' })).toEqual(reason);
    expect(await decide('cancel', { by: 'olga' })).toEqual(reason);
    expect(await decide('resolve', { by: 'olga', created: false, then: 'end' })).toEqual(reason);
    expect((await world.payouts.state(body)).phase).toBe('AWAITING_APPROVAL');
    await world.payouts.approve(body, { by: 'olga' });
    expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
    await replaysAnywhere(await world.history(body));
  });

  test('refuse and poll work from the Temporal UI', async () => {
    const [refused, polled] = [request({ approval: 'required' }), request({ platform: 'sim:slow final=1h' })];
    for (const body of [refused, polled]) await world.payouts.start(body);
    await world.until(refused, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.until(polled, ({ phase }) => phase === 'PROCESSING');
    const byHand = ({ partnerOrderId }: { partnerOrderId: string }) =>
      plain.workflow.getHandle(payoutWorkflowId('default', partnerOrderId));
    await byHand(polled).executeUpdate('poll');
    await byHand(refused).executeUpdate('refuse', { args: [{ by: 'olga' }] });
    expect((await world.payouts.result(refused)).outcome).toBe('NOT_CREATED');
    await replaysAnywhere(await world.history(refused));
  });
});

test('H278 a plain signal of another process is ignored, and the history replays', async () => {
  const batches = new Batches({ client: world.client, environment: 'test' });
  const batchId = newPartnerOrderId();
  await batches.start({ batchId, payouts: [request({ platform: 'sim:slow final=2s' })] });
  const handle = plain.workflow.getHandle(payoutBatchWorkflowId('default', batchId));
  const [part] = await handle.query(addedRowsQuery);
  const counts = { offset: 0, started: 0, joined: 0, needingAttention: 0, phases: {} };
  const outcomes = Object.fromEntries(ROW_OUTCOMES.map((outcome) => [outcome, 0]));
  const rows = Object.fromEntries(LISTED_OUTCOMES.map((outcome) => [outcome, []]));
  const lie = { ...counts, outcomes, rows, digest: part?.digest, allStarted: true, ended: true };
  expect(isPartReport(lie)).toBe(true);
  await handle.signal('partReport', lie);
  expect((await batches.result({ batchId })).outcomes).toMatchObject({ SUCCESS: 1 });
  await replaysAnywhere(await handle.fetchHistory());
});

describe('a memo that is not encrypted, of a start that a worker refuses', () => {
  test('H291 gives a rate-limit lease no settings', async () => {
    const leases = new Leases(world.client, 'test');
    const { workflowId, settings } = await leases.of('default');
    await world.client.workflow.getHandle(workflowId).terminate();
    const forged = { ...settings.shared, version: 99, by: 'nobody', approvals: { callers: {} } };
    const refused = await plain.workflow.start('rateLimitLease', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId,
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      args: ['by hand'],
      memo: { settings: { shared: forged } },
    });
    await eventually(async () => {
      const { runId } = await refused.describe();
      return runId === refused.firstExecutionRunId ? undefined : true;
    });
    expect((await leases.describe('default', workflowId)).settings).toEqual({});
  });

  test('H292 acknowledges no flag', async () => {
    const ref = { app: 'default', partnerOrderId: newPartnerOrderId() };
    const forge = (acknowledgement: object) =>
      plain.workflow.start('payoutAcknowledgement', {
        taskQueue: PAYOUTS_TASK_QUEUE,
        workflowId: payoutAcknowledgementWorkflowId(ref.app, ref.partnerOrderId),
        workflowIdConflictPolicy: 'TERMINATE_EXISTING',
        memo: { acknowledgement },
      });
    const flags = [{ code: 'ORDER_DIFFERS_FROM_QUOTE' as const, message: 'differs' }];
    const state = {
      ...{ phase: 'DONE' as const, sentence: '', nextStep: '' },
      ...{ needsAttention: true, reasons: flags },
    };
    await forge({ by: 'nobody', payoutRunId: 'run', foundMs: 0, reasons: [] });
    expect(await withoutAcknowledged(world.client, ref, 'run', state)).toEqual(state);
    await forge({});
    expect(await withoutAcknowledged(world.client, ref, 'run', state)).toEqual(state);
  });
});
