/** What a decision returns: the state that it has led to, in virtual time. */
import { beforeAll, describe, expect, inject, test } from 'vitest';
import type { FaultInput } from '../../simulator/index.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { PayoutWorld, partnerOrderIdOf } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';

const MINUTE = 60_000;
const by = 'olga';
const ref = { partnerOrderId: partnerOrderIdOf(1) };

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

async function scene(more: Partial<PayoutRequest> = {}, fault?: FaultInput) {
  const system = new PayoutWorld({ workflows, seed: 1, env: { PAYOUTS_CONFIRMATION_WINDOW: '1s' } });
  const { world, payouts, provider } = system;
  if (fault) provider.control.addFault({ operation: 'createCnyOrder', times: 1, fault });
  await world.finish(system.start(1, { platform: 'sim:success', ...more }));
  const until = async (phase: string) => {
    for (let looks = 0; looks < 1_000; looks += 1) {
      const state = await world.finish(payouts.state(ref)).catch(() => undefined);
      if (state?.phase === phase) return state;
      await world.run({ withinMs: 1_000 });
    }
    throw new Error(`the payout never got to ${phase}`);
  };
  const finish = <T>(work: Promise<T>) => world.finish(work, 10 * MINUTE);
  return {
    ...system,
    control: provider.control,
    pass: (ms: number) => world.run({ withinMs: ms }),
    until,
    finish,
  };
}

const inReview = async () => {
  const system = await scene({}, { kind: 'drop-before' });
  await system.until('NEEDS_REVIEW');
  return system;
};

describe('H205 a decision returns the state after it', () => {
  test('approve', async () => {
    const { until, finish, payouts } = await scene({ approval: 'required' });
    await until('AWAITING_APPROVAL');
    const state = await finish(payouts.approve(ref, { by }));
    expect(state).toMatchObject({ phase: 'CREATING', sentence: 'Approved by olga. Creating the order.' });
  });

  test('approve after the lock has expired', async () => {
    const { until, finish, payouts, pass } = await scene({ approval: 'required' });
    await until('AWAITING_APPROVAL');
    await pass(2 * MINUTE);
    const state = await finish(payouts.approve(ref, { by }));
    expect(state.phase).toBe('QUOTING');
    expect(state.sentence).toMatch(/^Approved by olga\. Getting a quote/);
  });

  test('refuse, and the same refusal again', async () => {
    const { until, finish, payouts } = await scene({ approval: 'required' });
    await until('AWAITING_APPROVAL');
    const refusals = [payouts.refuse(ref, { by }), payouts.refuse(ref, { by })];
    for (const state of await finish(Promise.all(refusals)))
      expect(state).toMatchObject({ phase: 'DONE', reason: { code: 'APPROVAL_REFUSED' } });
  });

  test('resolve: the order exists', async () => {
    const { until, finish, payouts, control } = await scene(
      { platform: 'sim:slow final=1h readLag=2h' },
      { kind: 'drop-after' },
    );
    await until('NEEDS_REVIEW');
    control.changeOrder(ref.partnerOrderId, { visible: true });
    const [order] = control.ledgerOf(ref.partnerOrderId).orders;
    const state = await finish(payouts.resolve(ref, { by, created: true, orderId: order?.orderId ?? '' }));
    expect(state).toMatchObject({
      ...{ phase: 'PROCESSING', needsAttention: false, orderId: order?.orderId },
      sentence: 'Resolved by olga. The order exists.',
    });
  });

  test('resolve: end', async () => {
    const { finish, payouts } = await inReview();
    const state = await finish(payouts.resolve(ref, { by, created: false, then: 'end' }));
    expect(state).toMatchObject({ phase: 'DONE', outcome: 'NOT_CREATED', decisions: [{ by, then: 'end' }] });
  });

  test('resolve: retry', async () => {
    const { finish, payouts } = await inReview();
    const state = await finish(payouts.resolve(ref, { by, created: false, then: 'retry' }));
    expect(state).toMatchObject({ phase: 'QUOTING', needsAttention: false, decisions: [{ then: 'retry' }] });
    expect(state.sentence).toMatch(/^Resolved by olga\. /);
  });

  test('while the provider is asked once more, the state names the decision, which waits like its repetition', async () => {
    const { finish, payouts, control, pass, until } = await inReview();
    const delay: FaultInput = { kind: 'latency', ms: 10_000 };
    control.addFault({ operation: 'queryResult', times: 1, fault: delay });
    const decision = { by, created: false, then: 'end' } as const;
    const resolved = [payouts.resolve(ref, decision)];
    await pass(2_000);
    expect((await until('NEEDS_REVIEW')).sentence).toMatch(/^olga has decided/);
    resolved.push(payouts.resolve(ref, decision));
    for (const state of await finish(Promise.all(resolved))) expect(state.phase).toBe('DONE');
  });

  test('a decision that an order voids is refused, and is no decision', async () => {
    const { finish, payouts, control } = await inReview();
    const { orderId } = control.plantOrder(ref);
    const refused = payouts
      .resolve(ref, { by, created: false, then: 'end' })
      .catch((error: unknown) => error);
    expect(await finish(refused)).toMatchObject({
      cause: { type: 'NotAcceptedNow', message: `order ${orderId} has appeared since the decision` },
    });
    const state = await finish(payouts.state(ref));
    expect(state).toMatchObject({ phase: 'NEEDS_REVIEW', needsAttention: true });
    expect(state.decisions).toBeUndefined();
  });

  test('poll: not after a query that was under way before', async () => {
    const { until, finish, payouts, control, pass } = await scene({
      platform: 'sim:slow final=1h notify=none',
    });
    await until('PROCESSING');
    control.addFault({ operation: 'queryResult', times: 1, fault: { kind: 'latency', ms: 10_000 } });
    const first = payouts.poll(ref);
    await pass(5_000);
    const second = payouts.poll(ref);
    await finish(first);
    control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
    expect((await finish(second)).phase).toBe('DONE');
  });
});

describe('H206 a payout that has ended', () => {
  test('keeps no flag that asks to resolve it', async () => {
    const { finish, payouts } = await inReview();
    const state = await finish(payouts.resolve(ref, { by, created: false, then: 'end' }));
    expect(state.reasons).toEqual([]);
    expect(await finish(payouts.state(ref))).toMatchObject({ phase: 'DONE', needsAttention: false });
  });
});
