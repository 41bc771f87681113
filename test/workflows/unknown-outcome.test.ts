import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FaultInput } from '../../simulator/index.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { CREATE_SENT } from '../../src/contract/memo.ts';
import type { PayoutState } from '../../src/contract/payout.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

/** The confirmation window begins where the create's own deadline ends: with a call timeout of 2 s, after 9 s. */
const SHORT_WINDOW = { PAYMENTS_CALL_TIMEOUT: '2s', PAYOUTS_CONFIRMATION_WINDOW: '1s' };

/** A busy machine may show it only in review. */
const isUnknown = ({ phase }: PayoutState) => phase === 'RECONCILING' || phase === 'NEEDS_REVIEW';
const codes = (reasons: readonly { code: string }[]) => reasons.map(({ code }) => code);

// In parallel, because each of them mostly waits.
describe.concurrent('H58 after a send of unknown outcome, only a person ends the payout NOT_CREATED', () => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await startWorld({ env: { ...SHORT_WINDOW, PAYMENTS_LOCK_LIFETIME: '3s' } });
  });
  afterAll(() => world.stop());

  /** A payout whose first create is answered 429 and held back as `shows`; then `change` runs. */
  async function afterBusy(
    over: Partial<PayoutRequest>,
    change: (ref: PayoutRef) => unknown,
  ): Promise<PayoutRef> {
    const partnerOrderId = newPartnerOrderId();
    const fault: FaultInput = { kind: 'rate-limited-but-executes', showAfterMs: 3_600_000 };
    world.simulator.control.addFault({ operation: 'createCnyOrder', partnerOrderId, times: 1, fault });
    const ref = await world.pay('success', { partnerOrderId, ...over });
    await eventually(() => createsOf(world, ref).length > 0 || undefined);
    await change(ref);
    return ref;
  }

  /** It stays open, and ends as the ledger says once the provider shows the order. */
  async function staysOpenUntilFound(ref: PayoutRef, because: string): Promise<void> {
    const state = await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    expect(state.sentence).toContain(because);
    await expect(world.payouts.cancel(ref, { by: 'olga' })).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow' },
    });
    world.simulator.control.changeOrder(ref.partnerOrderId, { visible: true });
    await world.payouts.poll(ref).catch(() => undefined);
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
  }

  test('the balance is gone', async () => {
    const id = newPartnerOrderId();
    const ref = await afterBusy({ clientId: id, payerId: id }, () =>
      world.simulator.control.setAccounts(id, [{ currency: 'USD', available: '0.01' }]),
    );
    await staysOpenUntilFound(ref, 'INSUFFICIENT_BALANCE');
  });

  test('the quote moved outside the limits', async () => {
    const ref = await afterBusy({ originCurrency: 'GBP', limits: { minRate: '8.5' } }, () =>
      world.simulator.control.changeSettings({
        rates: { ...world.simulator.control.settings().rates, 'GBP/CNY': '8.1' },
      }),
    );
    await staysOpenUntilFound(ref, 'QUOTE_OUT_OF_LIMITS');
  });

  test('a later create is refused', async () => {
    const ref = await afterBusy({}, ({ partnerOrderId }) =>
      world.simulator.control.addFault({
        operation: 'createCnyOrder',
        partnerOrderId,
        fault: { kind: 'envelope', code: 30005 },
      }),
    );
    const state = await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    expect(state.sentence).toContain('REFUSED_BY_PROVIDER');
    world.simulator.control.changeOrder(ref.partnerOrderId, { visible: true });
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect(debitsOf(world, ref)).toBe(1);
  });

  test('an approval of the new quote is refused', async () => {
    const partnerOrderId = newPartnerOrderId();
    const fault: FaultInput = { kind: 'rate-limited-but-executes', showAfterMs: 3_600_000 };
    world.simulator.control.addFault({ operation: 'createCnyOrder', partnerOrderId, times: 1, fault });
    const body = { partnerOrderId, approval: 'required', originCurrency: 'EUR' } as const;
    const ref = await world.pay('success', body);
    await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.payouts.approve(ref, { by: 'olga' });
    await eventually(() => createsOf(world, ref).length > 0 || undefined);
    world.simulator.control.changeSettings({
      rates: { ...world.simulator.control.settings().rates, 'EUR/CNY': '7.0' },
    });
    await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await expect(world.payouts.cancel(ref, { by: 'olga' })).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/outcome is unknown/) },
    });
    await world.payouts.refuse(ref, { by: 'olga' });
    await staysOpenUntilFound(ref, 'APPROVAL_REFUSED');
  });

  test('a person ends it, and the follow-up knows that a create was sent', async () => {
    const ref = await world.payWithFault({ kind: 'drop-before' }, 'success');
    await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    await world.payouts.resolve(ref, { by: 'olga', created: false, then: 'end' });
    const result = await world.payouts.result(ref);
    expect(result).toMatchObject({ outcome: 'NOT_CREATED', reason: { code: 'RESOLVED_NOT_CREATED' } });
    expect(debitsOf(world, ref)).toBe(0);
    expect((await world.payouts.handle(ref).describe()).memo).toMatchObject(CREATE_SENT);
  });

  test('the memo says so while it runs, and a run that is started again after retention confirms', async () => {
    const sent = await world.payWithFault({ kind: 'drop-before' }, 'success');
    await world.until(sent, isUnknown);
    const { memo } = await world.payouts.handle(sent).describe();
    expect(memo).toMatchObject(CREATE_SENT);
    // No other run under this partnerOrderId is left, so only the memo says that one has sent.
    const body = payoutRequest(newPartnerOrderId(), { platform: 'sim:success' });
    await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${body.partnerOrderId}`,
      args: [body],
      memo: CREATE_SENT,
    });
    await world.until(body, ({ phase }) => phase === 'NEEDS_REVIEW');
    expect(createsOf(world, body)).toEqual([]);
  });

  test("Temporal's own cancellation has no effect while the outcome is unknown", async () => {
    const ref = await afterBusy({}, () => undefined);
    await world.until(ref, isUnknown);
    await world.payouts.handle(ref).cancel();
    const state = await world.until(ref, ({ reasons }) => codes(reasons).includes('CANCEL_TOO_LATE'));
    expect(state.phase).not.toBe('DONE');
    world.simulator.control.changeOrder(ref.partnerOrderId, { visible: true });
    await world.payouts.poll(ref).catch(() => undefined);
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  });

  describe('H132 the provider no longer finds an order that it created', () => {
    async function denied(): Promise<PayoutRef> {
      const ref = await world.pay('stuck');
      await world.until(ref, ({ phase }) => phase === 'PROCESSING');
      const answers = { queryDetail: { orderId: 'another' } };
      world.simulator.control.changeOrder(ref.partnerOrderId, { visible: false, answers });
      const state = await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
      expect(codes(state.reasons)).toEqual(expect.arrayContaining(['ORDER_NOT_FOUND', 'NEEDS_REVIEW']));
      return ref;
    }

    test('it goes to review, and continues by itself once the order is found again', async () => {
      const ref = await denied();
      world.simulator.control.changeOrder(ref.partnerOrderId, {
        visible: true,
        status: 'SUCCESS',
        answers: { queryDetail: null },
      });
      expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
      expect([createsOf(world, ref).length, debitsOf(world, ref)]).toEqual([1, 1]);
      expect((await world.payouts.state(ref)).reasons).toEqual([]);
    });

    test('a person ends it', async () => {
      const ref = await denied();
      await world.payouts.resolve(ref, { by: 'olga', created: false, then: 'end' });
      expect((await world.payouts.result(ref)).reason?.code).toBe('RESOLVED_NOT_CREATED');
      expect(createsOf(world, ref)).toHaveLength(1);
    });
  });

  test('a refused first create ends the payout, and marks it for the follow-up', async () => {
    const ref = await world.payWithFault({ kind: 'envelope', code: 30005 }, 'success');
    expect((await world.payouts.result(ref)).outcome).toBe('NOT_CREATED');
    expect((await world.payouts.handle(ref).describe()).memo).toMatchObject(CREATE_SENT);
  });
});
