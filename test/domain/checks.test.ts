import { describe, expect, test } from 'vitest';
import type { CheckedPayoutRequest } from '../../src/contract/payout-request.ts';
import type { ClientAccount, PayoutOrder, Quote, TradeResult } from '../../src/contract/provider-records.ts';
import { orderMismatch, quoteMismatch, statusContradiction } from '../../src/domain/payout-order.ts';
import {
  accountProblem,
  agreedQuote,
  coveredTerms,
  quoteProblem,
  withinApproval,
} from '../../src/domain/payout-quote.ts';
import { payoutRequest } from '../support/requests.ts';

const money = (currency: string, amount: string) => ({ currency, amount });

function account(over: Partial<ClientAccount> = {}): ClientAccount {
  return {
    accountType: 'AVAIL_ACCOUNT',
    available: money('USD', '100.00'),
    frozen: money('USD', '0.00'),
    currency: 'USD',
    status: 'NORMAL',
    ...over,
  };
}

function quote(over: Partial<Quote> = {}): Quote {
  return {
    lockRateId: 'lock-1',
    available: money('USD', '1000.00'),
    exchangeRate: '7.1000',
    originCurrency: 'USD',
    targetCurrency: 'CNY',
    pay: money('USD', '14.10'),
    target: money('CNY', '100.00'),
    fee: money('USD', '0.10'),
    ...over,
  };
}

function order(over: Partial<PayoutOrder> = {}): PayoutOrder {
  return {
    orderId: 'o-1',
    status: 'pending',
    pay: money('USD', '14.10'),
    target: money('CNY', '100.00'),
    fee: money('USD', '0.10'),
    lockRateId: 'lock-1',
    exchangeRate: '7.1',
    partnerOrderId: 'p-1',
    ...over,
  };
}

const request: CheckedPayoutRequest = { ...payoutRequest('p-1'), app: 'default', approval: 'none' };

describe('H17 only an account that can pay passes', () => {
  test('a normal available account passes', () => {
    expect(accountProblem({ clientId: 'c', accounts: [account()] }, 'USD')).toBeUndefined();
  });
  test.each([
    ['no account at all', null],
    ['an empty list', { clientId: 'c', accounts: [] }],
    ['another currency only', { clientId: 'c', accounts: [account({ currency: 'EUR' })] }],
    [
      'funds before the risk audit only',
      { clientId: 'c', accounts: [account({ accountType: 'TEMP_ACCOUNT' })] },
    ],
    ['an abnormal account', { clientId: 'c', accounts: [account({ status: 'ABNORMAL' })] }],
    ['a closed account', { clientId: 'c', accounts: [account({ status: 'CLOSED' })] }],
    ['a status nobody named', { clientId: 'c', accounts: [account({ status: 'FROZEN' })] }],
    [
      'one normal and one abnormal',
      { clientId: 'c', accounts: [account(), account({ status: 'ABNORMAL' })] },
    ],
  ])('%s does not pass', (_name, accounts) => {
    expect(accountProblem(accounts, 'USD')?.code).toBe('ACCOUNT_NOT_USABLE');
  });
  test('ignores an abnormal account in another currency', () => {
    const accounts = [account(), account({ currency: 'EUR', status: 'ABNORMAL' })];
    expect(accountProblem({ clientId: 'c', accounts }, 'USD')).toBeUndefined();
  });
  test.each([
    ['of this currency', { currency: 'usd', accountType: 'AVAIL_ACCOUNT' }],
    ['that does not name its type', { currency: 'USD' }],
    ['that does not name its currency', { accountType: 'AVAIL_ACCOUNT' }],
    ['that names nothing', {}],
  ])('refuses an unreadable row %s, beside a usable row and alone', (_which, row) => {
    for (const accounts of [[account()], []])
      expect(accountProblem({ clientId: 'c', accounts, unread: [row] }, 'USD')).toMatchObject({
        code: 'ACCOUNT_NOT_USABLE',
        message: expect.stringContaining('cannot be read'),
      });
  });
  test.each([
    ['of another currency', { currency: 'EUR', accountType: 'AVAIL_ACCOUNT' }],
    ['of a currency that is no code', { currency: 'USD (Hong Kong)' }],
    ['of funds before the risk audit', { currency: 'USD', accountType: 'TEMP_ACCOUNT' }],
  ])('ignores an unreadable row %s', (_which, row) => {
    expect(accountProblem({ clientId: 'c', accounts: [account()], unread: [row] }, 'USD')).toBeUndefined();
  });
});

describe('H221 a quote is accepted only within the limits', () => {
  test('accepts a quote without limits', () => {
    expect(quoteProblem(request, quote())).toBeUndefined();
  });
  test('H17 a balance that is too low', () => {
    expect(quoteProblem(request, quote({ available: money('USD', '14.09') }))?.code).toBe(
      'INSUFFICIENT_BALANCE',
    );
    expect(quoteProblem(request, quote({ available: money('USD', '14.10') }))).toBeUndefined();
  });
  const limited = (limits: CheckedPayoutRequest['limits']) => ({ ...request, limits });
  test.each([
    ['fee at the limit', { maxFee: money('USD', '0.10') }, true],
    ['fee over it', { maxFee: money('USD', '0.09') }, false],
    ['fee limit in another currency', { maxFee: money('CNY', '9.00') }, false],
    ['pay at the limit', { maxPay: money('USD', '14.10') }, true],
    ['pay over it', { maxPay: money('USD', '14.09') }, false],
  ])('%s', (_name, limits, accepted) => {
    expect(quoteProblem(limited(limits), quote())?.code).toBe(accepted ? undefined : 'QUOTE_OUT_OF_LIMITS');
  });
  test.each([
    ['other currencies', { originCurrency: 'EUR' }],
    ['paying in another currency', { pay: money('EUR', '14.10') }],
    ['delivering another amount', { target: money('CNY', '99.99') }],
  ])('rejects %s than requested', (_name, over) => {
    expect(quoteProblem(request, quote(over))?.code).toBe('QUOTE_OUT_OF_LIMITS');
  });
  test.each([
    ['the money at the limit, exactly', { pay: money('USD', '14.00') }, '7.142857142857', true],
    ['the money below it in the twelfth decimal', { pay: money('USD', '14.00') }, '7.142857142858', false],
    ["far below it, whatever the provider's rate says", { pay: money('USD', '14100.00') }, '7.0', false],
    ['a fee that eats the rate', { pay: money('USD', '514.10'), fee: money('USD', '500.10') }, '7.0', false],
    ['a rate in the other direction', { exchangeRate: '0.1408' }, '7.0', true],
    ['a lower rate than its money', { exchangeRate: '6.9' }, '7.0', true],
    [
      'a rate that a double cannot hold',
      { pay: money('USD', '0.03'), target: money('CNY', '0.21') },
      '7',
      true,
    ],
  ] satisfies [string, Partial<Quote>, string, boolean][])(
    'minRate compares money: %s',
    (_name, over: Partial<Quote>, minRate, accepted) => {
      const asked = { ...limited({ minRate }), instructedAmount: over.target ?? request.instructedAmount };
      expect(quoteProblem(asked, quote(over))?.code).toBe(accepted ? undefined : 'QUOTE_OUT_OF_LIMITS');
    },
  );
});

describe('H222 an approval covers the terms that the approver saw, and no worse ones', () => {
  const seen = quote({ pay: money('USD', '14.10'), fee: money('USD', '0.10') });
  test.each([
    ['the same terms', {}, true],
    ['better terms', { pay: money('USD', '14.09'), fee: money('USD', '0.09') }, true],
    ['a higher price', { pay: money('USD', '14.11') }, false],
    ['a higher fee at the same price', { fee: money('USD', '0.11') }, false],
    ['less for the beneficiary', { target: money('CNY', '99.99') }, false],
    ['a price in another currency', { pay: money('EUR', '14.10') }, false],
    ['a fee in another currency', { fee: money('CNY', '0.10') }, false],
  ])('%s', (_name, over, covered) => {
    expect(withinApproval(coveredTerms(seen), quote({ ...seen, ...over }))).toBe(covered);
  });
  test('a tolerance of the approver raises price and fee, rounded down, and never lowers what arrives', () => {
    expect(coveredTerms(seen, '1.25')).toEqual({
      pay: money('USD', '14.27'),
      fee: money('USD', '0.10'),
      target: seen.target,
    });
    expect(coveredTerms(quote({ pay: money('USD', '9999999999999999.99') }), '9.99').pay.amount).toBe(
      '10998999999999999.98',
    );
  });
});

describe('H223 a balance ends a payout only if it says that it is too low', () => {
  const amount = (text: string) => quote({ available: money('USD', text) });
  test.each(['14.10', '14.1', '14.1000', '1000000000000000000000', '14.100000001'])('%s suffices', (text) => {
    expect(quoteProblem(request, amount(text))).toBeUndefined();
  });
  test.each(['-5.00', '0', '14.099999', '-14.10'])('%s does not', (text) => {
    expect(quoteProblem(request, amount(text))?.code).toBe('INSUFFICIENT_BALANCE');
  });
  test('an absent one, or one in another currency, proves nothing', () => {
    const { available: _none, ...without } = quote();
    expect(quoteProblem(request, without)).toBeUndefined();
    expect(quoteProblem(request, quote({ available: money('CNY', '0.00') }))).toBeUndefined();
  });
});

describe('H13 an order is compared with its quote', () => {
  const agreed = agreedQuote(quote());
  test('accepts the same terms in another spelling', () => {
    expect(quoteMismatch(order(), agreed)).toBeUndefined();
  });
  test.each([
    ['lock', { lockRateId: 'lock-2' }],
    ['rate', { exchangeRate: '7.1001' }],
    ['payer pays', { pay: money('USD', '14.81') }],
    ['receiver gets', { target: money('CNY', '95.00') }],
    ['fee', { fee: money('USD', '0.20') }],
  ])('reports another %s', (name, over) => {
    expect(quoteMismatch(order(over), agreed)).toContain(name);
  });
  test('reports a lock that the order does not echo', () => {
    const { lockRateId: _lock, ...withoutLock } = order();
    expect(quoteMismatch(withoutLock, agreed)).toMatch(/lock is absent/);
  });
});

describe('H54 an order belongs to this payout only when every returned field matches', () => {
  const { bankAccountNumber, bankAccountName, bankName } = request.receiver;
  const whole = {
    originCurrency: 'USD',
    targetCurrency: 'CNY',
    bankAccountNumber,
    bankAccountName,
    bankName,
  };
  test('matches regardless of spaces and letter case', () => {
    expect(orderMismatch(order(whole), request, 'exact')).toBeUndefined();
    const spaced = { bankAccountName: ` ${bankAccountName.toUpperCase()} ` };
    expect(orderMismatch(order({ ...whole, ...spaced }), request, 'exact')).toBeUndefined();
  });
  test('fields that the spec allows to be null prove nothing', () => {
    const { partnerOrderId: _id, ...withoutId } = order();
    expect(orderMismatch(withoutId, request, 'visible')).toBeUndefined();
  });
  const foreign: [string, Partial<PayoutOrder>, RegExp][] = [
    ['partner order id', { partnerOrderId: 'p-2' }, /is another one/],
    ['amount', { target: money('CNY', '1.00') }, /1.00 CNY/],
    ['target currency', { targetCurrency: 'EUR' }, /is EUR/],
    ['origin currency', { originCurrency: 'EUR' }, /is EUR/],
    ['currency that the payer pays in', { pay: money('EUR', '14.10') }, /EUR/],
    ['currency that the receiver gets', { target: money('EUR', '100.00') }, /EUR/],
    ['account number', { bankAccountNumber: '6222020000009999' }, /bankAccountNumber/],
    ['account name', { bankAccountName: 'Somebody Else' }, /bankAccountName/],
    ['bank', { bankName: 'Another Bank' }, /bankName/],
  ];
  test.each(foreign)('rejects another %s', (_name, over, why) => {
    expect(orderMismatch(order({ ...whole, ...over }), request, 'visible')).toMatch(why);
  });
  test('H46 the message contains no account and no name', () => {
    const told = orderMismatch(
      order({ bankAccountName: 'Erika Muster', bankAccountNumber: '42' }),
      request,
      'visible',
    );
    expect(told).not.toMatch(/Erika|42/);
  });
});

describe('H21 the trade query takes precedence over the order query, and the conflict is reported', () => {
  const trade = (status: string): TradeResult => ({
    orderId: 'o-1',
    clientId: 'c',
    partnerOrderId: 'p-1',
    complete: true,
    received: money('CNY', '0.00'),
    failed: money('CNY', '0.00'),
    targetCurrency: 'CNY',
    status,
  });
  const statuses = ['pending', 'success', 'fail', 'odd'].flatMap((v2) =>
    ['PROCESSING', 'SUCCESS', 'PARTIAL_SUCCESS', 'FAILED'].map((v1) => ({ v2, v1 })),
  );
  test.each(statuses)('$v2 and $v1', ({ v2, v1 }) => {
    const against =
      (v2 === 'fail' && (v1 === 'SUCCESS' || v1 === 'PARTIAL_SUCCESS')) ||
      (v2 === 'success' && v1 === 'FAILED');
    expect(statusContradiction(v2, trade(v1)).length).toBe(against ? 1 : 0);
  });
});
