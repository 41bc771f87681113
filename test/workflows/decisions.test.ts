/** A person's decision and an order that appears, each while the other is being processed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FaultInput } from '../../simulator/index.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { CREATE_SENT } from '../../src/contract/memo.ts';
import type { PayoutState } from '../../src/contract/payout.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf } from '../support/ledger.ts';
import { payoutRequest } from '../support/requests.ts';
import { NO_POLLS, newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

const by = 'olga';
const UNREADABLE: FaultInput = { kind: 'envelope', code: 900000 };
const FORBIDDEN: FaultInput = { kind: 'status', status: 403 };
const codes = (reasons: readonly { code: string }[]) => reasons.map(({ code }) => code);
const isReviewed = ({ phase }: PayoutState) => phase === 'NEEDS_REVIEW';

let world: TestWorld;
let windowed: TestWorld;
beforeAll(async () => {
  // Only a person makes these payouts query the provider, so each test determines the order of events.
  world = await startWorld({ env: NO_POLLS });
  // The only way to a review without a known order leads through the confirmation window.
  windowed = await startWorld({
    env: { ...NO_POLLS, PAYMENTS_CALL_TIMEOUT: '30s', PAYOUTS_CONFIRMATION_WINDOW: '1ms' },
  });
});
afterAll(async () => {
  await world.stop();
  await windowed.stop();
});

/** A payout that confirms before it creates, because its memo does not say that it is new. */
async function startDoubtful(body: PayoutRequest, { client } = world): Promise<void> {
  await client.workflow.start('payout', {
    taskQueue: 'payouts',
    workflowId: `payout:default:${body.partnerOrderId}`,
    args: [body],
  });
}

/** A payout that finds another order under its partnerOrderId, which sends it to review without a wait. */
async function payReviewed(
  over: Partial<PayoutRequest> = {},
  there = world,
): Promise<PayoutRef & { orderId: string }> {
  const body = payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=0s', ...over });
  const { partnerOrderId } = body;
  const { orderId } = there.simulator.control.plantOrder({ partnerOrderId, scenario: 'slow final=1h' });
  await startDoubtful(body, there);
  await there.until(body, isReviewed);
  return { partnerOrderId, orderId };
}

async function isVoided(resolved: Promise<unknown>, orderId: string): Promise<void> {
  await expect(resolved).rejects.toMatchObject({
    cause: { type: 'NotAcceptedNow', message: `order ${orderId} has appeared since the decision` },
  });
}

async function endsWell(ref: PayoutRef, orderId?: string): Promise<void> {
  await world.until(ref, ({ phase }) => phase === 'PROCESSING');
  await world.payouts.poll(ref);
  expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS', ...(orderId && { orderId }) });
}

describe('H103 an order appears', () => {
  test('a decision to end does not stand against an order that was unknown when it was made', async () => {
    const endsAndFinds = async (ref: PayoutRef) => {
      const { orderId } = windowed.simulator.control.plantOrder(ref);
      await isVoided(windowed.payouts.resolve(ref, { by, created: false, then: 'end' }), orderId);
      const state = await windowed.payouts.state(ref);
      expect(state).toMatchObject({ phase: 'NEEDS_REVIEW', needsAttention: true });
      expect(state.sentence).toContain(orderId);
    };
    const differing = await windowed.payWithFault({ kind: 'drop-before' }, 'success');
    const unread = await windowed.payWithFault({ kind: 'drop-before' }, 'success');
    for (const ref of [differing, unread]) await windowed.until(ref, isReviewed);
    await endsAndFinds(differing);
    // By now the person has seen the order: the same decision counts.
    await windowed.payouts.resolve(differing, { by, created: false, then: 'end' });
    expect((await windowed.payouts.result(differing)).reason?.code).toBe('RESOLVED_NOT_CREATED');
    const rule = windowed.simulator.control.addFault({ operation: 'queryDetail', fault: UNREADABLE });
    await endsAndFinds(unread);
    windowed.simulator.control.removeFault(rule.id);
  });

  test.each([undefined, FORBIDDEN])(
    'between the decision to end and its use: the decision does not stand, whatever is answered then (%j)',
    async (fault) => {
      const { control } = windowed.simulator;
      const ref = await windowed.payWithFault({ kind: 'drop-before' }, 'success');
      await windowed.until(ref, isReviewed);
      const asked = windowed.hold({ operation: 'queryResult', ...ref, times: 1 }, 'before');
      if (fault) control.addFault({ operation: 'queryResult', ...ref, fault });
      const polled = windowed.payouts.poll(ref);
      await eventually(asked.arrived);
      const resolved = windowed.payouts.resolve(ref, { by, created: false, then: 'end' });
      await windowed.until(ref, ({ sentence }) => sentence.startsWith(`${by} has decided`));
      const { orderId } = control.plantOrder(ref);
      const voided = isVoided(resolved, orderId);
      asked.release();
      await polled;
      await voided;
    },
  );

  test('a decision about a payout whose workflow is terminated meanwhile is refused as one about an ended payout', async () => {
    const ref = await windowed.payWithFault({ kind: 'drop-before' }, 'success');
    await windowed.until(ref, isReviewed);
    const asked = windowed.hold({ operation: 'queryResult', ...ref, times: 1 }, 'before');
    const resolved = windowed.payouts.resolve(ref, { by, created: false, then: 'end' });
    const refused = expect(resolved).rejects.toMatchObject({
      name: 'EndedError',
      message: 'the workflow of this payout has ended',
    });
    await eventually(asked.arrived);
    await windowed.payouts.handle(ref).terminate();
    await refused;
    asked.release();
  });

  test('a cancellation that still waits for the provider shows as requested', async () => {
    const body = payoutRequest(newPartnerOrderId());
    const { partnerOrderId } = body;
    const asked = world.hold({ operation: 'queryResult', partnerOrderId, times: 1 }, 'before');
    await startDoubtful(body);
    await eventually(asked.arrived);
    const canceled = world.payouts.cancel(body, { by });
    const { sentence } = await world.until(body, (state) => state.sentence.includes(by));
    expect(sentence).toMatch(
      /^Cancellation requested by olga\. Confirming with the provider whether the order exists/,
    );
    asked.release();
    expect((await canceled).sentence).toBe('No order was created: canceled by olga.');
  });

  test('an unreadable order counts as a send: nothing is sent while it is invisible again', async () => {
    const { control } = world.simulator;
    const body = payoutRequest(newPartnerOrderId());
    const { partnerOrderId } = body;
    const { bankAccountNumber, bankAccountName, bankName } = body.receiver;
    const receiver = { bankAccountNumber, bankAccountName, bankName };
    control.plantOrder({ partnerOrderId, receiver, scenario: 'success final=0s' });
    const unread = control.addFault({ operation: 'queryDetail', fault: UNREADABLE });
    await startDoubtful(body);
    await world.until(body, ({ reasons }) => codes(reasons).includes('ORDER_NOT_COMPARED'));
    control.changeOrder(partnerOrderId, { visible: false });
    await world.payouts.poll(body);
    await expect(world.payouts.cancel(body, { by })).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/outcome is unknown/) },
    });
    expect((await world.payouts.handle(body).describe()).memo).toMatchObject(CREATE_SENT);
    control.removeFault(unread.id);
    control.changeOrder(partnerOrderId, { visible: true });
    await world.payouts.poll(body);
    await endsWell(body);
    expect(createsOf(world, body)).toEqual([]);
  });

  test('an order that a person names meanwhile is kept, whatever the provider answers for the payout', async () => {
    const { orderId, ...ref } = await payReviewed();
    const held = world.hold({ operation: 'queryDetail', times: 1 }, 'before');
    await world.payouts.poll(ref);
    await eventually(held.arrived);
    await world.payouts.resolve(ref, { by, created: true, orderId });
    held.release();
    world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
    const { phase } = await world.payouts.poll(ref);
    expect(phase).not.toBe('NEEDS_REVIEW');
    expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS', orderId });
  });
});

describe('H58 a decision to send again', () => {
  test('refuses every other decision until it has been used', async () => {
    const { orderId, ...ref } = await payReviewed();
    const asked = world.hold({ operation: 'queryResult', ...ref, times: 1 }, 'before');
    const refused = expect(
      world.payouts.resolve(ref, { by, created: false, then: 'retry' }),
    ).rejects.toMatchObject({ cause: { message: expect.stringMatching(/not sent again/) } });
    await eventually(asked.arrived);
    const others = [
      { created: false, then: 'end' },
      { created: true, orderId },
    ] as const;
    for (const other of others)
      await expect(world.payouts.resolve(ref, { by, ...other })).rejects.toMatchObject({
        cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/already being resolved/) },
      });
    asked.release();
    await refused;
    await world.payouts.resolve(ref, { by, created: true, orderId });
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
  });

  test('H205 that is repeated while it is carried out returns the state after it', async () => {
    const { orderId, ...ref } = await payReviewed({}, windowed);
    const { partnerOrderId } = ref;
    const decision = { by, created: true, orderId } as const;
    await windowed.payouts.resolve(ref, decision);
    const { control } = windowed.simulator;
    // The provider forgets the order for a while, so that a second review gets the same decision.
    const faults = [
      control.addFault({
        operation: 'queryResult',
        partnerOrderId,
        fault: { kind: 'envelope', code: 900004 },
      }),
      control.addFault({ operation: 'queryDetail', fault: { kind: 'envelope', code: 900002 } }),
    ];
    // The first one begins the confirmation window of 1 ms, and the second one ends it.
    await windowed.payouts.poll(ref);
    await windowed.payouts.poll(ref);
    await windowed.until(ref, isReviewed);
    for (const { id } of faults) control.removeFault(id);
    const held = windowed.hold({ operation: 'queryDetail', times: 1 }, 'before');
    const first = windowed.payouts.resolve(ref, decision);
    await eventually(held.arrived);
    const repeated = windowed.payouts.resolve(ref, decision);
    expect(isReviewed(await windowed.payouts.state(ref))).toBe(true);
    expect(isReviewed(await windowed.payouts.state(ref))).toBe(true);
    held.release();
    expect([(await first).phase, (await repeated).phase]).toEqual(['PROCESSING', 'PROCESSING']);
  });

  test('requires another approval, even after a refusal', async () => {
    const { orderId: _other, ...ref } = await payReviewed({ approval: 'required' });
    world.simulator.control.changeOrder(ref.partnerOrderId, { visible: false });
    const sendAgain = async () => {
      await world.payouts.resolve(ref, { by, created: false, then: 'retry' });
      return world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    };
    await sendAgain();
    await world.payouts.refuse(ref, { by });
    await world.until(ref, ({ sentence }) => sentence.includes('APPROVAL_REFUSED'));
    const { quote } = await sendAgain();
    await world.payouts.approve(ref, { by, lockRateId: quote?.lockRateId });
    await endsWell(ref);
    expect(createsOf(world, ref).length).toBe(1);
  });
});

describe("H9 updates work after Temporal's own cancellation", () => {
  test('poll and resolve', async () => {
    const { orderId, ...ref } = await payReviewed();
    await world.payouts.handle(ref).cancel();
    await world.until(ref, ({ reasons }) => codes(reasons).includes('CANCEL_TOO_LATE'));
    expect((await world.payouts.poll(ref)).phase).toBe('NEEDS_REVIEW');
    world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
    await world.payouts.resolve(ref, { by, created: true, orderId });
    await endsWell(ref, orderId);
  });

  test('cancel of a payout that is being confirmed counts, because nothing has been sent', async () => {
    const body = payoutRequest(newPartnerOrderId());
    const { partnerOrderId } = body;
    const asked = world.hold({ operation: 'queryResult', partnerOrderId, times: 1 }, 'before');
    await startDoubtful(body);
    await eventually(asked.arrived);
    await world.payouts.handle(body).cancel();
    const said = world.payouts.cancel(body, { by });
    asked.release();
    expect(await said).toMatchObject({
      phase: 'DONE',
      outcome: 'NOT_CREATED',
      reason: { code: 'CANCELLED' },
    });
    expect(createsOf(world, body)).toEqual([]);
  });
});

describe('H39 a long history', () => {
  test('a decision to send again is carried out, because the run that confirmed it continues', async () => {
    const { orderId: _other, ...ref } = await payReviewed();
    world.simulator.control.changeOrder(ref.partnerOrderId, { visible: false });
    await world.lengthen(ref);
    await world.payouts.resolve(ref, { by, created: false, then: 'retry' });
    const state = await world.until(
      ref,
      ({ phase }) => createsOf(world, ref).length > 0 || phase === 'RECONCILING',
    );
    expect(state.phase).not.toBe('RECONCILING');
    await endsWell(ref);
    expect(createsOf(world, ref).length).toBe(1);
  });
});
