/** Every attention code. `AttentionOf` accepts no other code. The desk, `docs/reference.md` and the JSON Schemas show them. */

const DOCTOR = 'Run `payouts doctor`.';
const ASK_ABOUT_ORDER = 'Ask the provider about the `orderId` that `payouts status ID` shows.';
const PAY_AGAIN = 'To pay again, use a new `partnerOrderId`.';
const START_NOTHING = 'Start nothing else for this payment.';
const WAIT_FIRST = 'Wait: the payout queries again before it finishes. If the flag stays, ask the provider.';
const AUTHORIZE = 'Let the user authorize again, with a link from `POST /v1/authorizations`.';
const ENABLE = 'run `payouts events enable --endpoint NAME --by NAME`.';
const CALL_WAITS = 'A call has waited for its turn or its response for longer than `PAYOUTS_CALL_WAITS`.';

export const PAYOUT_ATTENTION = {
  NEEDS_REVIEW: {
    meaning: "The payout can't continue without a decision. The message says why.",
    action:
      'Ask the provider for the order by the `partnerOrderId`. Then run `payouts resolve ID --by NAME` with `--created ORDER_ID` or `--not-created end|retry`.',
    whileOpen: true,
  },
  CREATION_STARTS_OVER: {
    meaning:
      'The quote and the create call started over three times or more. After ten times, the payout goes to review.',
    action: `${DOCTOR} If \`payouts_creates\` counts \`not-sent\`, create calls don't leave the workers: check the network, the tokens and the encryption keys. Otherwise, check the workers' clocks, and that \`PAYMENTS_LOCK_LIFETIME\` isn't longer than a lock lasts.`,
    whileOpen: true,
  },
  CALL_WAITS: {
    meaning: CALL_WAITS,
    action: `${DOCTOR} Check that a worker runs and that the provider responds. The payout then continues.`,
    whileOpen: true,
  },
  QUOTE_REFUSED: {
    meaning:
      'The provider refused the account check or the quote three times in a row, or once after a call that had waited too long. Nothing was sent. The payout asks again at least every half hour.',
    action:
      'Check `payerId`, `clientId` and the token settings. `payouts poll ID` asks again now; `cancel` ends the payout, and `batch cancel` all such payouts of a batch. Once the provider explains the code, set `PAYMENTS_QUOTE_CODES`.',
    whileOpen: true,
  },
  PROVIDER_NOT_ANSWERING: {
    meaning: 'Three polls or one confirmation got no usable response, or the provider refused a poll.',
    action: `${DOCTOR} With \`ILLEGAL_PARAMETER\` or \`UNAUTHORIZED\`, check the settings; otherwise wait for the provider. \`payouts poll ID\` polls now.`,
    whileOpen: true,
  },
  ORDER_NOT_FOUND: {
    meaning:
      "The order was created, but the trade query doesn't find it after the confirmation window. If the order query doesn't either after another window, the payout goes to review.",
    action: ASK_ABOUT_ORDER,
    whileOpen: true,
  },
  SEVERAL_ORDERS: {
    meaning: "The provider returned an order that isn't the payout's. There may be two payments.",
    action: `${START_NOTHING} Send the provider both order IDs from \`payouts status ID --json\`.`,
  },
  ORDER_DIFFERS_FROM_QUOTE: {
    meaning: "The order's lock, rate, amounts or fee differ from the quote's. The message says which.",
    action: 'Compare the quote in `payouts status ID` with what the provider debited.',
  },
  ORDER_DIFFERS_FROM_REQUEST: {
    meaning: 'An order differs from the request or its quote, or an earlier start had another body.',
    action: `${START_NOTHING} Find out whether the \`partnerOrderId\` was used for something else, and ask the provider.`,
  },
  ORDER_NOT_COMPARED: {
    meaning: "An order was found under this `partnerOrderId`, but couldn't be compared.",
    action: 'Compare the order with `payouts status ID` by hand.',
    whileOpen: true,
  },
  AWAITING_MATERIAL: {
    meaning: 'The risk audit returned the order for more material (`RETURNED` or `DECLINED`).',
    action: 'Give the provider the material, then run `payouts poll ID`.',
  },
  AUDIT_REJECTED: {
    meaning: "The risk audit rejected the order, which isn't `FAILED` yet.",
    action: "Wait: the order usually fails soon. If it doesn't, ask the provider.",
  },
  UNKNOWN_STATUS: {
    meaning: "The provider returned a status that isn't in its specification. Polling continues.",
    action: ASK_ABOUT_ORDER,
  },
  UNKNOWN_AUDIT_STATUS: {
    meaning: "The provider returned an audit status that isn't in its specification. Polling continues.",
    action: ASK_ABOUT_ORDER,
  },
  PROVIDER_CONTRADICTS_ITSELF: {
    meaning: 'The order query and the trade query disagree. The trade query counts.',
    action: 'Tell the provider what each of the two says.',
  },
  DETAIL_MISSING: {
    meaning: 'The order is final, but three queries or more returned no payments.',
    action: WAIT_FIRST,
  },
  DETAIL_DISAGREES: {
    meaning: 'The order is final, but in three queries or more, its payments contradict the result.',
    action: WAIT_FIRST,
  },
  PAYMENT_RETURNED: {
    meaning: 'A payment came back before the payout finished.',
    action: `Compare the splits in \`payouts result ID\` with your books. ${PAY_AGAIN}`,
  },
  DEBITS_DIFFER_FROM_QUOTE: {
    meaning:
      'The provider reported at least three times in a row that it debited another amount than quoted. A payout finishes with that amount if the provider reports it five times in a row.',
    action: 'Compare the debits in `payouts result ID` with your books, and ask the provider.',
  },
  ORDER_OVERDUE: {
    meaning: 'The order has been open for longer than `PAYOUTS_OVERDUE_AFTER`.',
    action: ASK_ABOUT_ORDER,
  },
  CANCEL_TOO_LATE: {
    meaning: 'A cancellation came too late and has no effect.',
    action: 'Nothing.',
  },
  STOPPED_REPEATEDLY: {
    meaning: 'The workflow was stopped and restarted three times or more.',
    action: "Find out who or what stops it. If it failed, the worker's log says why.",
  },
} as const satisfies Record<string, Explained>;

export type PayoutAttentionCode = keyof typeof PAYOUT_ATTENTION;

/** The codes that say nothing about a payout that has finished. */
export const WHILE_OPEN = codesOf(PAYOUT_ATTENTION).filter((code) => 'whileOpen' in PAYOUT_ATTENTION[code]);

export const RECEIVING_ACCOUNT_ATTENTION = {
  NEEDS_REVIEW: {
    meaning: "It isn't known whether the account was opened, or 24 requests in a row couldn't be sent.",
    action:
      'Ask the provider. Then run `payouts account resolve ID --by NAME` with `--created ACCOUNT_ID` or `--not-created end|retry`.',
  },
  NOT_SENT: {
    meaning: "The request couldn't be sent three times in a row or more. After 24 times, it goes to review.",
    action: `${DOCTOR} Check that the provider can be reached; the request is sent again automatically.`,
  },
  CALL_WAITS: {
    meaning: CALL_WAITS,
    action: `${DOCTOR} Check that a worker runs and that the provider responds.`,
  },
} as const satisfies Record<string, Explained>;

export type ReceivingAccountAttentionCode = keyof typeof RECEIVING_ACCOUNT_ATTENTION;

export const TOKEN_ATTENTION = {
  RENEWAL_LATE: {
    meaning: 'Half the time between renewal and expiry has passed without a new token. Calls still work.',
    action: `${DOCTOR} Check that the provider responds.`,
  },
  TOKEN_EXPIRED: {
    meaning: 'The token has expired. Calls wait for a new one.',
    action: `Urgent. ${DOCTOR} Check that the provider responds.`,
  },
  NO_TOKEN: {
    meaning: 'There is still no token, a minute or more after the first request.',
    action: `Urgent. ${DOCTOR} Check that the provider responds.`,
  },
  REFUSED: {
    meaning: 'The provider refuses an application token. Workers request it every minute.',
    action:
      "Check `PAYMENTS_APP_ID`, `PAYMENTS_APP_SECRET` and the provider's allow-list, then run `payouts tokens --renew application`.",
  },
  TOKEN_REJECTED: {
    meaning: 'The provider rejected three fresh tokens in a row. Renewals slow down.',
    action:
      'Check `PAYMENTS_TRADE_AUTH_SCHEME`, `PAYMENTS_SIGNER`, `PAYMENTS_GATEWAY_TOKEN` and `PAYMENTS_TRADE_TOKEN`.',
  },
  REFRESH_TOKEN_EXPIRES: {
    meaning: "A sixth of the refresh token's lifetime is left without a renewal.",
    action: `${DOCTOR} Check that the provider responds.`,
  },
  REFRESH_REFUSED: { meaning: 'The provider refused the refresh token.', action: AUTHORIZE },
  NO_REFRESH_TOKEN: {
    meaning: 'There is no refresh token, not even in the histories of earlier runs.',
    action: AUTHORIZE,
  },
} as const satisfies Record<string, Explained>;

export type TokenAttentionCode = keyof typeof TOKEN_ATTENTION;

export const FOLLOW_UP_ATTENTION = {
  MONEY_RETURNED: {
    meaning: 'Payments came back before (`inResult`) or after the payout finished.',
    action: `Book the return. ${PAY_AGAIN}`,
  },
  OUTCOME_CHANGED: {
    meaning: 'The provider now reports another outcome.',
    action: 'Ask the provider which of the two is correct.',
  },
  SPLITS_CHANGED: {
    meaning: 'The provider now reports other payments. The message says which.',
    action: 'Ask the provider which of the two is correct.',
  },
  ORDER_EXISTS: {
    meaning: 'The payout ended as `NOT_CREATED`, but the provider has an order.',
    action: `${START_NOTHING} If it was paid under another \`partnerOrderId\` too, it was paid twice.`,
  },
  ORDER_NOT_FOUND: { meaning: 'The provider no longer knows the order.', action: 'Ask the provider.' },
  COULD_NOT_CHECK: {
    meaning: 'The last check failed. Money may have come back since `lastCheckedAt`.',
    action: 'Ask the provider about `queryPayDetail`. Then `payouts notify ID` checks again.',
  },
} as const satisfies Record<string, Explained>;

export type FollowUpAttentionCode = keyof typeof FOLLOW_UP_ATTENTION;

export const WORKFLOW_ATTENTION = {
  WORKFLOW_TASK_FAILS: {
    meaning: 'The workflow is stuck: its workflow task keeps failing.',
    action: `${DOCTOR} Repair the workflow. No payout is lost.`,
  },
  NOT_RECONCILED: {
    meaning: "Reconciliation can't restart or follow up a payout. The message says why.",
    action: 'Do what the message says.',
  },
} as const satisfies Record<string, Explained>;

export type WorkflowAttentionCode = keyof typeof WORKFLOW_ATTENTION;

export const ENDPOINT_ATTENTION = {
  ENDPOINT_DISABLED: {
    meaning:
      'The endpoint gets no events: it returned 410, failed for three days, or had too many events waiting. The message says which.',
    action: `Repair it, check it with \`payouts events test --endpoint NAME\`, then ${ENABLE}`,
  },
  ENDPOINT_FAILS: {
    meaning: 'The endpoint has failed for an hour. Events are sent again with growing pauses.',
    action: 'Repair it. `payouts events list` shows the last failure.',
  },
  EVENTS_LOST: {
    meaning: "Events were lost: they failed for three days, couldn't be read, or found no room.",
    action: `Let the receiver read the payouts of that time, or run \`payouts events resend --endpoint NAME --since TIME\`. Then ${ENABLE}`,
  },
} as const satisfies Record<string, Explained>;

export type EndpointAttentionCode = keyof typeof ENDPOINT_ATTENTION;

/** The tables, by what they explain. */
export const ATTENTION = {
  payout: PAYOUT_ATTENTION,
  followUp: FOLLOW_UP_ATTENTION,
  receivingAccount: RECEIVING_ACCOUNT_ATTENTION,
  token: TOKEN_ATTENTION,
  endpoint: ENDPOINT_ATTENTION,
  workflow: WORKFLOW_ATTENTION,
} as const;

export type AttentionKind = keyof typeof ATTENTION;
export type AttentionCode = { [Kind in AttentionKind]: keyof (typeof ATTENTION)[Kind] }[AttentionKind];

/** An attention flag, in plain words. */
export interface AttentionOf<Code extends AttentionCode> {
  code: Code;
  message: string;
}

/** The explanation of a public code. */
export interface Explained {
  meaning: string;
  action: string;
  /** Asks for a decision or for patience, so it is removed when the payout finishes. */
  whileOpen?: true;
}

/** The codes of a table, in its order. */
export function codesOf<Code extends string>(table: Readonly<Record<Code, unknown>>): Code[] {
  return Object.keys(table).filter((code): code is Code => code in table);
}
