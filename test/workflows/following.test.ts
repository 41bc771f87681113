import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { eventually } from '../support/eventually.ts';
import { debitsOf } from '../support/ledger.ts';
import { newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

/** In order of arrival. */
function queriesOf(world: TestWorld, { partnerOrderId }: PayoutRef): string[] {
  const calls = world.simulator.control.calls({ partnerOrderId });
  return calls.map(({ operation }) => operation).filter((name) => /^query(Result|PayDetail)$/.test(name));
}

const codes = (reasons: readonly { code: string }[]) => reasons.map(({ code }) => code);

describe('a created order is followed to its end', () => {
  let world: TestWorld;
  beforeAll(async () => {
    // Long timeouts: no test here may have calls that repeat because the machine is slow.
    world = await startWorld({ env: { PAYMENTS_CALL_TIMEOUT: '20s' } });
  });
  afterAll(() => world.stop());

  test.each([
    ['success', 'SUCCESS', 1],
    ['split splits=4', 'SUCCESS', 4],
    ['partial splits=3 failed=1', 'PARTIAL_SUCCESS', 3],
    ['failure', 'FAILED', 1],
    ['failure detail=none', 'FAILED', 0],
    ['rejected', 'FAILED', 0],
  ])('%s ends as %s with %d splits, whose sums agree', async (scenario, outcome, splits) => {
    const ref = await world.pay(scenario);
    const result = await world.payouts.result(ref);
    expect(result.outcome).toBe(outcome);
    expect(result.splits.length).toBe(splits);
    expect(result.learnedBy).toBe('poll');
    expect(result.reason?.code).toBe(outcome === 'FAILED' ? 'PROVIDER_FAILED' : undefined);
    expect(debitsOf(world, ref)).toBe(1);
    expect((await world.payouts.state(ref)).phase).toBe('DONE');
  });

  test.each([
    { kind: 'status', status: 429 },
    { kind: 'html-502' },
    { kind: 'drop-before' },
    { kind: 'drop-after' },
    { kind: 'garbage' },
  ] as const)('a detail withheld by $kind is queried once more, and the result is not', async (fault) => {
    const ref = await world.payWithFault(fault, 'success final=0s', 'queryPayDetail');
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect(queriesOf(world, ref)).toEqual(['queryResult', 'queryPayDetail', 'queryPayDetail']);
  });

  test('the detail is not queried while the order is open', async () => {
    const ref = await world.pay('stuck');
    await eventually(() => queriesOf(world, ref).length > 2 || undefined);
    expect(new Set(queriesOf(world, ref))).toEqual(new Set(['queryResult']));
    await world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
    await world.payouts.result(ref);
    expect(queriesOf(world, ref).slice(-2)).toEqual(['queryResult', 'queryPayDetail']);
  });

  test('H14 the largest amount keeps every digit', async () => {
    const ref = await world.pay('success', {
      originCurrency: 'CNY',
      instructedAmount: { currency: 'CNY', amount: '9007199254740993.01' },
    });
    const result = await world.payouts.result(ref);
    expect(result.received).toEqual({ currency: 'CNY', amount: '9007199254740993.01' });
    expect(result.splits[0]?.target.amount).toBe('9007199254740993.01');
  });

  test('H23 a late detail is queried again, and never read as zero', async () => {
    const ref = await world.pay('stuck');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    const { control } = world.simulator;
    const late = { pay_account_detail: [], pay_distribute_detail: [] };
    control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS', answers: { queryPayDetail: late } });
    await world.until(ref, ({ reasons }) => codes(reasons).includes('DETAIL_MISSING'));
    control.changeOrder(ref.partnerOrderId, { answers: { queryPayDetail: null } });
    const result = await world.payouts.result(ref);
    expect(result.splits.length).toBe(1);
    expect((await world.payouts.state(ref)).needsAttention).toBe(false);
  });

  test('H18 sums that disagree are queried again, then flagged, and accepted only once they agree', async () => {
    const short = await world.pay('sums-wrong answers=2');
    const lasting = await world.pay('sums-wrong');
    expect((await world.payouts.result(short)).outcome).toBe('SUCCESS');
    const state = await world.until(lasting, ({ reasons }) => codes(reasons).includes('DETAIL_DISAGREES'));
    expect(state.outcome).toBeUndefined();
    expect(state.phase).toBe('FETCHING_DETAIL');
  });

  test.each(['returned', 'declined'])(
    'H24 an order sent back for material (%s) is flagged, and polling continues',
    async (scenario) => {
      const ref = await world.pay(scenario);
      const state = await world.until(ref, ({ reasons }) => codes(reasons).includes('AWAITING_MATERIAL'));
      expect(state.auditStatus).toBe('RETURNED');
      await eventually(async () => (await attention(ref.partnerOrderId)) === true || undefined);
      world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
      expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
      expect((await world.payouts.state(ref)).reasons).toEqual([]);
    },
  );

  test('H24 an unspecified status is kept verbatim, and is not final', async () => {
    const ref = await world.pay('unknown-status status=SETTLED_ODDLY');
    const state = await world.until(ref, ({ reasons }) => codes(reasons).includes('UNKNOWN_STATUS'));
    expect(state.reasons.map(({ message }) => message).join()).toMatch(/SETTLED_ODDLY/);
    expect(state.outcome).toBeUndefined();
  });

  test('H21 the trade query takes precedence over the order query, and the conflict is flagged', async () => {
    // The order query runs only when the answer to the create was lost.
    const ref = await world.payWithFault({ kind: 'drop-after' }, 'v2-disagrees final=0s');
    const result = await world.payouts.result(ref);
    expect(result.outcome).toBe('SUCCESS');
    expect(codes((await world.payouts.state(ref)).reasons)).toContain('PROVIDER_CONTRADICTS_ITSELF');
  });

  test('H25 times in seconds and an empty create_time are read or omitted, and have no effect', async () => {
    const ref = await world.pay('failure detail=none');
    const result = await world.payouts.result(ref);
    expect(result.createdAt).toBeUndefined();
    expect(result.outcome).toBe('FAILED');
  });

  test('H27 H28 a query that the provider calls illegal does not fail the payout', async () => {
    const partnerOrderId = newPartnerOrderId();
    const ref = await world.pay('success', { partnerOrderId });
    const rule = await world.simulator.control.addFault({
      operation: 'queryResult',
      partnerOrderId,
      fault: { kind: 'envelope', code: 900002 },
    });
    const state = await world.until(ref, ({ reasons }) => codes(reasons).includes('PROVIDER_NOT_ANSWERING'));
    expect(state.outcome).toBeUndefined();
    expect(state.reasons.map(({ message }) => message).join()).toMatch(/ILLEGAL_PARAMETER/);
    await world.simulator.control.removeFault(rule.id);
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect((await world.payouts.state(ref)).reasons).toEqual([]);
  });

  test('H28 queries that fail indefinitely leave the payout open, with the time of the last answer', async () => {
    const partnerOrderId = newPartnerOrderId();
    const rule = await world.simulator.control.addFault({
      operation: 'queryResult',
      partnerOrderId,
      kinds: [
        { kind: 'html-502' },
        { kind: 'drop-before' },
        { kind: 'envelope', code: 900000 },
        { kind: 'garbage' },
      ],
    });
    const ref = await world.pay('success', { partnerOrderId });
    const state = await world.until(ref, ({ reasons }) => codes(reasons).includes('PROVIDER_NOT_ANSWERING'));
    expect(Date.parse(state.lastAskedAt ?? '')).toBeGreaterThan(Date.parse(state.lastConfirmedAt ?? ''));
    await world.simulator.control.removeFault(rule.id);
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  });

  test('H15 an answer with another client or partnerOrderId is rejected', async () => {
    const partnerOrderId = newPartnerOrderId();
    const ref = await world.pay('stuck', { partnerOrderId });
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    world.simulator.control.changeOrder(partnerOrderId, { echoClientId: 'somebody-else' });
    const state = await world.until(ref, ({ reasons }) => codes(reasons).includes('PROVIDER_NOT_ANSWERING'));
    expect(state.outcome).toBeUndefined();
    world.simulator.control.changeOrder(partnerOrderId, { echoClientId: null, status: 'SUCCESS' });
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  });

  test('a call that waits too long for its answer is flagged until the answer comes', async () => {
    const impatient = await startWorld({ env: { PAYOUTS_CALL_WAITS: '1s' } });
    try {
      const rule = impatient.simulator.control.addFault({
        operation: 'fee',
        fault: { kind: 'status', status: 503 },
      });
      const ref = await impatient.pay('success');
      // The previous call may also have waited that long.
      await impatient.until(
        ref,
        ({ phase, reasons }) => phase === 'QUOTING' && codes(reasons).includes('CALL_WAITS'),
      );
      const seen = async () => (await impatient.payouts.handle(ref).describe()).searchAttributes;
      await eventually(async () => {
        const { PayoutNeedsAttention, PayoutReasons, PayoutPhase } = await seen();
        const isFlagged = PayoutNeedsAttention?.[0] === true && PayoutReasons?.join() === 'CALL_WAITS';
        return (isFlagged && PayoutPhase?.[0] === 'QUOTING') || undefined;
      });
      impatient.simulator.control.removeFault(rule.id);
      expect((await impatient.payouts.result(ref)).outcome).toBe('SUCCESS');
      expect((await impatient.payouts.state(ref)).reasons).toEqual([]);
      const { PayoutNeedsAttention, PayoutReasons } = await seen();
      expect([PayoutNeedsAttention, PayoutReasons ?? []]).toEqual([[false], []]);
    } finally {
      await impatient.stop();
    }
  });

  test('a payout that stays open for too long is flagged as stuck', async () => {
    const slow = await startWorld({ env: { PAYOUTS_OVERDUE_AFTER: '1s' } });
    try {
      const ref = await slow.pay('stuck');
      const state = await slow.until(ref, ({ reasons }) => codes(reasons).includes('ORDER_OVERDUE'));
      expect(state.phase).toBe('PROCESSING');
    } finally {
      await slow.stop();
    }
  });

  async function attention(partnerOrderId: string): Promise<unknown> {
    const { searchAttributes } = await world.payouts.handle({ partnerOrderId }).describe();
    return searchAttributes['PayoutNeedsAttention']?.[0];
  }
});
