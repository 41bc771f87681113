/** The plans of the fault campaigns, and the judge that evaluates them. */
import { describe, expect, test } from 'vitest';
import { chaosPlan } from '../../chaos/plan.ts';
import type { LedgerOf } from '../../simulator/index.ts';
import type { PayoutResult } from '../../src/contract/payout.ts';
import { discrepancies } from '../../worlds/discrepancies.ts';

test('a seed determines payouts, faults, random answers and disruptions; another seed gives others', () => {
  expect(chaosPlan(7)).toEqual(chaosPlan(7));
  expect(chaosPlan(7)).not.toEqual(chaosPlan(8));
});

describe('the judge', () => {
  const money = { currency: 'CNY', amount: '100.00' };
  const split = { distributeId: 'd1', target: money, status: 'SUCCESS' as const, refunded: false };
  const order: LedgerOf['orders'][number] = {
    orderId: 'o1',
    partnerOrderId: 'p1',
    appId: 'a',
    payerId: 'payer',
    scenario: 'success',
    status: 'SUCCESS',
    auditStatus: 'APPROVED',
    beneficiary: { bankAccountNumber: '6222', bankAccountName: 'Li Lei', bankName: 'Bank' },
    complete: true,
    lockRateId: null,
    exchangeRate: '1',
    instructed: money,
    pay: money,
    target: money,
    fee: money,
    returned: money,
    splits: [split],
    refunds: 0,
    createdAt: '',
    finishedAt: null,
  };
  const ledger = (orders: LedgerOf['orders']): LedgerOf => ({
    partnerOrderId: 'p1',
    orders,
    creates: [],
    debits: orders.length,
    debited: [],
    notifications: [],
  });
  const nothing = { currency: 'CNY', amount: '0.00' };
  const debit = { accountId: 'a1', accountType: 'AVAIL_ACCOUNT', pay: money, fee: money, actual: nothing };
  const paid: PayoutResult = {
    partnerOrderId: 'p1',
    outcome: 'SUCCESS',
    orderId: 'o1',
    received: money,
    failed: nothing,
    debits: [debit],
    splits: [split],
  };
  const notCreated: PayoutResult = { partnerOrderId: 'p1', outcome: 'NOT_CREATED', debits: [], splits: [] };

  test('finds nothing where provider and payouts agree', () => {
    expect(discrepancies(paid, ledger([order]))).toEqual([]);
    expect(discrepancies(notCreated, ledger([]))).toEqual([]);
  });

  test.each([
    ['money that was debited twice', paid, [order, { ...order, orderId: 'o2' }], 'money left 2 times'],
    ['an existing order reported as not created', notCreated, [order], 'NOT_CREATED, and order o1 exists'],
    ['a reported order that does not exist', paid, [], 'order o1, and the provider knows none'],
    ['another outcome', paid, [{ ...order, status: 'FAILED' }], 'SUCCESS, and the provider says FAILED'],
    ['other splits', { ...paid, splits: [] }, [order], 'the splits are not those of the provider'],
    [
      'an unreported refund',
      paid,
      [{ ...order, splits: [{ ...split, refunded: true }] }],
      'the splits are not those of the provider',
    ],
    [
      'money that did not arrive',
      { ...paid, received: nothing },
      [order],
      'received 0.00 CNY, and the provider says 100.00 CNY',
    ],
    [
      'money that did not fail',
      { ...paid, failed: money },
      [order],
      'failed 100.00 CNY, and the provider says 0.00 CNY',
    ],
    [
      'a debit that was not made',
      { ...paid, debits: [debit, debit] },
      [order],
      'debited 200.00 CNY, and the provider says 100.00 CNY',
    ],
    [
      'a debit in another currency',
      { ...paid, debits: [{ ...debit, fee: { currency: 'USD', amount: '100.00' } }] },
      [order],
      'fee something else, and the provider says 100.00 CNY',
    ],
  ])('finds %s', (_, result, orders, text) => {
    expect(discrepancies(result, ledger(orders))).toContain(text);
  });
});
