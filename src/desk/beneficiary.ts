/** Who gets the money, as an approver sees it: each value stands alone, so that none can change how another one looks. */
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';

type Receiver = CheckedPayoutRequest['receiver'];

export function beneficiaryFacts(receiver: Receiver): (readonly [string, string])[] {
  return [
    ['Beneficiary', receiver.bankAccountName],
    ['Account number', maskedAccount(receiver)],
    ['Bank', receiver.bankName],
    ['Country of the bank', receiver.bankCountry],
  ];
}

/** The last four characters tell accounts apart. */
export function maskedAccount({ bankAccountNumber }: Receiver): string {
  return `ending in ${bankAccountNumber.slice(-4)}`;
}
