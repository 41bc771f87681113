/** The reasons why a payout has no payment. */

import type { Explained } from './attention-codes.ts';
import type { ReasonCode } from './codes.ts';

const NEW_ID = 'To pay, use a new `partnerOrderId`';

export const REASON_MEANINGS: Readonly<Record<ReasonCode, Explained>> = {
  QUOTE_OUT_OF_LIMITS: {
    meaning: 'The quote is outside `limits`, or differs from the request in currencies or amount.',
    action: `${NEW_ID}, with other \`limits\` or at another time.`,
  },
  INSUFFICIENT_BALANCE: {
    meaning: "The account balance doesn't cover what the payer would pay.",
    action: `Fund the account. ${NEW_ID}.`,
  },
  ACCOUNT_NOT_USABLE: {
    meaning:
      "The client's account in `originCurrency` can't pay: it's missing or not `NORMAL`, or its funds haven't passed the risk audit.",
    action: `Check \`payouts account --client-id ID\`. ${NEW_ID}.`,
  },
  APPROVAL_REFUSED: {
    meaning: 'An approver refused the payout.',
    action: 'Read the message, which has the approver and the note.',
  },
  APPROVAL_EXPIRED: {
    meaning: 'No approver decided within `PAYOUTS_APPROVAL_EXPIRES`.',
    action: `${NEW_ID}.`,
  },
  REFUSED_BY_PROVIDER: {
    meaning: 'The quote or the create call was rejected by the provider, or by our check of its format.',
    action: `Correct the request. ${NEW_ID}.`,
  },
  CANCELLED: { meaning: 'The payout was canceled before the creation began.', action: 'Nothing.' },
  RESOLVED_NOT_CREATED: {
    meaning: 'An operator found in review that no order exists, and ended the payout.',
    action: `${NEW_ID}.`,
  },
  PROVIDER_FAILED: {
    meaning: "The order failed. The message is the provider's.",
    action: `Remove the cause. ${NEW_ID}.`,
  },
};
