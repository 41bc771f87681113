import { randomBytes } from 'node:crypto';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { movedPayouts, startPayouts } from '../../src/activities/batch/batch-activities.ts';
import { ConflictError } from '../../src/client/errors.ts';
import { CREATE_SENT } from '../../src/contract/memo.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import type { OpenPayouts } from '../../src/domain/batch.ts';
import { VisibilityLagsError } from '../../src/temporal/decisive-run.ts';
import { batchesOf, rowsOf } from '../support/batches.ts';
import { eventually } from '../support/eventually.ts';
import { record, replays } from '../support/histories.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { reconcile, reconcileClosedNow, terminate, untilStartedAgain } from '../support/reconciliation.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

/** Longer than lists lag. */
const VISIBLE_WITHIN_MS = 1_000;

let world: VirtualWorld;
beforeAll(async () => {
  // The pause after too many stops is long minChanges for a reconciliation on a busy machine to see it.
  world = await VirtualWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '10s', PAYOUTS_RECONCILE_EVERY: '10s' } });
});
afterAll(() => world.stop());

const bodyOf = (over: Partial<PayoutRequest> = {}) =>
  payoutRequest(newPartnerOrderId(), { platform: 'sim:success', ...over });
const outcomeOf = async (body: PayoutRequest) => (await world.payouts.result(body)).outcome;
const memoOf = async (body: PayoutRequest) => (await world.payouts.handle(body).describe()).memo;

describe('H10 a payout whose workflow was stopped is started again, and pays once', () => {
  test('terminated before the first send', async () => {
    const body = bodyOf({ approval: 'required' });
    await world.payouts.start(body, { batch: 'payday', startedBy: 'shop' });
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await untilStartedAgain(world, body, await terminate(world, body));
    expect(await memoOf(body)).toMatchObject({
      start: { rejectDuplicate: false, environment: 'test', batch: 'payday', startedBy: 'shop' },
      stops: 1,
    });
    await world.approveShown(body);
    expect(await outcomeOf(body)).toBe('SUCCESS');
    expect(createsOf(world, body).length).toBe(1);
  });

  test.each(['before', 'after'] as const)('terminated during its create, %s the effect', async (effect) => {
    const body = bodyOf();
    const held = world.holdCreate(body.partnerOrderId, effect);
    await world.payouts.start(body);
    await eventually(held.arrived);
    const stopped = await terminate(world, body);
    await untilStartedAgain(world, body, stopped);
    held.release();
    expect(await outcomeOf(body)).toBe('SUCCESS');
    expect([createsOf(world, body).length, debitsOf(world, body)]).toEqual([1, 1]);
  });

  test('terminated with its order created, with the last money, after an approval that is not repeated', async () => {
    const payerId = `payer-${newPartnerOrderId()}`;
    const body = bodyOf({ payerId, approval: 'required', platform: 'sim:slow final=1h' });
    await world.payouts.start(body);
    await world.approveShown(body);
    const { orderId } = await world.until(body, ({ phase }) => phase === 'PROCESSING');
    world.simulator.control.setAccounts(payerId, [{ currency: 'USD', available: '0.00' }]);
    await untilStartedAgain(world, body, await terminate(world, body));
    const state = await world.until(body, ({ phase }) => phase === 'PROCESSING');
    expect(state.orderId).toBe(orderId);
    world.simulator.control.changeOrder(body.partnerOrderId, { status: 'SUCCESS' });
    expect(await outcomeOf(body)).toBe('SUCCESS');
    expect([createsOf(world, body).length, debitsOf(world, body)]).toEqual([1, 1]);
    const history = await world.history(body);
    record('started-again', history);
    await replays(history);
  });

  test('timed out, as only a foreign start can', async () => {
    const body = bodyOf({ approval: 'required' });
    const handle = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${body.partnerOrderId}`,
      args: [body],
      workflowExecutionTimeout: '2s',
    });
    // Regardless of its progress in that time.
    await handle.result().catch(() => undefined);
    await untilStartedAgain(world, body, handle.firstExecutionRunId);
    await world.approveShown(body);
    expect(await outcomeOf(body)).toBe('SUCCESS');
    expect(createsOf(world, body).length).toBe(1);
  });

  test('stopped repeatedly: flagged, and restarted with growing pauses', async () => {
    const body = bodyOf({ platform: 'sim:slow final=1h' });
    await world.payouts.start(body);
    for (let stops = 1; stops <= 3; stops += 1) {
      await world.until(body, ({ phase }) => phase === 'PROCESSING');
      await untilStartedAgain(world, body, await terminate(world, body));
    }
    const { reasons } = await world.until(body, ({ phase }) => phase === 'PROCESSING');
    expect(reasons).toMatchObject([{ code: 'STOPPED_REPEATEDLY' }]);
    const stopped = await terminate(world, body);
    const found = await eventually(async () => {
      const report = await reconcile(world);
      return report.waiting === 1 ? report : undefined;
    });
    // The next reconciliation looks at it again by its id.
    expect(found.unresolved).toEqual([world.payouts.handle(body).workflowId]);
    expect(found.seenUntilMs).toBeGreaterThan(0);
    await untilStartedAgain(world, body, stopped);
    world.simulator.control.changeOrder(body.partnerOrderId, { status: 'SUCCESS' });
    expect(await outcomeOf(body)).toBe('SUCCESS');
    expect(createsOf(world, body).length).toBe(1);
  });
});

test.each([-12, 12])('H10 the clock of a worker, %i hours off, delays no restart', async (hours) => {
  const body = bodyOf({ approval: 'required' });
  await world.payouts.start(body);
  await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
  const stopped = await terminate(world, body);
  const { clock } = world;
  const query = `RunId = '${stopped}' AND ExecutionStatus = 'Terminated'`;
  await eventually(async () => (await world.client.workflow.count(query)).count > 0 || undefined);
  const wrong = { ...clock, wallMs: () => clock.wallMs() + hours * 3_600_000 };
  await reconcileClosedNow(world, { clock: wrong });
  expect((await world.payouts.handle(body).describe()).runId).not.toBe(stopped);
  await world.payouts.cancel(body, { by: 'olga' });
  expect(await outcomeOf(body)).toBe('NOT_CREATED');
});

describe('H10 a run that fails as bad input hides no earlier run', () => {
  /** Starts the payout's workflow as a foreign caller can, over any run under its id. Resolves once it has failed. */
  async function failOver(body: PayoutRequest, argument: unknown, memo: Record<string, unknown> = {}) {
    const handle = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${body.partnerOrderId}`,
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      args: [argument],
      memo,
    });
    await expect(handle.result()).rejects.toMatchObject({ cause: { type: 'InvalidPayoutRequest' } });
    return handle.firstExecutionRunId;
  }

  test('a payout that has sent is started again with the argument of the run that sent', async () => {
    const body = bodyOf({ platform: 'sim:slow final=1h' });
    await world.payouts.start(body, { startedBy: 'shop' });
    await world.until(body, ({ phase }) => phase === 'PROCESSING');
    await untilStartedAgain(
      world,
      body,
      await failOver(body, { nonsense: true }, { environment: 'production' }),
    );
    expect(await memoOf(body)).toMatchObject({
      start: { environment: 'test', startedBy: 'shop', rejectDuplicate: false },
      ...CREATE_SENT,
    });
    await world.until(body, ({ phase }) => phase === 'PROCESSING');
    world.simulator.control.changeOrder(body.partnerOrderId, { status: 'SUCCESS' });
    expect(await outcomeOf(body)).toBe('SUCCESS');
    expect([createsOf(world, body).length, debitsOf(world, body)]).toEqual([1, 1]);
  });

  test('also after a valid request for another beneficiary, terminated before its first call', async () => {
    const body = bodyOf({ platform: 'sim:slow final=1h' });
    await world.payouts.start(body);
    const { orderId } = await world.until(body, ({ phase }) => phase === 'PROCESSING');
    await world.stopWorkers();
    const other = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${body.partnerOrderId}`,
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      args: [{ ...body, payerId: 'payer-2' }],
    });
    await other.terminate('by a test');
    await world.startWorkers();
    await untilStartedAgain(world, body, other.firstExecutionRunId);
    expect((await world.until(body, ({ phase }) => phase === 'PROCESSING')).orderId).toBe(orderId);
    expect((await world.payouts.startDetails(body)).request.payerId).toBe(body.payerId);
    world.simulator.control.changeOrder(body.partnerOrderId, { status: 'SUCCESS' });
    expect(await outcomeOf(body)).toBe('SUCCESS');
  });

  test('a payout that was paid and reported returns its outcome again', async () => {
    const body = bodyOf();
    await world.payouts.start(body);
    const result = await world.payouts.result(body);
    await untilStartedAgain(world, body, await failOver(body, {}));
    expect(await world.payouts.result(body)).toMatchObject({ outcome: 'SUCCESS', orderId: result.orderId });
    expect([createsOf(world, body).length, debitsOf(world, body)]).toEqual([1, 1]);
  });

  test('a payout that was stopped before its first send continues too', async () => {
    const body = bodyOf({ approval: 'required' });
    await world.payouts.start(body);
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await untilStartedAgain(world, body, await failOver(body, {}));
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.payouts.cancel(body, { by: 'olga' });
    expect(await outcomeOf(body)).toBe('NOT_CREATED');
  });

  test('a payout that was stopped before its request was checked continues too', async () => {
    const body = bodyOf({ approval: 'required' });
    await world.stopWorkers();
    await world.payouts.start(body);
    await terminate(world, body);
    await world.startWorkers();
    await untilStartedAgain(world, body, await failOver(body, {}));
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.payouts.cancel(body, { by: 'olga' });
    expect(await outcomeOf(body)).toBe('NOT_CREATED');
  });

  test('a batch starts a row again while lists lag, and does not count it as a conflict', async () => {
    const lagging = { startFor: () => Promise.reject(new VisibilityLagsError('not listed yet')) };
    const rows = { environment: 'test', app: 'default', batchId: 'payday', payouts: [bodyOf()] };
    const start = (abort: AbortSignal) => startPayouts(lagging, rows, abort);
    const started = new MockActivityEnvironment().run(start, new AbortController().signal);
    await expect(started).rejects.toThrow(VisibilityLagsError);
  });

  test('a request for another payout, stopped before its check, belongs to no payout', async () => {
    const body = bodyOf({ approval: 'required' });
    await world.stopWorkers();
    const { firstExecutionRunId } = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${body.partnerOrderId}`,
      args: [bodyOf()],
    });
    await world.client.workflow.getHandle(`payout:default:${body.partnerOrderId}`).terminate('by a test');
    await world.startWorkers();
    await visiblyFailed(await failOver(body, {}));
    const { restarted } = await reconcile(world);
    expect(restarted).toBe(0);
    expect((await world.payouts.handle(body).describe()).runId).not.toBe(firstExecutionRunId);
  });

  test('a payout that was reported as not created after a send is never sent again', async () => {
    const body = bodyOf();
    world.simulator.control.addFault({
      operation: 'createCnyOrder',
      partnerOrderId: body.partnerOrderId,
      times: 1,
      fault: { kind: 'envelope', code: 30005 },
    });
    await world.payouts.start(body);
    expect(await outcomeOf(body)).toBe('NOT_CREATED');
    await eventually(async () => {
      const query = `WorkflowId = '${world.payouts.handle(body).workflowId}' AND ExecutionStatus = 'Completed'`;
      return (await world.client.workflow.count(query)).count > 0 || undefined;
    });
    const last = await failOver(body, {});
    await visiblyFailed(last);
    expect(await reconcile(world)).toMatchObject({ restarted: 0, waiting: 0 });
    // The partnerOrderId is used up, for a valid request too.
    await expect(world.payouts.start({ ...body, payerId: 'payer-2' })).rejects.toThrow(ConflictError);
    expect((await world.payouts.handle(body).describe()).runId).toBe(last);
  });

  test('a deleted history proves nothing: another valid request is used; without one, a person is alerted', async () => {
    const [known, lost] = [bodyOf({ approval: 'required' }), bodyOf({ approval: 'required' })];
    const gone: string[] = [];
    for (const body of [known, lost]) {
      await world.payouts.start(body);
      await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
      if (body === known) await untilStartedAgain(world, body, await terminate(world, body));
      gone.push((await world.payouts.handle(body).describe()).runId);
      await visiblyFailed(await failOver(body, {}));
    }
    const ids = [known, lost].map(({ partnerOrderId }) => `payout:default:${partnerOrderId}`);
    let restarts = 0;
    // A run that isn't listed yet is left to the next look.
    const alerts = await eventually(async () => {
      const { restarted, unresolved } = await reconcileClosedNow(world, { client: withoutHistories(gone) });
      restarts += restarted;
      const own = unresolved.filter(({ workflowId }) => ids.includes(workflowId));
      return own.length > 0 ? own : undefined;
    });
    expect(restarts).toBe(1);
    expect(alerts).toMatchObject([
      { workflowId: ids[1], reason: expect.stringMatching(/may have sent a create/) },
    ]);
    expect((await world.payouts.startDetails(known)).request).toMatchObject({ payerId: known.payerId });
    await untilStartedAgain(world, lost, (await world.payouts.handle(lost).describe()).runId);
    await world.until(lost, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.payouts.cancel(lost, { by: 'olga' });
    // A possible send is confirmed over the whole window, and then a person decides.
    await world.until(known, ({ phase }) => phase === 'NEEDS_REVIEW');
    await world.payouts.resolve(known, { by: 'olga', created: false, then: 'end' });
    for (const body of [known, lost]) expect(await outcomeOf(body)).toBe('NOT_CREATED');
  });

  test('its batch waits for it, and does not count it as bad input', async () => {
    const rows = rowsOf('slow final=1h', 'slow final=1h');
    const [hidden, other] = rows;
    if (!hidden || !other) throw new Error('two rows');
    const batches = batchesOf(world);
    const ref = { batchId: newPartnerOrderId() };
    await batches.start({ ...ref, payouts: rows });
    for (const row of rows)
      await eventually(() => world.until(row, ({ phase }) => phase === 'PROCESSING').catch(() => undefined));
    const failed = await failOver(hidden, {});
    await visiblyFailed(failed);
    // The batch learns the other row's end only by reading both.
    world.simulator.control.changeOrder(other.partnerOrderId, { status: 'SUCCESS' });
    await eventually(async () => (await batches.state(ref)).done > 0 || undefined);
    expect((await batches.state(ref)).outcomes).toMatchObject({ SUCCESS: 1, invalid: 0 });
    await untilStartedAgain(world, hidden, failed);
    world.simulator.control.changeOrder(hidden.partnerOrderId, { status: 'SUCCESS' });
    expect((await batches.result(ref)).outcomes).toMatchObject({ SUCCESS: 2, invalid: 0 });
    expect(createsOf(world, hidden).length).toBe(1);
    // It has two stopped runs, and a lagging list does not show the end of the last one.
    const engine = { client: withoutEnds(), clock: world.clock };
    const open: OpenPayouts = {
      phase: 'PROCESSING',
      needsAttention: false,
      partnerOrderIds: [hidden.partnerOrderId],
    };
    expect(await movedPayouts(engine, 'default', [open])).toEqual([
      { partnerOrderId: hidden.partnerOrderId, now: { ended: 'SUCCESS' } },
    ]);
  });

  async function visiblyFailed(runId: string): Promise<void> {
    const query = `RunId = '${runId}' AND ExecutionStatus = 'Failed'`;
    await eventually(async () => (await world.client.workflow.count(query)).count > 0 || undefined);
  }

  /** A client whose lists omit closed runs. */
  function withoutEnds(): Client {
    const { workflow } = world.client;
    const behind = new Proxy(workflow, {
      get: (target, name) => {
        if (name !== 'list') return Reflect.get(target, name);
        return async function* list(options: { query: string }) {
          for await (const run of target.list(options)) if (run.status.name !== 'COMPLETED') yield run;
        };
      },
    });
    return new Proxy(world.client, {
      get: (target, name) => (name === 'workflow' ? behind : Reflect.get(target, name)),
    });
  }

  /** A client for which Temporal reports the histories of these runs as deleted. */
  function withoutHistories(runs: readonly string[]): Client {
    const { workflowService } = world.client;
    const deaf = new Proxy(workflowService, {
      get: (target, name) => {
        if (name !== 'getWorkflowExecutionHistory') return Reflect.get(target, name);
        return async (request: { execution: { runId: string } }) => {
          if (!runs.includes(request.execution.runId))
            return Reflect.apply(target.getWorkflowExecutionHistory, target, [request]);
          throw new WorkflowNotFoundError('history is gone', '', request.execution.runId);
        };
      },
    });
    return new Proxy(world.client, {
      get: (target, name) => (name === 'workflowService' ? deaf : Reflect.get(target, name)),
    });
  }
});

describe('reconciliation ignores other workflows', () => {
  test('bad input, another environment, an application that is not served, and running or ended payouts', async () => {
    const ended = bodyOf();
    await world.payouts.start(ended);
    await world.payouts.result(ended);
    const restarted = bodyOf({ notBefore: '2099-01-01T00:00:00Z' });
    await world.payouts.start(restarted);
    await untilStartedAgain(world, restarted, await terminate(world, restarted));
    await Promise.all([
      foreign(bodyOf({ clientId: '' })),
      foreign(bodyOf(), { environment: 'production' }),
      foreign(bodyOf({ app: 'nobody' })),
    ]);
    const runs = async () => (await world.client.workflow.count("WorkflowType = 'payout'")).count;
    // Everything that was stopped is visible before the search.
    await world.pass(VISIBLE_WITHIN_MS);
    const before = await runs();
    expect(await reconcile(world)).toMatchObject({ restarted: 0, waiting: 0, notReconciled: [] });
    expect(await runs()).toBe(before);
    await world.payouts.cancel(restarted, { by: 'olga' });
  });

  test('a payout that cannot be read without its key is reported until a person fixes it', async () => {
    const body = bodyOf();
    const stranger = world.speaking(`k9:${randomBytes(32).toString('base64')}`);
    const handle = await stranger.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${body.partnerOrderId}`,
      args: [body],
      memo: { environment: 'test' },
    });
    await handle.terminate('by a test');
    const found = await eventually(async () => {
      const report = await reconcile(world);
      return report.notReconciled.length > 0 ? report : undefined;
    });
    expect(found).toMatchObject({
      notReconciled: [{ workflowId: handle.workflowId, reason: expect.stringMatching(/cannot be read/) }],
      unresolved: [handle.workflowId],
    });
  });

  /** Ends as bad input. */
  async function foreign(body: PayoutRequest, memo: Record<string, unknown> = {}): Promise<void> {
    const handle = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:${body.app ?? 'default'}:${body.partnerOrderId}`,
      args: [body],
      memo,
    });
    await expect(handle.result()).rejects.toThrow();
  }
});

describe('a batch and reconciliation', () => {
  test('H10 a batch learns the end of a payout that was terminated and started again', async () => {
    const rows = rowsOf('slow final=1h', 'slow final=1h');
    const [stopped, other] = rows;
    if (!stopped || !other) throw new Error('two rows');
    const batches = batchesOf(world);
    const ref = { batchId: newPartnerOrderId() };
    await batches.start({ ...ref, payouts: rows });
    for (const row of rows)
      await eventually(() => world.until(row, ({ phase }) => phase === 'PROCESSING').catch(() => undefined));
    const run = await terminate(world, stopped);
    // The batch learns the other row's end only by reading both.
    world.simulator.control.changeOrder(other.partnerOrderId, { status: 'SUCCESS' });
    await eventually(async () => (await batches.state(ref)).done > 0 || undefined);
    await untilStartedAgain(world, stopped, run);
    world.simulator.control.changeOrder(stopped.partnerOrderId, { status: 'SUCCESS' });
    expect((await batches.result(ref)).outcomes).toMatchObject({ SUCCESS: 2, stopped: 0 });
    expect(createsOf(world, stopped).length).toBe(1);
  });
});
