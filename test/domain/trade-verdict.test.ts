import { describe, expect, test } from 'vitest';
import type { Money } from '../../src/contract/money.ts';
import type { AgreedQuote } from '../../src/contract/payout.ts';
import type { TradeDetail, TradeResult, TradeSplit } from '../../src/contract/provider-records.ts';
import {
  auditStatusOf,
  disagreement,
  type ExpectedTrade,
  finalAttention,
  finalStatus,
  tradeAttention,
} from '../../src/domain/payout-trade.ts';

const cny = (amount: string) => ({ currency: 'CNY', amount });

function result(over: Partial<TradeResult> = {}): TradeResult {
  return {
    orderId: 'o-1',
    clientId: 'c-1',
    partnerOrderId: 'p-1',
    complete: true,
    received: cny('70.00'),
    failed: cny('30.00'),
    targetCurrency: 'CNY',
    status: 'PARTIAL_SUCCESS',
    auditStatus: 'APPROVED',
    ...over,
  };
}

const expected = (target?: Money): ExpectedTrade => ({ targetCurrency: 'CNY', target });

function split(status: string, amount: string, over: Partial<TradeSplit> = {}): TradeSplit {
  return { distributeId: `d-${amount}`, target: cny(amount), status, refunded: false, ...over };
}

function detail(over: Partial<TradeDetail> = {}): TradeDetail {
  return {
    orderId: 'o-1',
    clientId: 'c-1',
    partnerOrderId: 'p-1',
    complete: true,
    received: cny('70.00'),
    failed: cny('30.00'),
    targetCurrency: 'CNY',
    status: 'PARTIAL_SUCCESS',
    debits: [],
    splits: [
      split('SUCCESS', '40.00'),
      split('SUCCESS', '30.00'),
      split('FAILED', '30.00', { distributeId: 'd-f' }),
    ],
    ...over,
  };
}

describe('H20 a status is final only when every payment is complete', () => {
  const statuses = ['PROCESSING', 'SUCCESS', 'PARTIAL_SUCCESS', 'FAILED', 'SETTLED', ''];
  const rows = statuses.flatMap((status) =>
    [true, false].flatMap((complete) =>
      ['CNY', 'USD'].map((targetCurrency) => ({ status, complete, targetCurrency })),
    ),
  );
  test.each(rows)('$status, complete $complete, to $targetCurrency', (trade) => {
    const named = ['SUCCESS', 'PARTIAL_SUCCESS', 'FAILED'].includes(trade.status);
    const open = trade.targetCurrency === 'CNY' && !trade.complete;
    expect(finalStatus(trade)).toBe(named && !open ? trade.status : undefined);
  });
});

describe('H24 unspecified statuses are not final and are flagged', () => {
  test.each(['RETURNED', 'DECLINED'])('%s waits for material', (auditStatus) => {
    expect(auditStatusOf(auditStatus)).toBe('RETURNED');
    const seen = tradeAttention(result({ status: 'PROCESSING', auditStatus }));
    expect(seen.map(({ code }) => code)).toEqual(['AWAITING_MATERIAL']);
  });
  test('reports an unknown status and an unknown audit status verbatim', () => {
    const seen = tradeAttention(result({ status: 'SETTLED', auditStatus: 'PENDING_X' }));
    expect(seen.map(({ code }) => code).sort()).toEqual(['UNKNOWN_AUDIT_STATUS', 'UNKNOWN_STATUS']);
    expect(seen.map(({ message }) => message).join()).toMatch(/SETTLED/);
    expect(seen.map(({ message }) => message).join()).toMatch(/PENDING_X/);
    expect(finalStatus(result({ status: 'SETTLED' }))).toBeUndefined();
  });
  test('reports nothing for an ordinary open or ended trade', () => {
    expect(tradeAttention(result({ status: 'PROCESSING', auditStatus: 'PROCESSING' }))).toEqual([]);
    expect(tradeAttention(result())).toEqual([]);
    expect(tradeAttention(result({ status: 'FAILED', auditStatus: 'REJECTED' }))).toEqual([]);
  });
});

describe('H18 result and detail are accepted only when every sum and flag agrees', () => {
  const target = expected(cny('100.00'));
  test('accepts matching answers', () => {
    expect(disagreement(result(), detail(), target)).toBeUndefined();
  });
  const good = detail();
  const mutations: [string, Partial<TradeDetail>, RegExp][] = [
    ['another order', { orderId: 'o-2' }, /different orders/],
    ['another status', { status: 'SUCCESS' }, /the detail SUCCESS/],
    ['another currency', { targetCurrency: 'USD' }, /in CNY, the detail in USD/],
    ['payments still open', { complete: false }, /still open/],
    ['another received sum', { received: cny('70.01') }, /received is/],
    ['another failed sum', { failed: cny('29.99') }, /failed is/],
    ['no payments', { splits: [] }, /no split is listed/],
    ['a payment less', { splits: good.splits.slice(1) }, /succeeded add up to 30.00/],
    [
      'a payment of another amount',
      { splits: [split('SUCCESS', '40.01'), ...good.splits.slice(1)] },
      /add up to 70.01/,
    ],
    ['a failed payment less', { splits: good.splits.slice(0, 2) }, /failed add up to 0.00/],
    [
      'an unknown payment status',
      { splits: [split('PENDING', '40.00'), ...good.splits.slice(1)] },
      /unknown status PENDING/,
    ],
    [
      'a payment in another currency',
      {
        splits: [
          split('SUCCESS', '40.00', { target: { currency: 'USD', amount: '40.00' } }),
          ...good.splits.slice(1),
        ],
      },
      /is in USD/,
    ],
  ];
  test.each(mutations)('rejects %s', (_name, over, why) => {
    expect(disagreement(result(), detail(over), target)).toMatch(why);
  });
  test('both sums together must equal the amount of the order', () => {
    expect(disagreement(result(), detail(), expected(cny('100.01')))).toMatch(/order was for 100.01/);
  });
  test('the status must match the payments', () => {
    const all = [split('SUCCESS', '70.00')];
    const wrong = disagreement(
      result({ status: 'PARTIAL_SUCCESS', failed: cny('0.00') }),
      detail({ splits: all, failed: cny('0.00') }),
      expected(cny('70.00')),
    );
    expect(wrong).toMatch(/1 of 1 splits succeeded/);
  });
});

describe('H23 an empty detail is never read as zero', () => {
  test.each(['SUCCESS', 'PARTIAL_SUCCESS'])('%s without payments stays open', (status) => {
    expect(disagreement(result({ status }), detail({ status, splits: [] }), expected())).toMatch(/no split/);
  });
  test('accepts FAILED without payments: nothing was executed', () => {
    const failed = { status: 'FAILED', received: cny('0.00'), failed: cny('100.00') };
    expect(
      disagreement(result(failed), detail({ ...failed, splits: [] }), expected(cny('100.00'))),
    ).toBeUndefined();
  });
});

describe('H57 a contradiction gives no verdict', () => {
  const nothing = { status: 'FAILED', received: cny('0.00'), failed: cny('0.00') };
  test('FAILED with money received', () => {
    const failed = { ...nothing, received: cny('100.00') };
    expect(disagreement(result(failed), detail({ ...failed, splits: [] }), expected())).toMatch(/received/);
  });
  test('FAILED with another amount than requested', () => {
    const failed = { ...nothing, failed: cny('99.00') };
    const why = disagreement(result(failed), detail({ ...failed, splits: [] }), expected(cny('100.00')));
    expect(why).toMatch(/order was for 100.00/);
  });
  test('a trade in another currency than requested', () => {
    const why = disagreement(result(), detail(), { targetCurrency: 'EUR', target: undefined });
    expect(why).toMatch(/, not EUR/);
  });
  test('two payments with one id', () => {
    const twice = [split('SUCCESS', '35.00'), split('SUCCESS', '35.00'), split('FAILED', '30.00')];
    expect(disagreement(result(), detail({ splits: twice }), expected())).toMatch(/same id/);
  });
  test('sums beyond 18 digits are exact', () => {
    const most = '9999999999999999.99';
    const splits = ['a', 'b'].map((distributeId) => split('SUCCESS', most, { distributeId }));
    const over = { status: 'SUCCESS', received: cny(most), failed: cny('0.00') };
    expect(disagreement(result(over), detail({ ...over, splits }), expected())).toMatch(
      /add up to 19999999999999999.98/,
    );
  });
});

describe('H22 H13 attention flags at the end', () => {
  const usd = (amount: string) => ({ currency: 'USD', amount });
  const quote: AgreedQuote = {
    lockRateId: 'l',
    exchangeRate: '7',
    pay: usd('14.10'),
    target: cny('100.00'),
    fee: usd('0.10'),
  };
  const debit = (pay: Money) => ({
    accountId: 'a-1',
    accountType: 'AVAIL_ACCOUNT',
    pay,
    fee: usd('0.10'),
    actual: usd('14.00'),
  });
  const codes = (...args: Parameters<typeof finalAttention>) =>
    finalAttention(...args).map(({ code }) => code);

  test('a payment that was returned before the end', () => {
    const splits = [split('SUCCESS', '100.00', { refunded: true })];
    expect(codes('SUCCESS', detail({ splits }), quote)).toEqual(['PAYMENT_RETURNED']);
    const failed = [split('FAILED', '100.00', { refunded: true })];
    expect(codes('FAILED', detail({ splits: failed }), quote)).toEqual([]);
  });
  test.each([
    ['SUCCESS', '14.10', []],
    ['SUCCESS', '14.09', ['DEBITS_DIFFER_FROM_QUOTE']],
    ['SUCCESS', '14.11', ['DEBITS_DIFFER_FROM_QUOTE']],
    ['PARTIAL_SUCCESS', '9.00', []],
    ['FAILED', '14.11', ['DEBITS_DIFFER_FROM_QUOTE']],
  ] as const)('%s with %s debited of 14.10', (status, amount, expectedCodes) => {
    expect(codes(status, detail({ debits: [debit(usd(amount))] }), quote)).toEqual(expectedCodes);
  });
  test('debits in another currency, and several debits that add up', () => {
    const foreign = detail({ debits: [debit(cny('14.10'))] });
    expect(codes('SUCCESS', foreign, quote)).toEqual(['DEBITS_DIFFER_FROM_QUOTE']);
    const several = detail({ debits: [debit(usd('10.10')), debit(usd('4.00'))] });
    expect(codes('SUCCESS', several, quote)).toEqual([]);
    expect(codes('SUCCESS', detail(), quote)).toEqual([]);
  });
});
