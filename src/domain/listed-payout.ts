/** What a list shows of a payout: its memo, in which a page has it without another call. */
import type { PayoutMemo } from '../contract/lists.ts';
import type { CheckedPayoutRequest, Receiver } from '../contract/payout-request.ts';

export function memoOfRequest(request: CheckedPayoutRequest): PayoutMemo {
  const { clientId, payerId, openId, instructedAmount, receiver, metadata } = request;
  return {
    clientId,
    payerId,
    instructedAmount,
    beneficiary: receiver.bankAccountName,
    accountEnd: accountEnd(receiver),
    ...(openId !== undefined && { openId }),
    ...(metadata && { metadata }),
  };
}

/** The last four characters tell accounts apart. */
export function accountEnd({ bankAccountNumber }: Receiver): string {
  return bankAccountNumber.slice(-4);
}

/** Without the numbers of the account and of the holder's identity: whoever may read the payout needn't know them. */
export function shownStart({
  request,
  startedBy,
}: {
  request: CheckedPayoutRequest;
  startedBy: string | undefined;
}) {
  const { bankAccountNumber: _account, idCardNumber: _identity, ...receiver } = request.receiver;
  return {
    request: { ...request, receiver: { ...receiver, accountEnd: accountEnd(request.receiver) } },
    ...(startedBy !== undefined && { startedBy }),
  };
}
