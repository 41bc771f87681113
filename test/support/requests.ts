/** Plain, valid payout requests, to be modified by the test. */
import type { PayoutRequest } from '../../src/contract/payout-request.ts';

export function payoutRequest(partnerOrderId: string, over: Partial<PayoutRequest> = {}): PayoutRequest {
  return {
    clientId: 'client-1',
    payerId: 'payer-1',
    partnerOrderId,
    type: 'WITHDRAW',
    instructedAmount: { currency: 'CNY', amount: '100.00' },
    originCurrency: 'USD',
    targetCurrency: 'CNY',
    remittancePurposeCode: 'GOODS',
    receiver: {
      bankCountry: 'CN',
      bankName: 'Example Bank',
      bankAccountCurrency: 'CNY',
      bankAccountNumber: '6222020000000000',
      bankAccountName: 'Zhang San',
      idCardNumber: '110101199003070000',
      cardHoldType: 'Personal',
    },
    ...over,
  };
}
