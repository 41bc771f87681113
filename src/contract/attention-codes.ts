/** Every attention code. `AttentionOf` accepts no other code. `docs/reference.md` and the JSON Schemas are generated from
 * these tables. */

export const PAYOUT_ATTENTION = {
  NEEDS_REVIEW: {
    meaning: 'The payout cannot continue without a decision. The message says why.',
    action:
      'Ask the provider for the order by the `partnerOrderId`. Then run `npm run payouts -- resolve ID --by NAME` with `--created ORDER_ID` or `--not-created end|retry`.',
    whileOpen: true,
  },
  CREATION_STARTS_OVER: {
    meaning:
      'Quote and create have started over three times or more without an order. After ten times, the payout goes to review.',
    action:
      'Run `npm run payouts -- doctor`. If `payouts_creates` counts `not-sent`, creates do not leave the workers: check that the provider can be reached, the tokens, and whether workflow tasks fail, for example because of a wrong encryption key. Otherwise, check the clocks of the workers, and whether `PAYMENTS_LOCK_LIFETIME` is longer than the lifetime of a lock.',
    whileOpen: true,
  },
  CALL_WAITS: {
    meaning: 'A call has waited for its turn or its answer for longer than `PAYOUTS_CALL_WAITS`.',
    action:
      'Run `npm run payouts -- doctor`. Check that a worker runs and that the provider answers. The payout then continues; `npm run payouts -- poll ID` polls at once.',
    whileOpen: true,
  },
  QUOTE_REFUSED: {
    meaning:
      'The provider has refused the account check or the quote three times in a row. The message has its code and its words. The payout asks again, after pauses that grow to half an hour; nothing was sent.',
    action:
      'Check `payerId` and `clientId`, and the settings of the tokens. `npm run payouts -- poll ID` asks again at once; `cancel` ends the payout, and `batch cancel` all such payouts of a batch. If the provider has told you what its code means, set `PAYMENTS_QUOTE_CODES`.',
    whileOpen: true,
  },
  PROVIDER_NOT_ANSWERING: {
    meaning:
      'Three polls in a row got no usable answer, the provider refused a poll, or a confirm got no usable answer. The message contains the last failure type.',
    action:
      'Run `npm run payouts -- doctor`. With `ILLEGAL_PARAMETER` or `UNAUTHORIZED`, check the settings; otherwise wait for the provider. Then `npm run payouts -- poll ID` polls at once.',
    whileOpen: true,
  },
  ORDER_NOT_FOUND: {
    meaning:
      'The order was created, but the trade query still does not know it after the confirmation window. If this continues for a whole window and the order query does not know it either, the payout goes to review.',
    action: 'Get the `orderId` with `npm run payouts -- status ID` and ask the provider.',
    whileOpen: true,
  },
  SEVERAL_ORDERS: {
    meaning:
      'The provider names another order than the one that the payout tracks. There may be two payments.',
    action:
      'Start nothing else for this payment. Send the provider both order ids from `npm run payouts -- status ID --json`.',
  },
  ORDER_DIFFERS_FROM_QUOTE: {
    meaning:
      'The lock, rate, amounts or fee of the order are not those of the quote. The message says which.',
    action: 'Compare the quote in `npm run payouts -- status ID` with what the provider debited.',
  },
  ORDER_DIFFERS_FROM_REQUEST: {
    meaning:
      'The order in the answer to the create, or the order found under this `partnerOrderId`, is not the requested one, or an earlier start had another body. The message says which.',
    action:
      'Start nothing else for this payment. Find out whether the `partnerOrderId` was used for something else, and ask the provider.',
  },
  ORDER_NOT_COMPARED: {
    meaning: 'An order was found under this `partnerOrderId`, but could not be read and compared.',
    action: 'Compare the order with `npm run payouts -- status ID` by hand.',
    whileOpen: true,
  },
  AWAITING_MATERIAL: {
    meaning: 'The risk audit returned the order for more material (`RETURNED` or `DECLINED`).',
    action: 'Give the provider the material, then run `npm run payouts -- poll ID`.',
  },
  AUDIT_REJECTED: {
    meaning: 'The risk audit rejected the order, and its status is not yet `FAILED`.',
    action: 'Wait: the order usually ends as `FAILED` soon. If it does not, ask the provider.',
  },
  UNKNOWN_STATUS: {
    meaning: 'The provider answered a status that its specification does not name. Polling continues.',
    action: 'Get the `orderId` with `npm run payouts -- status ID` and ask the provider.',
  },
  UNKNOWN_AUDIT_STATUS: {
    meaning: 'The provider answered an audit status that its specification does not name. Polling continues.',
    action: 'Get the `orderId` with `npm run payouts -- status ID` and ask the provider.',
  },
  PROVIDER_CONTRADICTS_ITSELF: {
    meaning: 'The order query and the trade query disagree. The trade query takes precedence.',
    action: 'Tell the provider what each of the two says.',
  },
  DETAIL_MISSING: {
    meaning: 'The provider reports the end, but three queries or more have not returned the payments.',
    action:
      'Nothing at first: the payout queries again and reports no outcome until then. If the flag stays, ask the provider.',
  },
  DETAIL_DISAGREES: {
    meaning:
      'The provider reports the end, but in three queries or more its payments do not add up or contradict the result.',
    action:
      'Nothing at first: the payout queries again and reports no outcome until then. If the flag stays, ask the provider.',
  },
  PAYMENT_RETURNED: {
    meaning: 'The money of a payment came back after it was paid, before the payout ended.',
    action:
      'Compare the splits in `npm run payouts -- result ID` with your books. To pay again, use a new `partnerOrderId`.',
  },
  DEBITS_DIFFER_FROM_QUOTE: {
    meaning:
      'The provider has said three times in a row that it debited another amount than was quoted. After five times, the payout ends with that amount.',
    action: 'Compare the debits in `npm run payouts -- result ID` with your books, and ask the provider.',
  },
  ORDER_OVERDUE: {
    meaning: 'The order has been open for longer than `PAYOUTS_OVERDUE_AFTER`.',
    action: 'Get the `orderId` with `npm run payouts -- status ID` and ask the provider.',
  },
  CANCEL_TOO_LATE: {
    meaning: 'A cancellation came after the creation had begun. It has no effect.',
    action: 'Nothing.',
  },
  STOPPED_REPEATEDLY: {
    meaning:
      'The workflow was terminated, timed out or failed three times or more, and was started again each time.',
    action: "Find out who or what stops it. If it failed, the worker's log says why.",
  },
} as const satisfies Record<string, Explained>;

export type PayoutAttentionCode = keyof typeof PAYOUT_ATTENTION;

/** The codes that say nothing about a payout that has ended. */
export const WHILE_OPEN = codesOf(PAYOUT_ATTENTION).filter((code) => 'whileOpen' in PAYOUT_ATTENTION[code]);

export const RECEIVING_ACCOUNT_ATTENTION = {
  NEEDS_REVIEW: {
    meaning: 'Whether the account was opened is unknown, or the request could not be sent 24 times in a row.',
    action:
      'Ask the provider. Then run `npm run payouts -- account resolve ID --by NAME` with `--created ACCOUNT_ID` or `--not-created end|retry`.',
  },
  NOT_SENT: {
    meaning:
      'The request could not be sent three times in a row or more. Nothing was sent. After 24 times, it goes to review.',
    action:
      'Run `npm run payouts -- doctor`. Check that the provider can be reached; the request is sent again automatically.',
  },
  CALL_WAITS: {
    meaning: 'A call has waited for its turn or its answer for longer than `PAYOUTS_CALL_WAITS`.',
    action: 'Run `npm run payouts -- doctor`. Check that a worker runs and that the provider answers.',
  },
} as const satisfies Record<string, Explained>;

export type ReceivingAccountAttentionCode = keyof typeof RECEIVING_ACCOUNT_ATTENTION;

export const TOKEN_ATTENTION = {
  RENEWAL_LATE: {
    meaning: 'Half of the time between renewal and expiry has passed without a new token. Calls still work.',
    action: 'Run `npm run payouts -- doctor`. Check that the provider answers.',
  },
  TOKEN_EXPIRED: {
    meaning: 'The token has expired. Calls wait for a new one.',
    action: 'At once: run `npm run payouts -- doctor` and check that the provider answers.',
  },
  NO_TOKEN: {
    meaning: 'A first token was requested a minute ago or earlier, and there is none yet.',
    action: 'At once: run `npm run payouts -- doctor` and check that the provider answers.',
  },
  REFUSED: {
    meaning: 'The provider refuses an application token. The worker requests it again every minute.',
    action:
      "Check `PAYMENTS_APP_ID`, `PAYMENTS_APP_SECRET` and the provider's allow-list, then run `npm run payouts -- tokens --renew application`.",
  },
  TOKEN_REJECTED: {
    meaning: 'The provider rejected three fresh tokens in a row. Renewals slow down.',
    action:
      'Check `PAYMENTS_TRADE_AUTH_SCHEME`, `PAYMENTS_SIGNER`, `PAYMENTS_GATEWAY_TOKEN` and `PAYMENTS_TRADE_TOKEN`.',
  },
  REFRESH_TOKEN_EXPIRES: {
    meaning: "A sixth of the refresh token's lifetime is left, and the renewal has not succeeded.",
    action: 'Run `npm run payouts -- doctor`. Check that the provider answers.',
  },
  REFRESH_REFUSED: {
    meaning: 'The provider refused the refresh token.',
    action: 'Let the user authorize again, with a link of `POST /v1/authorizations`.',
  },
  NO_REFRESH_TOKEN: {
    meaning: 'There is no refresh token, neither here nor in the histories of earlier runs.',
    action: 'Let the user authorize again, with a link of `POST /v1/authorizations`.',
  },
} as const satisfies Record<string, Explained>;

export type TokenAttentionCode = keyof typeof TOKEN_ATTENTION;

export const FOLLOW_UP_ATTENTION = {
  MONEY_RETURNED: {
    meaning: 'Payments came back, before the end of the payout (`inResult`) or after it.',
    action: 'Book the return. To pay again, use a new `partnerOrderId`.',
  },
  OUTCOME_CHANGED: {
    meaning: 'The provider reports another outcome than at the end of the payout.',
    action: 'Ask the provider which of the two is correct.',
  },
  SPLITS_CHANGED: {
    meaning: 'The provider reports other payments than at the end of the payout. The message says which.',
    action: 'Ask the provider which of the two is correct.',
  },
  ORDER_EXISTS: {
    meaning: 'The payout ended as `NOT_CREATED`, but the provider has an order.',
    action:
      'Start nothing else for this payment. If it was paid under another `partnerOrderId` too, it was paid twice.',
  },
  ORDER_NOT_FOUND: {
    meaning: 'The provider no longer knows the order.',
    action: 'Ask the provider.',
  },
  COULD_NOT_CHECK: {
    meaning:
      'The last check was refused, or got no answer until the next one was due. Whether money has come back since `lastCheckedAt` is unknown.',
    action:
      'Ask the provider why it refuses `queryPayDetail`. Then `npm run payouts -- notify ID` checks once more.',
  },
} as const satisfies Record<string, Explained>;

export type FollowUpAttentionCode = keyof typeof FOLLOW_UP_ATTENTION;

export const WORKFLOW_ATTENTION = {
  WORKFLOW_TASK_FAILS: {
    meaning: 'The workflow task of an open workflow keeps failing, so the workflow is stuck.',
    action: 'Run `npm run payouts -- doctor` and repair the workflow. No payout is lost.',
  },
  NOT_RECONCILED: {
    meaning:
      'Reconciliation found a payout that it can neither start again nor follow up. The message says why.',
    action: 'Do what the message says.',
  },
} as const satisfies Record<string, Explained>;

export type WorkflowAttentionCode = keyof typeof WORKFLOW_ATTENTION;

export const ENDPOINT_ATTENTION = {
  ENDPOINT_DISABLED: {
    meaning:
      'The endpoint gets no events: it answered 410, it has only failed for three days, or too many events were waiting. The message says which.',
    action:
      'Repair it, check it with `npm run payouts -- events test --endpoint NAME`, then run `npm run payouts -- events enable --endpoint NAME --by NAME`.',
  },
  ENDPOINT_FAILS: {
    meaning:
      'The endpoint has only failed for an hour. Its events wait, and are sent again with growing pauses.',
    action: 'Repair it. `npm run payouts -- events list` shows the last failure.',
  },
  EVENTS_LOST: {
    meaning:
      'Events were not delivered: one failed for three days, its workflow could no longer be read, or there was no room for it.',
    action:
      'Let the receiver read the payouts of that time, or run `npm run payouts -- events resend --endpoint NAME --since TIME`. Then run `npm run payouts -- events enable --endpoint NAME --by NAME`.',
  },
} as const satisfies Record<string, Explained>;

export type EndpointAttentionCode = keyof typeof ENDPOINT_ATTENTION;

export type AttentionCode =
  | PayoutAttentionCode
  | EndpointAttentionCode
  | ReceivingAccountAttentionCode
  | TokenAttentionCode
  | FollowUpAttentionCode
  | WorkflowAttentionCode;

/** Something that a person should look at, in plain words. */
export interface AttentionOf<Code extends AttentionCode> {
  code: Code;
  message: string;
}

/** The explanation of a public code. */
export interface Explained {
  meaning: string;
  action: string;
  /** Asks for a decision or for patience, so it is removed at the end of the payout. */
  whileOpen?: true;
}

/** The codes of a table, in its order. */
export function codesOf<Code extends string>(table: Readonly<Record<Code, unknown>>): Code[] {
  return Object.keys(table).filter((code): code is Code => code in table);
}
