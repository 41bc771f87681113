import type { Client } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFollowUp } from '../../src/client/follow-ups.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { payoutFollowUpWorkflowId } from '../../src/contract/ids.ts';
import { CREATE_SENT } from '../../src/contract/memo.ts';
import { changesQuery } from '../../src/contract/workflows.ts';
import { checkTimeoutMs } from '../../src/domain/reconciliation-follow-up.ts';
import { APP } from '../../src/temporal/namespace.ts';
import type { payoutFollowUp } from '../../src/workflows/reconciliation/payout-follow-up.ts';
import { eventually } from '../support/eventually.ts';
import { record, replays } from '../support/histories.ts';
import { accepted, startApiServer, type TestApiServer } from '../support/http.ts';
import { reconcile, reconcileClosedNow } from '../support/reconciliation.ts';
import { payoutRequest } from '../support/requests.ts';
import { resetBefore } from '../support/resets.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const LOOKS = { PAYOUTS_FOLLOW_UP: '1s,1h' };

let world: VirtualWorld;
let service: TestApiServer;
beforeAll(async () => {
  world = await VirtualWorld.start({ env: LOOKS });
  service = await startApiServer(world.client);
});
afterAll(async () => {
  await service.close();
  await world.stop();
});

const followUp = ({ partnerOrderId }: PayoutRef) =>
  world.client.workflow.getHandle<typeof payoutFollowUp>(payoutFollowUpWorkflowId('default', partnerOrderId));
const changes = async (ref: PayoutRef) => followUp(ref).query(changesQuery);
const details = (ref: PayoutRef) =>
  world.simulator.control.calls({ partnerOrderId: ref.partnerOrderId, operation: 'queryPayDetail' }).length;
const flagged = async (ref: PayoutRef) =>
  (await followUp(ref).describe()).searchAttributes['PayoutNeedsAttention']?.[0] === true;
const notify = (ref: PayoutRef) =>
  accepted(`${service.url}/v1/notifications/default`, { partner_order_id: ref.partnerOrderId });

async function isListed({ partnerOrderId }: PayoutRef): Promise<boolean> {
  const id = payoutFollowUpWorkflowId('default', partnerOrderId);
  return (await world.client.workflow.count(`WorkflowId = '${id}'`)).count > 0;
}

/** As if the hosts of Temporal that start follow-ups had a clock that is a minute behind. */
function withEarlyStarts(client: Client): Client {
  const { workflowService: real } = client;
  const describeWorkflowExecution = async (request: object) => {
    const answer = await real.describeWorkflowExecution(request);
    const { type, startTime } = answer.workflowExecutionInfo ?? {};
    if (type?.name === 'payoutFollowUp' && startTime?.seconds) startTime.seconds = startTime.seconds.sub(60);
    return answer;
  };
  const workflowService = Object.create(real, {
    describeWorkflowExecution: { value: describeWorkflowExecution },
  });
  return Object.create(client, { workflowService: { value: workflowService } });
}

/** Visibility lags behind the end of the payout. */
async function followed(ref: PayoutRef): Promise<void> {
  await eventually(async () => {
    await reconcile(world);
    return followUp(ref)
      .describe()
      .then(
        () => true,
        () => undefined,
      );
  });
}

function priorities({ events }: Awaited<ReturnType<VirtualWorld['history']>>): number[] {
  return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
    scheduled ? [scheduled.priority?.priorityKey ?? 0] : [],
  );
}

async function paid(scenario = 'success'): Promise<PayoutRef> {
  const ref = await world.pay(scenario);
  await world.payouts.result(ref);
  return ref;
}

const comesBack = (ref: PayoutRef, index = 0) =>
  world.simulator.control.changeOrder(ref.partnerOrderId, {
    splits: [{ index, refund: true, refundReason: 'account closed' }],
  });

describe('H22 money that is returned after the end', () => {
  test('is found by the next check, flagged, and reported as returned; the result stays unchanged', async () => {
    const ref = await paid('split splits=3');
    comesBack(ref, 1);
    await followed(ref);
    const found = await eventually(async () => {
      const seen = await changes(ref);
      return seen.checks > 0 ? seen : undefined;
    });
    const result = await world.payouts.result(ref);
    expect(found).toMatchObject({
      outcome: 'SUCCESS',
      changed: true,
      returned: [
        {
          distributeId: result.splits[1]?.distributeId,
          target: result.splits[1]?.target,
          refundReason: 'account closed',
          inResult: false,
        },
      ],
      returnedSums: [result.splits[1]?.target],
      differences: [],
      checks: 1,
    });
    await eventually(async () => (await flagged(ref)) || undefined);
    expect(result.splits.map(({ refunded }) => refunded)).toEqual([false, false, false]);
  });

  test('nothing was returned: one detail query per check, no flag, and a later check', async () => {
    const ref = await paid();
    const before = details(ref);
    await followed(ref);
    await eventually(async () => (await changes(ref)).checks === 1 || undefined);
    expect(await changes(ref)).toMatchObject({ changed: false, returned: [], returnedSums: [] });
    expect(details(ref)).toBe(before + 1);
    expect(await flagged(ref)).toBe(false);
    expect((await followUp(ref).describe()).status.name).toBe('RUNNING');
    // 1 goes before 5: a check waits for all calls of open payouts, their polls included.
    const checks = priorities(await followUp(ref).fetchHistory());
    // The check of the request and the read of the payout's end call only Temporal.
    expect(checks).toEqual([0, 0, 5]);
    expect(Math.max(...priorities(await world.history(ref)))).toBeLessThan(5);
  });

  test('H245 a payment that failed does not count as returned, and one that was paid and then failed is a difference', async () => {
    const ref = await paid('partial');
    const { splits } = await world.payouts.result(ref);
    const failed = splits.findIndex(({ status }) => status === 'FAILED');
    comesBack(ref, failed);
    await followed(ref);
    await eventually(async () => (await changes(ref)).checks === 1 || undefined);
    expect(await changes(ref)).toMatchObject({ changed: false, returned: [], returnedSums: [] });
    const other = await paid('split splits=2');
    comesBack(other);
    world.simulator.control.changeOrder(other.partnerOrderId, {
      splits: [{ index: 0, status: 'FAILED' }],
      answers: { queryPayDetail: { status: 'PARTIAL_SUCCESS' } },
    });
    await followed(other);
    await eventually(async () => (await changes(other)).checks === 1 || undefined);
    expect(await changes(other)).toMatchObject({
      returned: [],
      differences: [{ code: 'OUTCOME_CHANGED' }, { code: 'SPLITS_CHANGED' }],
    });
  });

  test('what was returned before the end is reported too, and is not a change', async () => {
    const ref = await world.pay('split splits=2 final=1h');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
    comesBack(ref);
    const [back, kept] = (await world.payouts.result(ref)).splits;
    expect([back?.refunded, kept?.refunded]).toEqual([true, false]);
    await followed(ref);
    await eventually(async () => (await flagged(ref)) || undefined);
    expect(await changes(ref)).toMatchObject({
      changed: false,
      returned: [{ distributeId: back?.distributeId, target: back?.target, inResult: true }],
      returnedSums: [back?.target],
      differences: [],
    });
  });

  test('the current answer is compared with the reported result', async () => {
    const ref = await paid('split splits=2');
    world.simulator.control.changeOrder(ref.partnerOrderId, {
      splits: [{ index: 0, status: 'FAILED' }],
      answers: { queryPayDetail: { status: 'PARTIAL_SUCCESS' } },
    });
    await followed(ref);
    await eventually(async () => (await flagged(ref)) || undefined);
    const { differences } = await changes(ref);
    expect(differences.map(({ code }) => code)).toEqual(['OUTCOME_CHANGED', 'SPLITS_CHANGED']);
  });

  test('a terminated follow-up starts over, and still finds what was returned', async () => {
    const ref = await paid('split splits=2');
    await followed(ref);
    const { runId } = await followUp(ref).describe();
    await followUp(ref).terminate('a mistake in the UI');
    comesBack(ref);
    await eventually(async () => {
      await reconcile(world);
      return (await followUp(ref).describe()).runId === runId ? undefined : true;
    });
    await eventually(async () => (await flagged(ref)) || undefined);
    expect((await changes(ref)).returned.length).toBe(1);
  });

  test('a rejected check never reads as "unchanged"; the next answer clears the flag', async () => {
    const ref = await paid('success notify=none');
    const { partnerOrderId } = ref;
    const fault = { kind: 'envelope', code: 900_002 } as const;
    const rule = world.simulator.control.addFault({ operation: 'queryPayDetail', partnerOrderId, fault });
    await followed(ref);
    await eventually(async () => (await flagged(ref)) || undefined);
    expect(await changes(ref)).toMatchObject({
      checks: 0,
      notChecked: { code: 'COULD_NOT_CHECK', message: expect.stringContaining('900002') },
    });
    const { memo } = await followUp(ref).describe();
    expect(memo).toMatchObject({ changes: { notChecked: { seenAt: expect.any(String) } } });
    world.simulator.control.removeFault(rule.id);
    await notify(ref);
    await eventually(async () => (await changes(ref)).checks > 0 || undefined);
    expect(await changes(ref)).not.toHaveProperty('notChecked');
    await eventually(async () => !(await flagged(ref)) || undefined);
  });

  test('a follow-up with only rejected checks ends with that result', async () => {
    const request = {
      ...{ app: 'default', clientId: 'client-1', payerId: 'payer-1' },
      ...{ outcome: 'SUCCESS' as const, splits: [] },
      ...{ partnerOrderId: newPartnerOrderId(), endedAtMs: world.clock.wallMs() - 7_200_000 },
    };
    const { partnerOrderId } = request;
    const fault = { kind: 'envelope', code: 900_002 } as const;
    world.simulator.control.addFault({ operation: 'queryPayDetail', partnerOrderId, fault });
    expect(await startFollowUp(world.client, { request, memo: {}, hashes: undefined })).toBe(true);
    expect(await followUp(request).result()).toMatchObject({
      checks: 0,
      notChecked: { code: 'COULD_NOT_CHECK' },
    });
    const { searchAttributes } = await followUp(request).describe();
    expect(searchAttributes['PayoutNeedsAttention']).toEqual([true]);
    expect(searchAttributes['PayoutReasons']).toEqual(['COULD_NOT_CHECK']);
  });

  test('a check is given up when the next one is due, or after a week, and never within a day', () => {
    const [day, checksAfterMs] = [86_400_000, [86_400_000, 7 * 86_400_000]];
    const at = (nowMs: number) => checkTimeoutMs({ endedAtMs: 0 }, { checksAfterMs }, nowMs) / day;
    expect([at(0), at(day), at(6.5 * day), at(8 * day)]).toEqual([1, 6, 1, 7]);
  });

  test.each([
    ['no splits', { splits: undefined }],
    ['invalid splits', { splits: [{ target: 'much' }] }],
    ['an invalid end time', { endedAtMs: 1e300 }],
    ['an invalid outcome', { outcome: 'GREAT' }],
  ])('H57 a follow-up with %s is bad input', async (_what, odd) => {
    const partnerOrderId = newPartnerOrderId();
    const good = {
      app: 'default',
      clientId: 'c',
      partnerOrderId,
      outcome: 'SUCCESS',
      splits: [],
      endedAtMs: 0,
    };
    const started = world.client.workflow.execute('payoutFollowUp', {
      taskQueue: 'payouts',
      workflowId: payoutFollowUpWorkflowId('default', partnerOrderId),
      args: [{ ...good, ...odd }],
    });
    await expect(started).rejects.toMatchObject({ cause: { type: 'InvalidPayoutRequest' } });
  });

  test('a payout that ended without an order after a send is followed up; an order that appears is flagged', async () => {
    const body = payoutRequest(newPartnerOrderId(), { platform: 'sim:success notify=none readLag=1h' });
    const { partnerOrderId } = body;
    const fault = { kind: 'drop-after' } as const;
    world.simulator.control.addFault({ operation: 'createCnyOrder', partnerOrderId, times: 1, fault });
    await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${partnerOrderId}`,
      args: [body],
      // As the payout records it once it has sent.
      memo: { environment: 'test', rejectDuplicate: true, ...CREATE_SENT },
      typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: 'default' }]),
    });
    await world.until(body, ({ phase }) => phase === 'NEEDS_REVIEW');
    await world.payouts.resolve(body, { by: 'olga', created: false, then: 'end' });
    expect((await world.payouts.result(body)).outcome).toBe('NOT_CREATED');
    await followed(body);
    await eventually(async () => (await changes(body)).checks > 0 || undefined);
    expect(await changes(body)).toMatchObject({ changed: false, differences: [] });
    world.simulator.control.changeOrder(partnerOrderId, { visible: true });
    await notify(body);
    await eventually(async () => (await flagged(body)) || undefined);
    expect((await changes(body)).differences).toMatchObject([{ code: 'ORDER_EXISTS' }]);
  });

  /** The provider returns money between two ends of the payout, so that only the second result includes it. */
  async function endedTwice(): Promise<PayoutRef> {
    const ref = await paid('split splits=2');
    await followed(ref);
    await eventually(async () => (await changes(ref)).checks === 1 || undefined);
    comesBack(ref);
    await resetBefore(world, world.payouts.handle(ref), 'fetchTradeWithDetail');
    expect((await world.payouts.result(ref)).splits[0]?.refunded).toBe(true);
    return ref;
  }

  test('H22 a payout that ended again after a Workflow Reset: a check compares with its last result', async () => {
    const ref = await endedTwice();
    await notify(ref);
    await eventually(async () => (await flagged(ref)) || undefined);
    expect(await changes(ref)).toMatchObject({ changed: false, returned: [{ inResult: true }] });
  });

  test('H22 a payout that ended again after a Workflow Reset is followed from its last end', async () => {
    const ref = await endedTwice();
    const first = (await followUp(ref).describe()).runId;
    await eventually(async () => {
      await reconcile(world);
      return (await followUp(ref).describe()).runId === first ? undefined : true;
    });
    await eventually(async () => (await flagged(ref)) || undefined);
    expect(await changes(ref)).toMatchObject({ changed: false, returned: [{ inResult: true }] });
  });

  test('H22 a follow-up whose start seems to be earlier than the end is not notified', async () => {
    const ref = await paid();
    await followed(ref);
    await eventually(async () => (await isListed(ref)) || undefined);
    await reconcileClosedNow(world, { client: withEarlyStarts(world.client) });
    const { events } = await followUp(ref).fetchHistory();
    expect(events?.some((event) => event.workflowExecutionSignaledEventAttributes)).toBe(false);
  });

  test('a finished follow-up is not repeated, and a payout without an order gets none', async () => {
    const ref = await paid();
    const none = await world.pay('success', { limits: { minRate: '99' } });
    await world.payouts.result(none);
    await followed(ref);
    const { runId } = await followUp(ref).describe();
    expect((await reconcile(world)).followUpsStarted).toBe(0);
    expect((await followUp(ref).describe()).runId).toBe(runId);
    await expect(followUp(none).describe()).rejects.toThrow(/not found/i);
  });
});

describe('H34 a notification after the payout ended', () => {
  test('triggers a check at once, and is accepted only when Temporal has it', async () => {
    const ref = await paid('success notify=none');
    comesBack(ref);
    expect(await notify(ref)).toMatchObject({ status: 202 });
    await eventually(async () => (await flagged(ref)) || undefined);
    expect((await changes(ref)).returned.length).toBe(1);
  });

  test('H36 a storm of them costs a handful of queries', async () => {
    const ref = await paid('success notify=none');
    const before = details(ref);
    const begun = performance.now();
    await Promise.all(Array.from({ length: 200 }, () => notify(ref)));
    const seconds = (performance.now() - begun) / 1_000;
    await eventually(() => details(ref) > before || undefined);
    const { events } = await followUp(ref).fetchHistory();
    const signals = events?.filter((event) => event.workflowExecutionSignaledEventAttributes).length ?? 0;
    expect(signals).toBeGreaterThan(0);
    // One immediately, then one per second for as long as this machine took.
    expect(signals).toBeLessThanOrEqual(1 + Math.ceil(seconds));
    expect(details(ref) - before).toBeLessThan(10);
  });

  test('for a payout reported as not created: an existing order is flagged', async () => {
    const ref = await world.payWithFault({ kind: 'drop-after' }, 'success notify=none readLag=1h');
    await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    await world.payouts.resolve(ref, { by: 'olga', created: false, then: 'end' });
    expect((await world.payouts.result(ref)).outcome).toBe('NOT_CREATED');
    world.simulator.control.changeOrder(ref.partnerOrderId, { visible: true });
    await notify(ref);
    await eventually(async () => (await flagged(ref)) || undefined);
    expect((await changes(ref)).differences).toMatchObject([{ code: 'ORDER_EXISTS' }]);
  });

  test('one that cannot be decoded is a hint like any other', async () => {
    const ref = await paid('success notify=none');
    await followed(ref);
    await eventually(async () => (await changes(ref)).checks === 1 || undefined);
    await world.client.workflowService.signalWorkflowExecution({
      namespace: world.namespace,
      workflowExecution: { workflowId: followUp(ref).workflowId },
      signalName: 'notification',
      input: { payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{') }] },
    });
    await eventually(async () => (await changes(ref)).checks === 2 || undefined);
  });
});

describe('H40 the history of a follow-up', () => {
  test('replays', async () => {
    const ref = await paid('success notify=none');
    comesBack(ref);
    await notify(ref);
    await eventually(async () => (await changes(ref)).checks > 0 || undefined);
    const history = await followUp(ref).fetchHistory();
    record('follow-up', history);
    await replays(history);
  });
});
