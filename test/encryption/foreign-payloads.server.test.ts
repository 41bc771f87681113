/** Payloads of one payout in the place of another one's, put there by somebody who can write to the namespace. */
import { Client } from '@temporalio/client';
import { defaultPayloadConverter, type Payload, RawValue, type SearchAttributes } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporalClientPairs } from '../../src/activities/payout/client-pairs.ts';
import { endedPayout } from '../../src/client/follow-ups.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { timelineOf } from '../../src/client/timeline.ts';
import { clientPair, payoutFollowUpWorkflowId, payoutWorkflowId } from '../../src/contract/ids.ts';
import { isUndecryptable } from '../../src/encryption/payload-codec.ts';
import { eventually } from '../support/eventually.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const BENEFICIARY = 'Paid In Secret';
const plainRequest = payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=0s' });
const request = { ...plainRequest, receiver: { ...plainRequest.receiver, bankAccountName: BENEFICIARY } };
const { CommandType, QueryResultType } = proto.temporal.api.enums.v1;

let world: PayoutWorld;
/** Without a key, as whoever can write to the namespace. */
let outsider: Client;
let paid: PayoutRef;
let stolen: { memo: Record<string, Payload>; argument: Payload; sent: Payload; result: Payload };

beforeAll(async () => {
  world = await PayoutWorld.start({
    env: { PAYOUTS_ENCRYPTION_KEYS: newKey('k1'), PAYOUTS_TOKEN_KEYS: newKey('t1') },
  });
  const { connection } = world.client;
  outsider = new Client({ connection, namespace: world.namespace });
  paid = await world.payouts.start(request);
  await world.payouts.result(paid);
  const events = (await world.history(paid)).events ?? [];
  const [result] = events.at(-1)?.workflowExecutionCompletedEventAttributes?.result?.payloads ?? [];
  const { memo, input } = events[0]?.workflowExecutionStartedEventAttributes ?? {};
  const create = events.find(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'createPayout',
  );
  const sent = events.find(({ activityTaskCompletedEventAttributes: completed }) =>
    completed?.scheduledEventId?.equals(create?.eventId ?? 0),
  )?.activityTaskCompletedEventAttributes?.result?.payloads?.[0];
  stolen = {
    memo: memo?.fields ?? {},
    argument: input?.payloads?.[0] ?? {},
    sent: sent ?? {},
    result: result ?? {},
  };
});
afterAll(() => world.stop());

/** A workflow under the id of a payout. Its task queue has that id, so no worker of ours serves it. */
async function forged(
  fields: Record<string, Payload>,
  attributes: SearchAttributes = {},
  argument = stolen.argument,
): Promise<PayoutRef> {
  const ref = { partnerOrderId: newPartnerOrderId() };
  const memo = Object.entries(fields).map(([name, payload]) => [name, RawValue.fromPayload(payload)]);
  await outsider.workflow.start('payout', {
    ...{ taskQueue: ref.partnerOrderId, workflowId: payoutWorkflowId('default', ref.partnerOrderId) },
    args: [RawValue.fromPayload(argument)],
    memo: Object.fromEntries(memo),
    searchAttributes: { PayoutApp: ['default'], ...attributes },
  });
  return ref;
}

async function nextTask({ partnerOrderId: name }: PayoutRef) {
  const { namespace } = world;
  return outsider.withDeadline(Date.now() + 70_000, () =>
    outsider.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name } }),
  );
}

async function respond(ref: PayoutRef, commands: proto.temporal.api.command.v1.ICommand[]): Promise<void> {
  const { taskToken } = await nextTask(ref);
  const { namespace } = world;
  await outsider.workflowService.respondWorkflowTaskCompleted({ namespace, taskToken, commands });
}

const completes = (result: Payload) => ({
  commandType: CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
  completeWorkflowExecutionCommandAttributes: { result: { payloads: [result] } },
});

async function rowOf<Row extends { partnerOrderId: string }>(
  { partnerOrderId }: PayoutRef,
  rows: AsyncIterable<Row>,
): Promise<Row | undefined> {
  for await (const row of rows) if (row.partnerOrderId === partnerOrderId) return row;
  return undefined;
}

function lastDay() {
  const [from, to] = [-86_400_000, 60_000].map((ms) => new Date(Date.now() + ms).toISOString());
  return { app: 'default', from: String(from), to: String(to) };
}

const outcomeOf = (reading: Promise<unknown>) =>
  reading.then(
    () => 'readable',
    (error) => (isUndecryptable(error) ? 'unreadable' : error),
  );

describe('H341 a payload of another payout stays unreadable', () => {
  test('as the result and in the memo', async () => {
    expect((await world.payouts.look(paid)).result?.outcome).toBe('SUCCESS');
    const ref = await forged(stolen.memo, { PayoutOutcome: ['SUCCESS'], PayoutPhase: ['DONE'] });
    await respond(ref, [completes(stolen.result)]);
    expect(await outcomeOf(world.payouts.look(ref))).toBe('unreadable');
    expect(await outcomeOf(world.payouts.result(ref))).toBe('unreadable');
    const listed = await eventually(() => rowOf(ref, world.payouts.list({ app: 'default' })));
    expect(JSON.stringify(listed)).not.toContain(BENEFICIARY);
    const ended = await eventually(() => rowOf(ref, world.payouts.statement(lastDay())));
    expect(ended).toMatchObject({ unreadable: true });
    expect(JSON.stringify(ended)).not.toContain(BENEFICIARY);
    // Its own place shows it.
    expect(await rowOf(paid, world.payouts.statement(lastDay()))).toMatchObject({ beneficiary: BENEFICIARY });
  });

  test('as the request and in the timeline', async () => {
    const ref = await forged({});
    expect(await outcomeOf(world.payouts.startDetails(ref))).toBe('unreadable');
    const activity = { activityId: '1', activityType: { name: 'createPayout' }, input: {} };
    const timeout = msToTs(60_000);
    await respond(ref, [
      {
        commandType: CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
        scheduleActivityTaskCommandAttributes: {
          ...{ ...activity, taskQueue: { name: ref.partnerOrderId } },
          ...{ scheduleToCloseTimeout: timeout, startToCloseTimeout: timeout },
        },
      },
    ]);
    const { namespace } = world;
    const { taskToken } = await outsider.withDeadline(Date.now() + 70_000, () =>
      outsider.workflowService.pollActivityTaskQueue({ namespace, taskQueue: { name: ref.partnerOrderId } }),
    );
    const result = { payloads: [stolen.sent] };
    await outsider.workflowService.respondActivityTaskCompleted({ namespace, taskToken, result });
    const steps = async ({ partnerOrderId }: PayoutRef) => {
      const workflowId = payoutWorkflowId('default', partnerOrderId);
      const { runId } = await world.client.workflow.getHandle(workflowId).describe();
      return JSON.stringify(await timelineOf(world.client, { run: { workflowId, runId, length: 1 } }));
    };
    const { orderId = '' } = (await world.payouts.result(paid)) ?? {};
    expect(await steps(paid)).toContain(orderId);
    expect(await steps(ref)).toContain('Order sent');
    expect(await steps(ref)).not.toContain(orderId);
  });

  test('as the answer to a query', async () => {
    const ref = await forged({});
    await respond(ref, []);
    const looking = outcomeOf(world.payouts.look(ref));
    const { taskToken } = await nextTask(ref);
    const answer = { payloads: [stolen.result] };
    await outsider.workflowService.respondQueryTaskCompleted({
      ...{ namespace: world.namespace, taskToken, queryResult: answer },
      completedType: QueryResultType.QUERY_RESULT_TYPE_ANSWERED,
    });
    expect(await looking).toBe('unreadable');
  });
});

test('H351 a completed workflow proves a pair only by payloads that are encrypted for it', async () => {
  const pairs = () => temporalClientPairs(world.client);
  const ids = { app: 'default', clientId: 'client-1', payerId: 'payer-1' };
  await eventually(async () => (await pairs().isKnown('test', ids)) || undefined);
  const others = { ...ids, payerId: 'payer-2' };
  const attributes = { PayoutPair: [clientPair('test', others)] };
  const ofAnother = await forged({}, attributes);
  await respond(ofAnother, [completes(stolen.result)]);
  // The payloads are its own, but of another pair.
  const ref = paid;
  await outsider.workflow.start('payout', {
    ...{ taskQueue: ref.partnerOrderId, workflowId: payoutWorkflowId('default', ref.partnerOrderId) },
    args: [RawValue.fromPayload(stolen.argument)],
    searchAttributes: { PayoutApp: ['default'], ...attributes },
  });
  await respond(ref, [completes(stolen.result)]);
  const query = `ExecutionStatus = 'Completed' AND PayoutPair = '${attributes.PayoutPair[0]}'`;
  await eventually(async () => (await outsider.workflow.count(query)).count >= 2 || undefined);
  expect(await pairs().isKnown('test', others)).toBe(false);
});

test('H353 only a follow-up of ours returns money in a statement, and only for its own payout', async () => {
  const { partnerOrderId } = paid;
  const workflowId = payoutFollowUpWorkflowId('default', partnerOrderId);
  const money = { currency: 'CNY', amount: '100.00' };
  const changes = {
    returned: [{ distributeId: 'd1', target: money, inResult: false, seenAt: new Date().toISOString() }],
    differences: [],
  };
  const write = async (client: Client) => {
    const { firstExecutionRunId } = await client.workflow.start('payoutFollowUp', {
      ...{ taskQueue: partnerOrderId, workflowId, workflowIdConflictPolicy: 'TERMINATE_EXISTING' },
      ...{ memo: { changes }, searchAttributes: { PayoutApp: ['default'], PayoutNeedsAttention: [true] } },
    });
    const query = `WorkflowId = '${workflowId}' AND RunId = '${firstExecutionRunId}'`;
    await eventually(async () => (await outsider.workflow.count(query)).count > 0 || undefined);
    return rowOf(paid, world.payouts.statement(lastDay()));
  };
  expect(await write(outsider)).toMatchObject({ laterReturns: [] });
  expect(await write(world.client)).toMatchObject({ laterReturns: [{ target: money }] });
  const another = await forged({}, {}, defaultPayloadConverter.toPayload(request));
  await respond(another, [completes(defaultPayloadConverter.toPayload(await world.payouts.result(paid)))]);
  const anotherId = payoutWorkflowId('default', another.partnerOrderId);
  expect(await endedPayout(world.client, anotherId)).toBeUndefined();
});
