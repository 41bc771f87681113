/** What arrives while a check of a workflow waits for a worker, and what a Workflow Reset keeps of a check's answer. */
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { ReceivingAccounts } from '../../src/client/receiving-accounts.ts';
import type { Environment } from '../../src/config/environment.ts';
import { PayoutWorld, partnerOrderIdOf, payoutId, payoutRequest } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';
import { EventType } from '../../worlds/temporal/history.ts';
import type { PendingActivity } from '../../worlds/temporal/pending-activity.ts';
import type { Run } from '../../worlds/temporal/run.ts';
import { approveShown } from '../support/test-world.ts';

const HOUR = 3_600_000;
const partnerOrderId = partnerOrderIdOf(1);
const ref = { partnerOrderId };
const EXPIRES = { PAYOUTS_APPROVAL_EXPIRES: '1m' };
let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

/** A world in which the activities `held` wait for a worker until `release`. */
function worldOf(env: Environment = {}, ...held: string[]) {
  const system = new PayoutWorld({ workflows, seed: 1, env: { PAYOUTS_POLL_FIRST: '2s', ...env } });
  const { server, world } = system;
  const waiting: PendingActivity[] = [];
  const offer = server.offerActivity.bind(server);
  let isHeld = held.length > 0;
  server.offerActivity = (activity) => {
    if (isHeld && held.includes(activity.attributes.activityType ?? '')) waiting.push(activity);
    else offer(activity);
  };
  return {
    ...{ system, world, server },
    untilHeld: () => world.run({ done: () => waiting.length > 0, withinMs: HOUR }),
    release: () => {
      isHeld = false;
      for (const activity of waiting.splice(0)) if (!activity.isClosed) offer(activity);
    },
    debits: () => system.provider.control.ledgerOf(partnerOrderId).debits,
    /** The payout had ended without an order, so a person decides that it is paid after all (H331). */
    payAfterReview: async () => {
      const { payouts } = system;
      await world.run({ withinMs: 20_000 });
      await world.finish(approveShown(payouts, ref));
      await world.run({ withinMs: 20_000 });
      expect(await world.finish(payouts.state(ref))).toMatchObject({ phase: 'NEEDS_REVIEW' });
      await world.finish(payouts.resolve(ref, { created: false, then: 'retry', by: 'olga', sends: 0 }));
      await world.run({ withinMs: 20_000 });
      await world.finish(approveShown(payouts, ref));
    },
  };
}

function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

function completedTasks(run: Run): number[] {
  return run.entries
    .filter(({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
    .map(({ id }) => id);
}

describe('H107 the answer that a payout may end without an order holds only for the run that asked', () => {
  test('a reset of the last task of an ended run, after a later run has paid: the order is found', async () => {
    const { system, world, server, debits, payAfterReview } = worldOf(EXPIRES);
    const { payouts } = system;
    await world.finish(system.start(1, { approval: 'required' }));
    expect(await world.finish(payouts.result(ref), HOUR)).toMatchObject({ outcome: 'NOT_CREATED' });
    const first = server.find(payoutId(1));
    const tasks = completedTasks(first);
    server.reset(first, tasks[0] ?? 0, 'pay it after all');
    await payAfterReview();
    expect(await world.finish(payouts.result(ref), HOUR)).toMatchObject({ outcome: 'SUCCESS' });
    await world.run({ withinMs: HOUR });
    const third = server.reset(first, tasks.at(-1) ?? 0, 'by mistake');
    await world.run({ done: () => !third.isRunning, withinMs: HOUR });
    expect(await world.finish(payouts.result(ref), HOUR)).toMatchObject({ outcome: 'SUCCESS' });
    expect([debits(), world.violations]).toEqual([1, []]);
    await system.end();
  });

  test('the same after a foreign start has paid', async () => {
    const { system, world, server, debits, payAfterReview } = worldOf(EXPIRES);
    const { payouts, client } = system;
    await world.finish(system.start(1, { approval: 'required' }));
    await world.finish(payouts.result(ref), HOUR);
    const first = server.find(payoutId(1));
    const args = [payoutRequest(1, { approval: 'required' })];
    await world.finish(
      client.workflow.start('payout', { taskQueue: 'payouts', workflowId: payoutId(1), args }),
    );
    await payAfterReview();
    expect(await world.finish(payouts.result(ref), HOUR)).toMatchObject({ outcome: 'SUCCESS' });
    await world.run({ withinMs: 5_000 });
    const third = server.reset(first, completedTasks(first).at(-1) ?? 0, 'by mistake');
    await world.run({ done: () => !third.isRunning, withinMs: HOUR });
    expect(await world.finish(payouts.result(ref), HOUR)).toMatchObject({ outcome: 'SUCCESS' });
    expect([debits(), world.violations]).toEqual([1, []]);
    await system.end();
  });

  test('a receiving account that a later run has opened', async () => {
    const { system, world, server } = worldOf();
    const { control } = system.provider;
    const accounts = new ReceivingAccounts({
      client: system.client,
      environment: 'test',
      clock: system.world,
    });
    const request = { requestId: 'ra-1', payerId: 'payer-1', currency: 'USD' };
    const fault = { kind: 'latency', ms: 3_000 } as const;
    control.addFault({ operation: 'receivingAccountBalance', times: 1, fault });
    await world.finish(accounts.open(request));
    await world.run({ withinMs: 1_000 });
    await world.finish(accounts.handle(request).cancel());
    expect(await world.finish(accounts.result(request), HOUR)).toMatchObject({ outcome: 'NOT_OPENED' });
    const first = server.find('receiving-account:default:ra-1');
    const tasks = completedTasks(first);
    const second = server.reset(first, tasks[1] ?? 0, 'open it after all');
    await world.run({ done: () => !second.isRunning, withinMs: HOUR });
    expect(await world.finish(accounts.result(request), HOUR)).toMatchObject({ outcome: 'OPENED' });
    await world.run({ withinMs: 5_000 });
    const third = server.reset(first, tasks.at(-1) ?? 0, 'by mistake');
    await world.run({ withinMs: HOUR });
    expect(third.isRunning).toBe(true);
    expect(await world.finish(accounts.state(request))).toMatchObject({ phase: 'NEEDS_REVIEW' });
    expect(control.ledger().receivingAccounts).toHaveLength(1);
    await system.end();
  });
});

describe('an approval that has expired', () => {
  test.each(['doubtful', 'always'])(
    'is not accepted while the payout checks whether it may end (%s)',
    async (check) => {
      const env = { ...EXPIRES, PAYOUTS_CREATE_CHECK: check };
      const { system, world, untilHeld, release, debits } = worldOf(env, 'findEarlierSend');
      const { payouts } = system;
      await world.finish(system.start(1, { approval: 'required' }));
      await untilHeld();
      for (const decide of [payouts.approve, payouts.refuse])
        expect(await world.finish(errorOf(decide.call(payouts, ref, { by: 'anna' })))).toMatchObject({
          cause: { message: 'the approval has expired' },
        });
      release();
      expect(await world.finish(payouts.result(ref), HOUR)).toMatchObject({
        outcome: 'NOT_CREATED',
        reason: { code: 'APPROVAL_EXPIRED' },
      });
      expect([debits(), world.violations]).toEqual([0, []]);
      await system.end();
    },
  );
});

test('a payout whose first call waits shows its id, and can be canceled', async () => {
  const { system, world, untilHeld } = worldOf({}, 'beginPayout');
  const { payouts } = system;
  await world.finish(system.start(1));
  await untilHeld();
  await world.run({ withinMs: 1_000 });
  expect(await world.finish(payouts.state(ref))).toMatchObject({ partnerOrderId });
  const canceled = payouts.cancel(ref, { by: 'olga' });
  expect(await world.finish(canceled, 10_000)).toMatchObject({ phase: 'DONE', outcome: 'NOT_CREATED' });
  await system.end();
});

describe('H313 a payout whose first call waits', () => {
  test('fails for bad input after a minute at most, without a worker for its calls', async () => {
    const { system, world } = worldOf();
    await world.finish(system.start(1, { app: 'nobody' }));
    const result = errorOf(system.payouts.result({ ...ref, app: 'nobody' }));
    expect(await world.finish(result, 60_000)).toMatchObject({
      cause: { type: 'InvalidPayoutRequest', details: [[{ path: 'app' }]] },
    });
    await system.end();
  });

  test('shows its request after a minute at most, is flagged, and pays when calls are served', async () => {
    const { system, world, untilHeld, release, debits } = worldOf({}, 'beginPayout', 'quoteForClient');
    await world.finish(system.start(1, { metadata: { team: 'a' } }));
    await untilHeld();
    await world.run({ withinMs: 60_000 });
    const state = () => world.finish(system.payouts.state(ref));
    expect(await state()).toMatchObject({ phase: 'QUOTING', metadata: { team: 'a' }, reasons: [] });
    await world.run({ withinMs: 5 * 60_000 });
    expect(await state()).toMatchObject({ reasons: [{ code: 'CALL_WAITS' }] });
    release();
    expect(await world.finish(system.payouts.result(ref), HOUR)).toMatchObject({ outcome: 'SUCCESS' });
    expect([debits(), world.violations]).toEqual([1, []]);
    await system.end();
  });

  test('usually waits for nothing else: its first activity checks the request and gets the quote', async () => {
    const { system, world, server } = worldOf();
    await world.finish(system.start(1));
    await world.finish(system.payouts.result(ref), HOUR);
    const types = server
      .find(payoutId(1))
      .entries.flatMap(({ event }) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? []);
    expect(types.slice(0, 2)).toEqual(['beginPayout', 'createPayout']);
    await system.end();
  });
});

describe('H312 a request for a receiving account that waits', () => {
  test('is replaced, and flagged, if no worker has picked it up: it is sent once', async () => {
    const { system, world, untilHeld, release } = worldOf({}, 'openReceivingAccount');
    const accounts = new ReceivingAccounts({
      client: system.client,
      environment: 'test',
      clock: system.world,
    });
    const request = { requestId: 'ra-1', payerId: 'payer-1', currency: 'USD' };
    await world.finish(accounts.open(request));
    await untilHeld();
    await world.run({ withinMs: 6 * 60_000 });
    expect(await world.finish(accounts.state(request))).toMatchObject({ reasons: [{ code: 'CALL_WAITS' }] });
    release();
    expect(await world.finish(accounts.result(request), HOUR)).toMatchObject({ outcome: 'OPENED' });
    expect(system.provider.control.ledger().receivingAccounts).toHaveLength(1);
    await system.end();
  });
});

test('a batch that is canceled while it checks rows refuses them', async () => {
  const { system, world, untilHeld, release } = worldOf({}, 'checkRows');
  await world.run({ withinMs: 60_000 });
  const batches = new Batches({ client: system.client, environment: 'test' });
  const payouts = [1, 2, 3].map((number) => payoutRequest(number));
  system.service.queryAttempts = 30;
  const started = errorOf(batches.start({ batchId: 'b-1', payouts }));
  await untilHeld();
  await world.run({ withinMs: 5_000 });
  await world.finish(batches.cancel({ batchId: 'b-1' }));
  await world.run({ withinMs: 1_000 });
  release();
  expect(await world.finish(started, HOUR)).toMatchObject({ cause: { message: 'the batch was canceled' } });
  expect(await world.finish(batches.result({ batchId: 'b-1' }), HOUR)).toMatchObject({
    outcomes: { notStarted: 3 },
  });
  expect(world.violations).toEqual([]);
  await system.end();
});
