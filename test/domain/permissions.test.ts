/** Who must approve what. */
import { expect, test } from 'vitest';
import { requiresApproval } from '../../src/domain/permissions.ts';

test('H328 a start without its starter has the limits of all callers', () => {
  const callers = { shop: { CNY: '100.00' }, desk: { CNY: '9000.00' } };
  const required = (amount: string, startedBy?: string) =>
    requiresApproval({ callers }, { currency: 'CNY', amount }, startedBy);
  expect([required('500.00', 'desk'), required('500.00', 'shop')]).toEqual([false, true]);
  expect([required('500.00'), required('50.00')]).toEqual([true, false]);
});
