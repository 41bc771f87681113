/** The meaning of phases, outcomes, reason codes and failure types, and what to do. */

import type { Explained } from './attention-codes.ts';
import type { BatchState } from './batch.ts';
import type {
  AuditStatus,
  PayoutOutcome,
  PayoutPhase,
  ReasonCode,
  ReceivingAccountOutcome,
  ReceivingAccountPhase,
  RowOutcome,
} from './codes.ts';
import {
  DAILY_LIMIT_EXCEEDED,
  INVALID_PAYOUT_REQUEST,
  NOT_ACCEPTED_NOW,
  PAYOUT_CONFLICT,
  PAYOUT_IS_GONE,
  PAYOUT_NOT_ALLOWED,
  STALE_WORKFLOW_CLOCK,
} from './failures.ts';
import type { ReceivingAccountReason } from './receiving-account.ts';
import type { AuthorizationOutcome } from './tokens.ts';

const NEW_ID = 'To pay, start again under a new `partnerOrderId`';

export const PHASE_MEANINGS: Readonly<Record<PayoutPhase, Explained>> = {
  SCHEDULED: {
    meaning: 'The payout waits for `notBefore`. Nothing has been sent to the provider.',
    action: 'Nothing. It can be canceled.',
  },
  CHECKING: { meaning: 'The request is checked.', action: 'Nothing. It can be canceled.' },
  QUOTING: {
    meaning: 'The account is checked and a quote is requested.',
    action: 'Nothing. It can be canceled, unless a create was sent before.',
  },
  AWAITING_APPROVAL: {
    meaning: 'The quote waits for an approver, until `approvalExpiresAt`.',
    action: 'Approve, refuse or cancel.',
  },
  PAUSED: {
    meaning:
      'An operator has [paused the application](operations.md#stop-all-create-calls), or its [shared settings](operations.md#shared-settings) are missing, so the create call is not sent.',
    action: 'Nothing. It can be canceled, unless a create was sent before.',
  },
  CREATING: {
    meaning: 'The create is being sent.',
    action: 'Nothing. A cancellation is refused meanwhile.',
  },
  RECONCILING: {
    meaning:
      'Whether the order exists is unknown. The payout queries the provider over the confirmation window.',
    action: 'Nothing. No create is sent meanwhile.',
  },
  NEEDS_REVIEW: {
    meaning: 'A person must decide whether the order exists. The payout keeps querying the provider.',
    action: 'Ask the provider, then resolve.',
  },
  PROCESSING: {
    meaning: 'The order exists. The payout waits for a notification or a poll.',
    action: 'Nothing. `poll` queries the provider at once.',
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
      'The account balance is below what the payer would pay, according to the quote or the answer to the create.',
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
    meaning: 'No approver decided within `PAYOUTS_APPROVAL_EXPIRES`.',
    action: `${NEW_ID}.`,
  },
  REFUSED_BY_PROVIDER: {
    outcome: 'NOT_CREATED',
    meaning:
      'The provider, or our check of its request format, refused the quote or the create. The message gives the reason.',
    action: `Correct the request. ${NEW_ID}.`,
  },
  CANCELLED: {
    outcome: 'NOT_CREATED',
    meaning: 'The payout was canceled before the creation began.',
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

export const RECEIVING_ACCOUNT_PHASE_MEANINGS: Readonly<Record<ReceivingAccountPhase, Explained>> = {
  CHECKING: { meaning: "The payer's accounts in this currency are listed.", action: 'Nothing.' },
  PAUSED: {
    meaning:
      'An operator has [paused the application](operations.md#stop-all-create-calls), or its [shared settings](operations.md#shared-settings) are missing, so the account is not requested.',
    action: 'Nothing.',
  },
  OPENING: { meaning: 'The account is requested.', action: 'Nothing.' },
  RECONCILING: {
    meaning:
      'Whether the account was opened is unknown. The accounts are listed over the confirmation window.',
    action: 'Nothing. The request is not sent again meanwhile.',
  },
  NEEDS_REVIEW: {
    meaning: 'A person must decide. `candidates` lists the accounts that may be the requested one.',
    action: 'Ask the provider, then resolve.',
  },
  DONE: { meaning: 'The request has ended.', action: 'Read the `outcome`.' },
};

export const RECEIVING_ACCOUNT_OUTCOME_MEANINGS: Readonly<Record<ReceivingAccountOutcome, Explained>> = {
  OPENED: { meaning: 'The account was opened.', action: 'Read `accountId` and `account`.' },
  NOT_OPENED: {
    meaning: 'No account was opened. `reason` says why.',
    action: 'To open one, request it again under a new `requestId`.',
  },
};

export const RECEIVING_ACCOUNT_REASON_MEANINGS: Readonly<Record<ReceivingAccountReason['code'], Explained>> =
  {
    REFUSED_BY_PROVIDER: {
      meaning: 'The provider refused the request. The message gives its reason.',
      action: 'Correct the request and send it under a new `requestId`.',
    },
    CANCELLED: { meaning: 'The workflow was canceled before the request was sent.', action: 'Nothing.' },
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

/** Row outcomes other than those of a payout. */
export const ROW_END_MEANINGS: Readonly<Record<Exclude<RowOutcome, PayoutOutcome>, Explained>> = {
  conflict: {
    meaning: 'The `partnerOrderId` of the row belongs to a payout with another body.',
    action: 'Correct the row and send it in a new batch.',
  },
  invalid: {
    meaning: 'The payout of the row was rejected as bad input.',
    action: 'Correct the row and send it in a new batch.',
  },
  stopped: {
    meaning: "The payout's workflow no longer exists, or the batch no longer tracks it.",
    action: 'Look at the payout: `npm run payouts -- status ID`.',
  },
  notStarted: {
    meaning: 'The batch was canceled before the row was started.',
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
    meaning: 'The provider issued tokens, but Temporal did not accept them in time.',
    action: 'Begin again.',
  },
};

/** Failures that callers rely on. */
export const FAILURE_MEANINGS = {
  [INVALID_PAYOUT_REQUEST]: {
    raisedBy: 'a workflow, the update `add` of a batch, the Nexus operation `pay`',
    meaning: 'Bad input. `details[0]` is `[{ path, message }]` with every bad field. Nothing was started.',
    action: 'Correct the request. A start that failed like this may be repeated under the same id.',
  },
  [NOT_ACCEPTED_NOW]: {
    raisedBy: 'an update',
    meaning: 'The update is not accepted now. The message says why. Nothing was changed.',
    action: 'Read the state, then decide again.',
  },
  [PAYOUT_NOT_ALLOWED]: {
    raisedBy: 'the Nexus operation `pay`',
    meaning:
      'The endpoint does not include this application, client, payer, user or amount, or a daily limit is exceeded. Nothing was started.',
    action:
      'Use the endpoint of the application, or change `PAYOUTS_NEXUS_FILE`. After a daily limit: call again on the next day (UTC).',
  },
  [DAILY_LIMIT_EXCEEDED]: {
    raisedBy: 'the update `reserve` of `callerAllowance`',
    meaning: 'The payouts exceed a daily limit of the caller. Nothing was reserved.',
    action: 'Nothing: the API server and the Nexus operation refuse the start.',
  },
  [PAYOUT_CONFLICT]: {
    raisedBy: 'the Nexus operation `pay`',
    meaning: 'The `partnerOrderId` belongs to a payout with another body. Nothing was started.',
    action: 'Send the first body again. A new `partnerOrderId` makes another payment.',
  },
  [PAYOUT_IS_GONE]: {
    raisedBy: 'the Nexus operation `pay`',
    meaning: "Temporal no longer has the payout's workflow, so its outcome is unknown.",
    action: 'Ask the provider for the order before you pay again.',
  },
  [STALE_WORKFLOW_CLOCK]: {
    raisedBy: 'a query',
    meaning: 'The query arrived ahead of a workflow task. The query is valid.',
    action: 'Send the query again, as our own programs do.',
  },
} as const satisfies Record<string, Explained & { raisedBy: string }>;
