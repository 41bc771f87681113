/** What phases, outcomes and reason codes mean, and what to do. `docs/reference.md` is written from these tables. */
import type { AuthorizationOutcome } from './authorization.ts';
import type { BatchState, RowOutcome } from './batch.ts';
import type { Explained } from './explained.ts';
import type { AuditStatus, PayoutOutcome, PayoutPhase, ReasonCode } from './payout.ts';
import type { OpeningOutcome, OpeningPhase, OpeningReason } from './receiving-account.ts';

const NEW_ID = 'To pay, start again under a new `partnerOrderId`';

export const PHASE_MEANINGS: Readonly<Record<PayoutPhase, Explained>> = {
  SCHEDULED: {
    meaning: 'The payout waits for `notBefore`. The provider has not been asked for anything.',
    action: 'Nothing. It can be cancelled.',
  },
  CHECKING: { meaning: 'The request is checked.', action: 'Nothing. It can be cancelled.' },
  QUOTING: {
    meaning: 'The account is checked and a quote is requested.',
    action: 'Nothing. It can be cancelled, unless a create was sent before.',
  },
  AWAITING_APPROVAL: {
    meaning: 'The quote waits for an approver, until `approvalExpiresAt`.',
    action: 'Approve, refuse or cancel.',
  },
  CREATING: {
    meaning: 'The create is being sent.',
    action: 'Nothing. A cancel is refused meanwhile.',
  },
  RECONCILING: {
    meaning:
      'Whether the order exists is unknown. The payout asks the provider over the confirmation window.',
    action: 'Nothing. Nothing is sent meanwhile.',
  },
  NEEDS_REVIEW: {
    meaning: 'A person has to decide whether the order exists. The provider is still asked.',
    action: 'Ask the provider, then resolve.',
  },
  PROCESSING: {
    meaning: 'The order exists. The payout waits for a notification or a poll.',
    action: 'Nothing. `poll` asks the provider at once.',
  },
  FETCHING_DETAIL: {
    meaning: 'The order has ended. Its payments are read and compared with the result.',
    action: 'Nothing. The outcome is reported once every sum agrees.',
  },
  DONE: { meaning: 'The payout has ended with one of the four outcomes.', action: 'Read the `outcome`.' },
};

export const OUTCOME_MEANINGS: Readonly<Record<PayoutOutcome, Explained>> = {
  SUCCESS: { meaning: 'Every payment arrived.', action: 'Book `received` and `debits`.' },
  PARTIAL_SUCCESS: {
    meaning: 'Some payments arrived, others failed.',
    action: 'Book `received`. To pay the sum in `failed`, start another payout under a new `partnerOrderId`.',
  },
  FAILED: {
    meaning: 'The order exists, and no payment arrived. `reason` says why.',
    action: `Remove the cause. ${NEW_ID}.`,
  },
  NOT_CREATED: {
    meaning: 'No order was created. `reason` says why.',
    action: `Remove the cause. ${NEW_ID}.`,
  },
};

export const REASON_MEANINGS: Readonly<
  Record<ReasonCode, Explained & { outcome: Extract<PayoutOutcome, 'FAILED' | 'NOT_CREATED'> }>
> = {
  QUOTE_OUT_OF_LIMITS: {
    outcome: 'NOT_CREATED',
    meaning: 'The quote is outside `limits`, or has other currencies or another amount than the request.',
    action: `${NEW_ID}, with other \`limits\` or at another time.`,
  },
  INSUFFICIENT_BALANCE: {
    outcome: 'NOT_CREATED',
    meaning:
      'The account does not hold what the payer would pay, by the quote or by the answer to the create.',
    action: `Fund the account. ${NEW_ID}.`,
  },
  ACCOUNT_NOT_USABLE: {
    outcome: 'NOT_CREATED',
    meaning:
      'The client has no account in `originCurrency` that may pay: it is missing, not in status `NORMAL`, or its funds have not passed the risk audit.',
    action: `Check \`npm run payouts -- account --client-id ID\`. ${NEW_ID}.`,
  },
  APPROVAL_REFUSED: {
    outcome: 'NOT_CREATED',
    meaning: 'An approver refused the payout.',
    action: 'Read the message. It names the approver and the note.',
  },
  APPROVAL_EXPIRED: {
    outcome: 'NOT_CREATED',
    meaning: 'Nobody approved or refused the payout within `PAYOUTS_APPROVAL_EXPIRES`.',
    action: `${NEW_ID}.`,
  },
  REFUSED_BY_PROVIDER: {
    outcome: 'NOT_CREATED',
    meaning:
      'The provider, or our check of its request format, refused the quote or the create. The message is its own.',
    action: `Correct the request. ${NEW_ID}.`,
  },
  CANCELLED: {
    outcome: 'NOT_CREATED',
    meaning: 'The payout was cancelled before the creation began.',
    action: 'Nothing.',
  },
  RESOLVED_NOT_CREATED: {
    outcome: 'NOT_CREATED',
    meaning: 'A person found in review that the order was not created, and ended the payout.',
    action: `${NEW_ID}.`,
  },
  PROVIDER_FAILED: {
    outcome: 'FAILED',
    meaning: "The provider reports that the order failed. The message is the provider's.",
    action: `Remove the cause. ${NEW_ID}.`,
  },
};

export const AUDIT_STATUS_MEANINGS: Readonly<Record<AuditStatus, string>> = {
  PROCESSING: 'The risk audit is under way.',
  APPROVED: 'The risk audit approved the order.',
  REJECTED: 'The risk audit rejected the order.',
  RETURNED: 'The risk audit returned the order for more material. The provider also writes `DECLINED`.',
};

export const OPENING_PHASE_MEANINGS: Readonly<Record<OpeningPhase, Explained>> = {
  CHECKING: { meaning: "The payer's accounts in this currency are listed.", action: 'Nothing.' },
  OPENING: { meaning: 'The account is requested.', action: 'Nothing.' },
  RECONCILING: {
    meaning:
      'Whether the account was opened is unknown. The accounts are listed over the confirmation window.',
    action: 'Nothing. Nothing is sent meanwhile.',
  },
  NEEDS_REVIEW: {
    meaning: 'A person has to decide. `candidates` lists the accounts that may be the requested one.',
    action: 'Ask the provider, then resolve.',
  },
  DONE: { meaning: 'The request has ended.', action: 'Read the `outcome`.' },
};

export const OPENING_OUTCOME_MEANINGS: Readonly<Record<OpeningOutcome, Explained>> = {
  OPENED: { meaning: 'The account was opened.', action: 'Read `accountId` and `account`.' },
  NOT_OPENED: {
    meaning: 'No account was opened. `reason` says why.',
    action: 'To open one, request it again under a new `requestId`.',
  },
};

export const OPENING_REASON_MEANINGS: Readonly<Record<OpeningReason['code'], Explained>> = {
  REFUSED_BY_PROVIDER: {
    meaning: 'The provider refused the request. The message is its own.',
    action: 'Correct the request and send it under a new `requestId`.',
  },
  CANCELLED: { meaning: 'The workflow was cancelled before the request was sent.', action: 'Nothing.' },
  RESOLVED_NOT_OPENED: {
    meaning: 'A person found in review that no account was opened, and ended the request.',
    action: 'To open one, request it again under a new `requestId`.',
  },
};

export const BATCH_PHASE_MEANINGS: Readonly<Record<BatchState['phase'], Explained>> = {
  RECEIVING: {
    meaning: 'Rows are missing. Nothing is paid yet.',
    action: 'Add the missing rows: send the same batch again.',
  },
  PAYING: { meaning: 'All rows were added, and payouts are under way.', action: 'Nothing.' },
  DONE: { meaning: 'Every row has ended.', action: 'Read `outcomes`.' },
};

/** How a row can end other than as its payout did. */
export const ROW_END_MEANINGS: Readonly<Record<Exclude<RowOutcome, PayoutOutcome>, Explained>> = {
  conflict: {
    meaning: 'The `partnerOrderId` of the row belongs to a payout with another body.',
    action: 'Correct the row and send it in a new batch.',
  },
  invalid: {
    meaning: 'The payout of the row was refused as bad input.',
    action: 'Correct the row and send it in a new batch.',
  },
  stopped: {
    meaning: "Nothing is left of the payout's workflow, or the batch no longer watches it.",
    action: 'Look at the payout: `npm run payouts -- status ID`.',
  },
  notStarted: {
    meaning: 'The batch was cancelled before the row was started.',
    action: 'To pay the row, send it in a new batch.',
  },
};

export const AUTHORIZATION_MEANINGS: Readonly<Record<AuthorizationOutcome['outcome'], Explained>> = {
  GRANTED: { meaning: 'The user granted access, and the tokens are stored.', action: 'Nothing.' },
  DENIED: { meaning: 'The user did not grant access.', action: 'Begin again if that was a mistake.' },
  EXPIRED: { meaning: 'The authorization took longer than 30 minutes.', action: 'Begin again.' },
  REFUSED: { meaning: 'The provider did not accept the authorization.', action: 'Begin again.' },
  UNAVAILABLE: {
    meaning: 'The provider cannot be reached. The authorization was not used.',
    action: 'Begin again later.',
  },
  UNCERTAIN: {
    meaning: "The provider's answer was lost, and an authorization code works only once.",
    action: 'Begin again.',
  },
  NOT_STORED: {
    meaning: 'The provider gave tokens, and Temporal did not take them in time.',
    action: 'Begin again.',
  },
};
