import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConflictError, InvalidPayoutRequestError } from '../../src/client/errors.ts';
import { IdInUseError } from '../../src/client/start-once.ts';
import { eventually } from '../support/eventually.ts';
import { replays } from '../support/histories.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { payoutRequest } from '../support/requests.ts';
import { resetBefore } from '../support/resets.ts';
import { newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await startWorld({ env: { PAYMENTS_CALL_TIMEOUT: '5s' } });
});
afterAll(() => world.stop());

const bodyOf = (partnerOrderId: string) => payoutRequest(partnerOrderId, { platform: 'sim:success' });

interface ForeignStart {
  at?: TestWorld;
  /** Default: a valid request. */
  argument?: unknown;
  terminateExisting?: boolean;
}

/** A start by a program in another language that does not know our policies. */
function foreignStart(
  partnerOrderId: string,
  { at = world, argument = bodyOf(partnerOrderId), terminateExisting }: ForeignStart = {},
) {
  return at.client.workflow.start('payout', {
    taskQueue: 'payouts',
    workflowId: `payout:default:${partnerOrderId}`,
    args: [argument],
    ...(terminateExisting && { workflowIdConflictPolicy: 'TERMINATE_EXISTING' as const }),
  });
}

/** A world whose workers do not run yet, and a new payout. */
async function beforeWorkers(
  act: (idle: TestWorld, body: ReturnType<typeof bodyOf>) => Promise<void>,
): Promise<void> {
  const idle = await startWorld({ idle: true });
  try {
    await act(idle, bodyOf(newPartnerOrderId()));
  } finally {
    await idle.stop();
  }
}

describe('H7 one partnerOrderId, one payout', () => {
  test('50 racing starts pay once', async () => {
    const body = bodyOf(newPartnerOrderId());
    const starts = await Promise.all(Array.from({ length: 50 }, () => world.payouts.start(body)));
    expect(new Set(starts.map(({ runId }) => runId)).size).toBe(1);
    expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
    expect(createsOf(world, body).length).toBe(1);
  });

  test('the same body joins, running or ended; another body is rejected', async () => {
    const body = bodyOf(newPartnerOrderId());
    const first = await world.payouts.start(body);
    const rewritten = { ...body, instructedAmount: { amount: '100', currency: 'CNY' }, app: 'default' };
    expect(await world.payouts.start(rewritten)).toEqual(first);
    await expect(world.payouts.start({ ...body, payerId: 'another' })).rejects.toThrow(ConflictError);
    await world.payouts.result(body);
    expect(await world.payouts.start(body)).toEqual(first);
    await expect(world.payouts.start({ ...body, payerId: 'another' })).rejects.toThrow(ConflictError);
    expect(createsOf(world, body).length).toBe(1);
  });

  test('a foreign start of a new partnerOrderId confirms first, then pays once', async () => {
    const partnerOrderId = newPartnerOrderId();
    const handle = await foreignStart(partnerOrderId);
    expect(await handle.result()).toMatchObject({ outcome: 'SUCCESS' });
    expect(createsOf(world, { partnerOrderId }).length).toBe(1);
    const asked = world.simulator.control.calls().filter((call) => call.partnerOrderId === partnerOrderId);
    const order = asked
      .map(({ operation }) => operation)
      .filter((name) => name !== 'fee' && name !== 'accountQuery');
    expect(order[0]).toBe('queryResult');
  });

  test('a foreign start after completion finds the order and does not pay again', async () => {
    const body = bodyOf(newPartnerOrderId());
    await world.payouts.start(body);
    await world.payouts.result(body);
    const handle = await foreignStart(body.partnerOrderId);
    expect(await handle.result()).toMatchObject({ outcome: 'SUCCESS' });
    expect(createsOf(world, body).length).toBe(1);
  });

  test.each(['before', 'after'] as const)(
    'a foreign start that terminates the first run during its create, %s the effect: one POST',
    async (effect) => {
      const body = bodyOf(newPartnerOrderId());
      const held = world.holdCreate(body.partnerOrderId, effect);
      await world.payouts.start(body);
      await eventually(held.arrived);
      const handle = await foreignStart(body.partnerOrderId, { terminateExisting: true });
      // If the order already exists, one query suffices, and the run may already have ended.
      await world.until(body, ({ phase }) => phase === 'RECONCILING' || phase === 'DONE');
      held.release();
      expect(await handle.result()).toMatchObject({ outcome: 'SUCCESS' });
      expect(createsOf(world, body).length).toBe(1);
      expect(debitsOf(world, body)).toBe(1);
      // Its state was queried from the start.
      await replays(await world.history(body));
    },
  );

  test('H8 with PAYOUTS_CREATE_CHECK=always, a partnerOrderId whose history is gone is confirmed first', async () => {
    const body = bodyOf(newPartnerOrderId());
    await world.payouts.start(body);
    await world.payouts.result(body);
    const { workflowId } = world.payouts.handle(body);
    await world.client.workflowService.deleteWorkflowExecution({
      namespace: world.namespace,
      workflowExecution: { workflowId },
    });
    await eventually(() =>
      world.payouts.state(body).then(
        () => undefined,
        () => true,
      ),
    );
    await world.stopWorkers();
    await world.startWorkers({ PAYOUTS_CREATE_CHECK: 'always' });
    try {
      await world.payouts.start(body);
      expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
      expect(createsOf(world, body).length).toBe(1);
    } finally {
      await world.stopWorkers();
      await world.startWorkers({ PAYOUTS_CREATE_CHECK: 'doubtful' });
    }
  });
});

describe('bad input', () => {
  test('is rejected before anything starts, with every bad field', async () => {
    const body = { ...bodyOf(newPartnerOrderId()), clientId: '', originCurrency: 'usd' };
    const refused = await world.payouts.start(body).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(InvalidPayoutRequestError);
    expect(refused).toMatchObject({
      fields: expect.arrayContaining([expect.objectContaining({ path: 'clientId' })]),
    });
    await expect(world.payouts.handle(body).describe()).rejects.toThrow(/not found/i);
  });

  test.each([
    ['a value that is not an object', () => null],
    ['bad fields', () => ({ ...bodyOf('x'), clientId: '' })],
    ['an application that is not configured', () => ({ ...bodyOf('x'), app: 'nobody' })],
  ])('a foreign start with %s fails the workflow as InvalidPayoutRequest', async (_name, body) => {
    const partnerOrderId = newPartnerOrderId();
    const request = body();
    const handle = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:${request && 'app' in request ? request.app : 'default'}:${partnerOrderId}`,
      args: [request && { ...request, partnerOrderId }],
    });
    await expect(handle.result()).rejects.toMatchObject({
      cause: {
        type: 'InvalidPayoutRequest',
        nonRetryable: true,
        details: [expect.arrayContaining([expect.objectContaining({ path: expect.any(String) })])],
      },
    });
  });

  test('H101 a start under another workflow id is bad input, because the id makes the partnerOrderId unique', async () => {
    const partnerOrderId = newPartnerOrderId();
    const handle = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `my-own-id-${partnerOrderId}`,
      args: [bodyOf(partnerOrderId)],
    });
    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'InvalidPayoutRequest' },
    });
    expect(createsOf(world, { partnerOrderId })).toEqual([]);
  });

  test('H16 a start for another environment is bad input', async () => {
    const partnerOrderId = newPartnerOrderId();
    const handle = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${partnerOrderId}`,
      args: [bodyOf(partnerOrderId)],
      memo: { environment: 'production' },
    });
    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'InvalidPayoutRequest' },
    });
  });

  test.each([
    ['no payout request', () => ({})],
    ["another payout's request", () => payoutRequest(newPartnerOrderId())],
  ])('a start with %s that no worker has rejected yet is no conflict', (_what, argumentOf) =>
    beforeWorkers(async (idle, body) => {
      await foreignStart(body.partnerOrderId, { at: idle, argument: argumentOf() });
      await expect(idle.payouts.start(body)).rejects.toThrow(IdInUseError);
      await idle.startWorkers();
      await eventually(() =>
        idle.payouts.start(body).catch((error: unknown) => {
          if (!(error instanceof IdInUseError)) throw error;
          return undefined;
        }),
      );
      expect((await idle.payouts.result(body)).outcome).toBe('SUCCESS');
    }),
  );

  test('H10 a start with bad input that was terminated before a worker could reject it leaves the id free', () =>
    beforeWorkers(async (idle, body) => {
      const bad = await foreignStart(body.partnerOrderId, { at: idle, argument: { nonsense: true } });
      await bad.terminate('by its author');
      await idle.payouts.start(body);
      await idle.startWorkers();
      expect((await idle.payouts.result(body)).outcome).toBe('SUCCESS');
      expect(createsOf(idle, body).length).toBe(1);
    }));

  test('H191 a terminated start with a field that only a newer version knows keeps the id', () =>
    beforeWorkers(async (idle, body) => {
      const argument = { ...body, urgent: true };
      const newer = await foreignStart(body.partnerOrderId, { at: idle, argument });
      await newer.terminate('by an operator');
      await expect(idle.payouts.start(body)).rejects.toThrow(ConflictError);
    }));

  test('H10 such a start that replaced a payout hides neither the payout nor its body', () =>
    beforeWorkers(async (idle, body) => {
      const { runId } = await idle.payouts.start(body);
      const argument = { nonsense: true };
      const bad = await foreignStart(body.partnerOrderId, { at: idle, argument, terminateExisting: true });
      await bad.terminate('by its author');
      expect(await idle.payouts.start(body)).toMatchObject({ runId });
      await expect(idle.payouts.start({ ...body, payerId: 'another' })).rejects.toThrow(ConflictError);
    }));

  test('a partnerOrderId that was only ever bad input may be used again, corrected', async () => {
    const partnerOrderId = newPartnerOrderId();
    const bad = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${partnerOrderId}`,
      args: [{ partnerOrderId }],
    });
    await bad.result().catch(() => undefined);
    await world.payouts.start(bodyOf(partnerOrderId));
    expect((await world.payouts.result({ partnerOrderId })).outcome).toBe('SUCCESS');
    expect(createsOf(world, { partnerOrderId }).length).toBe(1);
  });
});

describe('H6 a Workflow Reset never pays again', () => {
  const reset = (partnerOrderId: string, beforeActivity: string) =>
    resetBefore(world, world.payouts.handle({ partnerOrderId }), beforeActivity);

  test.each(['beginPayout', 'createPayout', 'fetchTradeWithDetail'])(
    'after its end, to before %s: the order is found',
    async (activity) => {
      const body = bodyOf(newPartnerOrderId());
      await world.payouts.start(body);
      await world.payouts.result(body);
      await reset(body.partnerOrderId, activity);
      expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
      expect(createsOf(world, body).length).toBe(1);
    },
  );

  test('a clearance of the run before the reset does not apply: an order is found, not ended as NOT_CREATED', async () => {
    const { control } = world.simulator;
    const body = { ...bodyOf(newPartnerOrderId()), originCurrency: 'HKD', limits: { minRate: '0.9' } };
    // A doubtful start confirms first, which clears this run.
    const handle = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${body.partnerOrderId}`,
      args: [body],
    });
    expect(await handle.result()).toMatchObject({ outcome: 'SUCCESS' });
    const { rates } = control.settings();
    control.changeSettings({ rates: { ...rates, 'HKD/CNY': '0.8' } });
    await reset(body.partnerOrderId, 'quoteForClient');
    expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
    control.changeSettings({ rates });
    expect([createsOf(world, body).length, debitsOf(world, body)]).toEqual([1, 1]);
  });

  test('a cancel of the run after the reset does not stand against the order that is found', async () => {
    const body = bodyOf(newPartnerOrderId());
    await world.payouts.start(body);
    await world.payouts.result(body);
    const held = world.hold({ operation: 'fee' }, 'before');
    await reset(body.partnerOrderId, 'beginPayout');
    await eventually(held.arrived);
    await expect(world.payouts.cancel(body, { by: 'olga' })).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/had no effect/) },
    });
    held.release();
    expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
    const { reasons } = await world.payouts.state(body);
    expect(reasons.map(({ code }) => code)).toEqual(['CANCEL_TOO_LATE']);
    expect(createsOf(world, body).length).toBe(1);
  });

  test('after its end, to before a separate detail query: the order is found', async () => {
    const ref = await world.payWithFault({ kind: 'status', status: 429 }, 'success', 'queryPayDetail');
    await world.payouts.result(ref);
    await reset(ref.partnerOrderId, 'fetchTradeDetail');
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect(createsOf(world, ref).length).toBe(1);
  });

  test('during the create: one POST', async () => {
    const body = bodyOf(newPartnerOrderId());
    const held = world.holdCreate(body.partnerOrderId, 'before');
    await world.payouts.start(body);
    await eventually(held.arrived);
    await reset(body.partnerOrderId, 'createPayout');
    held.release();
    const state = await world.until(body, ({ phase }) => phase === 'DONE' || phase === 'NEEDS_REVIEW');
    expect(createsOf(world, body).length).toBe(1);
    expect(debitsOf(world, body)).toBe(state.phase === 'DONE' ? 1 : 0);
  });

  test('before anything was sent: no other run has started a create, so it is created, once', async () => {
    const body = { ...bodyOf(newPartnerOrderId()), approval: 'required' as const };
    await world.payouts.start(body);
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await reset(body.partnerOrderId, 'beginPayout');
    const { quote } = await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.payouts.approve(body, { by: 'olga', lockRateId: quote?.lockRateId });
    expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
    expect(createsOf(world, body).length).toBe(1);
  });
});
