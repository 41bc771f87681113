import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomRecord } from '../../simulator/answers/random-answer.ts';
import type { OperationName } from '../../simulator/index.ts';
import type { CheckedPayoutRequest } from '../../src/contract/payout-request.ts';
import type { PayoutOrder, Quote, TradeDetail, TradeResult } from '../../src/contract/provider-records.ts';
import { orderMismatch, quoteMismatch, statusContradiction } from '../../src/domain/payout-order.ts';
import { accountProblem, agreedQuote, quoteProblem, withinApproval } from '../../src/domain/payout-quote.ts';
import { PayoutRecord } from '../../src/domain/payout-record.ts';
import { payoutState } from '../../src/domain/payout-state.ts';
import {
  disagreement,
  finalAttention,
  finalStatus,
  tradeAttention,
  verifiedResult,
} from '../../src/domain/payout-trade.ts';
import { readExactJson } from '../../src/payments/exact-json.ts';
import {
  accountsResponse,
  payoutOrderResponse,
  quoteResponse,
  tradeDetailResponse,
  tradeResultResponse,
} from '../../src/payments/wire/responses.ts';
import { payoutRequest } from '../support/requests.ts';

const request: CheckedPayoutRequest = { ...payoutRequest('p-1'), app: 'default', approval: 'none' };
const RUNS = 3_000;

/** Answers that the spec's tables allow, read as the provider client reads them; undefined if it rejects them. */
function answers<T>(operation: OperationName, schema: { safeParse(value: unknown): { data?: T } }) {
  return fc
    .integer({ min: 0 })
    .map((seed) => schema.safeParse(readExactJson(Buffer.from(randomRecord(operation, seed)))).data);
}

interface Drawn {
  result: TradeResult;
  detail: TradeDetail;
  order: PayoutOrder;
  quote: Quote;
}

/** Everything that the payout workflow derives from its answers. */
function judge({ result, detail, order, quote }: Drawn, targetCurrency: string): void {
  const agreed = agreedQuote(quote);
  tradeAttention(result);
  statusContradiction(order.status, result);
  orderMismatch(order, request, 'visible');
  quoteMismatch(order, agreed);
  payoutState({ ...new PayoutRecord(0), trade: result, quote: agreed }, { partnerOrderId: 'p-1' });
  const status = finalStatus(result);
  const why = disagreement(result, detail, { targetCurrency, target: order.target });
  if (!status) return;
  finalAttention(status, detail, agreed);
  const settled = verifiedResult('p-1', {
    ...{ status, trade: result, detail, learnedBy: 'poll' },
    order: { orderId: result.orderId, quote: agreed },
  });
  if (why !== undefined) return;
  if (status === 'FAILED') expect(Number(settled.received?.amount)).toBe(0);
  if (status === 'SUCCESS') expect(Number(settled.failed?.amount)).toBe(0);
}

describe('H57 verdicts are total over everything that the wire schemas accept', () => {
  test('result and detail: no verdict throws, and an outcome adds up', () => {
    let read = 0;
    const property = fc.property(
      answers('queryResult', tradeResultResponse),
      answers('queryPayDetail', tradeDetailResponse),
      answers('queryDetail', payoutOrderResponse),
      answers('fee', quoteResponse),
      (result, detail, order, quote) => {
        if (!result || !detail || !order || !quote) return;
        read += 1;
        judge({ result, detail, order, quote }, 'CNY');
        // Unrelated random answers disagree at once. With equal heads, they reach the later checks.
        const { orderId, status, targetCurrency, complete } = result;
        const alike = { ...detail, orderId, status, targetCurrency, complete };
        judge({ result, detail: alike, order, quote }, targetCurrency);
      },
    );
    fc.assert(property, { numRuns: RUNS });
    expect(read).toBeGreaterThan(RUNS / 20);
  });

  test('quotes and accounts: no check throws', () => {
    const limits = {
      maxFee: { currency: 'USD', amount: '1.00' },
      minRate: '7.1',
      maxPay: { currency: 'USD', amount: '9' },
    };
    const property = fc.property(
      answers('fee', quoteResponse),
      answers('fee', quoteResponse),
      answers('accountQuery', accountsResponse),
      (quote, other, accounts) => {
        if (quote) quoteProblem({ ...request, limits }, quote);
        if (quote && other) withinApproval(agreedQuote(quote), agreedQuote(other));
        if (accounts !== undefined) accountProblem(accounts, 'USD');
      },
    );
    fc.assert(property, { numRuns: RUNS });
  });
});
