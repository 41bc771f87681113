import { expect, test } from 'vitest';
import { payoutResolution } from '../../src/starters/cli/decisions.ts';

test('H233 --trade-order-id binds the number of the trade queries to the order', () => {
  const bound = payoutResolution({ by: 'olga', created: 'PO1', tradeOrderId: 'T-1' });
  expect(bound).toEqual({ by: 'olga', created: true, orderId: 'PO1', tradeOrderId: 'T-1' });
  expect(payoutResolution({ by: 'olga', created: 'PO1' })).toEqual({
    by: 'olga',
    created: true,
    orderId: 'PO1',
  });
});
