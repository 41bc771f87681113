/** What a list shows of a payout: its memo, in which a page has it without another call. */
import type { PayoutMemo } from '../contract/lists.ts';
import type { CheckedPayoutRequest, Receiver } from '../contract/payout-request.ts';

export function memoOfRequest(request: CheckedPayoutRequest): PayoutMemo {
  const { clientId, payerId, instructedAmount, receiver, metadata } = request;
  return {
    clientId,
    payerId,
    instructedAmount,
    beneficiary: receiver.bankAccountName,
    accountEnd: accountEnd(receiver),
    ...(metadata && { metadata }),
  };
}

/** The last four characters tell accounts apart. */
export function accountEnd({ bankAccountNumber }: Receiver): string {
  return bankAccountNumber.slice(-4);
}
