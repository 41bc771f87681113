import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRequest } from '../../src/domain/payout.ts';
import { batchesOf, rowsOf } from '../support/batches.ts';
import { record, replays } from '../support/histories.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { eventually, freshNumber, PayoutWorld } from '../support/payout-world.ts';
import { reconcile, terminate, untilAdopted } from '../support/reconciliation.ts';
import { payoutRequest } from '../support/requests.ts';

let world: PayoutWorld;
beforeAll(async () => {
  // The pause after too many stops is long enough to be seen by a reconciliation of a busy machine.
  world = await PayoutWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '10s', PAYOUTS_RECONCILE_EVERY: '10s' } });
});
afterAll(() => world.stop());

const bodyOf = (over: Partial<PayoutRequest> = {}) =>
  payoutRequest(freshNumber(), { platform: 'sim:success', ...over });
const outcomeOf = async (body: PayoutRequest) => (await world.payouts.result(body)).outcome;
const memoOf = async (body: PayoutRequest) => (await world.payouts.handle(body).describe()).memo;

describe('H10 a payout whose workflow was stopped is started again, and pays once', () => {
  test('terminated before anything was sent', async () => {
    const body = bodyOf({ approval: 'required' });
    await world.payouts.start(body, { batch: 'payday', startedBy: 'shop' });
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await untilAdopted(world, body, await terminate(world, body));
    expect(await memoOf(body)).toMatchObject({
      rejectDuplicate: false,
      environment: 'test',
      batch: 'payday',
      startedBy: 'shop',
      stops: 1,
    });
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.payouts.approve(body, { by: 'olga' });
    expect(await outcomeOf(body)).toBe('SUCCESS');
    expect(createsOf(world, body).length).toBe(1);
  });

  test.each(['before', 'after'] as const)(
    'terminated in the middle of its create, %s the effect',
    async (effect) => {
      const body = bodyOf();
      const held = world.holdCreate(body.partnerOrderId, effect);
      await world.payouts.start(body);
      await eventually(held.arrived);
      const stopped = await terminate(world, body);
      await untilAdopted(world, body, stopped);
      held.release();
      expect(await outcomeOf(body)).toBe('SUCCESS');
      expect([createsOf(world, body).length, debitsOf(world, body)]).toEqual([1, 1]);
    },
  );

  test('terminated with its order created, with the last money, by an approval that nobody gives again', async () => {
    const payerId = `payer-${freshNumber()}`;
    const body = bodyOf({ payerId, approval: 'required', platform: 'sim:slow final=1h' });
    await world.payouts.start(body);
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.payouts.approve(body, { by: 'olga' });
    const { orderId } = await world.until(body, ({ phase }) => phase === 'PROCESSING');
    world.simulator.control.setAccounts(payerId, [{ currency: 'USD', available: '0.00' }]);
    await untilAdopted(world, body, await terminate(world, body));
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
    // However far it came in that time.
    await handle.result().catch(() => undefined);
    await untilAdopted(world, body, handle.firstExecutionRunId);
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.payouts.approve(body, { by: 'olga' });
    expect(await outcomeOf(body)).toBe('SUCCESS');
    expect(createsOf(world, body).length).toBe(1);
  });

  test('stopped again and again: flagged, and its turns come ever later', async () => {
    const body = bodyOf({ platform: 'sim:slow final=1h' });
    await world.payouts.start(body);
    for (let stops = 1; stops <= 3; stops += 1) {
      await world.until(body, ({ phase }) => phase === 'PROCESSING');
      await untilAdopted(world, body, await terminate(world, body));
    }
    const { reasons } = await world.until(body, ({ phase }) => phase === 'PROCESSING');
    expect(reasons).toMatchObject([{ code: 'STOPPED_REPEATEDLY' }]);
    const stopped = await terminate(world, body);
    await eventually(async () => ((await reconcile(world)).waiting === 1 ? true : undefined));
    await untilAdopted(world, body, stopped);
    world.simulator.control.changeOrder(body.partnerOrderId, { status: 'SUCCESS' });
    expect(await outcomeOf(body)).toBe('SUCCESS');
    expect(createsOf(world, body).length).toBe(1);
  });
});

describe('what is none of its business is left alone', () => {
  test('bad input, another environment, an application that is not served, and what goes on or has ended', async () => {
    const ended = bodyOf();
    await world.payouts.start(ended);
    await world.payouts.result(ended);
    const restarted = bodyOf({ notBefore: '2099-01-01T00:00:00Z' });
    await world.payouts.start(restarted);
    await untilAdopted(world, restarted, await terminate(world, restarted));
    const left = await Promise.all([
      foreign(bodyOf({ clientId: '' })),
      foreign(bodyOf(), { environment: 'production' }),
      foreign(bodyOf({ app: 'nobody' })),
    ]);
    const runs = async () => (await world.client.workflow.count("WorkflowType = 'payout'")).count;
    // Everything that was stopped is visible before it is looked for.
    await eventually(async () => {
      const query = "WorkflowType = 'payout' AND ExecutionStatus = 'Failed'";
      return (await world.client.workflow.count(query)).count >= left.length || undefined;
    });
    const before = await runs();
    expect(await reconcile(world)).toMatchObject({ adopted: 0, waiting: 0, leftAlone: [] });
    expect(await runs()).toBe(before);
    await world.payouts.cancel(restarted, { by: 'olga' });
  });

  test('one that cannot be read for want of a key is told, until somebody has seen to it', async () => {
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
      return report.leftAlone.length > 0 ? report : undefined;
    });
    expect(found).toMatchObject({
      leftAlone: [{ workflowId: handle.workflowId, why: expect.stringMatching(/cannot be read/) }],
      seenUntilMs: 0,
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

describe('a batch', () => {
  test('H10 learns the end of a payout that was terminated and started again', async () => {
    const rows = rowsOf('slow final=1h', 'slow final=1h');
    const [stopped, other] = rows;
    if (!stopped || !other) throw new Error('two rows');
    const batches = batchesOf(world);
    const ref = { batchId: freshNumber() };
    await batches.start({ ...ref, payouts: rows });
    for (const row of rows)
      await eventually(() => world.until(row, ({ phase }) => phase === 'PROCESSING').catch(() => undefined));
    const run = await terminate(world, stopped);
    // The batch hears of the other one's end only by looking at both.
    world.simulator.control.changeOrder(other.partnerOrderId, { status: 'SUCCESS' });
    await eventually(async () => (await batches.state(ref)).done > 0 || undefined);
    await untilAdopted(world, stopped, run);
    world.simulator.control.changeOrder(stopped.partnerOrderId, { status: 'SUCCESS' });
    expect((await batches.result(ref)).outcomes).toMatchObject({ SUCCESS: 2, stopped: 0 });
    expect(createsOf(world, stopped).length).toBe(1);
  });
});
