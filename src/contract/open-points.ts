/**
 * What the spec leaves open. `docs/open-points.md` is generated from this list, and `doctor` reports its findings
 * under these ids.
 */
interface OpenPoint {
  id: string;
  /** What the spec does not say, or says in two ways. */
  open: string;
  /** What we assume by default. */
  assumption: string;
  /** The setting that changes the assumption; empty if no alternative is safe. */
  setting: string;
  /** What `doctor` checks on a real provider; empty if a harmless read cannot tell. */
  probe: string;
}

export interface ProbeFinding {
  id: string;
  verdict: 'holds' | 'does not hold' | 'not probed';
  /** What was observed, or why nothing was. Contains no personal data. */
  detail: string;
}

export const OPEN_POINTS: readonly OpenPoint[] = [
  {
    id: 'gateway-token',
    open: 'which token goes to `/v1/accounts`, `/v1/payments` and `/v2`',
    assumption: 'the application token',
    setting: '`PAYMENTS_GATEWAY_TOKEN=user`',
    probe: 'the authenticated example call is accepted',
  },
  {
    id: 'trade-token',
    open: 'which token goes to `/v1/mid-open-api`, and whether its header says `Bearer`',
    assumption: 'the application token, with `Bearer`',
    setting: '`PAYMENTS_TRADE_TOKEN=user`, `PAYMENTS_TRADE_AUTH_SCHEME=none`',
    probe: 'a trade query is not answered "unauthorized"',
  },
  {
    id: 'signature',
    open: 'the algorithm, the signed content and the header of the signature for `/v1/mid-open-api`',
    assumption: 'no signature is sent',
    setting: '`PAYMENTS_SIGNER`, `PAYMENTS_SIGNING_KEY`; `module:PATH` implements any other scheme',
    probe: 'the provider processes a trade query instead of rejecting it',
  },
  {
    id: 'unknown-order',
    open: 'what a trade query answers for an id that was never used',
    assumption: '900004; this does not prove that no order was created, because reads may lag',
    setting: '`PAYOUTS_CONFIRMATION_WINDOW`',
    probe: 'a query for an id that cannot exist is answered 900004',
  },
  {
    id: 'partner-number',
    open: "whether the create's `outOrderId` is the `partner_order_id` of the trade queries",
    assumption: 'yes',
    setting: '',
    probe: 'with `--order` and `--client-id`: the trade query finds an order that was created under this id',
  },
  {
    id: 'trade-order-id',
    open: "whether `order_id` of the trade queries is the order's `orderId`",
    assumption:
      'yes: a trade query that names another order than the tracked one sets the attention flag, and leads to review after the confirmation window',
    setting: '`PAYMENTS_TRADE_ORDER_ID=own`',
    probe:
      'with `--order` and `--client-id`: the order query knows the order under the id that the trade query names',
  },
  {
    id: 'client-of-payer',
    open: 'whether the trade queries show an order only under the `client_id` of its payer: the create call carries none',
    assumption:
      'yes, so 900004 proves nothing for a `clientId` under which no order of the `payerId` was ever shown: instead of sending again or ending, a payout goes to review',
    setting: '`PAYMENTS_CLIENT_PAIRS=trusted`',
    probe:
      'with `--order` and `--client-id`: the trade query does not show that order under another `client_id`',
  },
  {
    id: 'echo',
    open: 'whether the provider repeats ids and the beneficiary as they were sent',
    assumption:
      'ids as sent; the beneficiary possibly masked, or with other letter case, spaces and punctuation. What is visible is compared: a difference leads to review',
    setting: '`PAYMENTS_ECHO=exact`, `PAYMENTS_ECHO=normalized`',
    probe:
      'with `--order` and `--client-id`: the ids of that order are as sent; the finding says what is masked',
  },
  {
    id: 'timestamps',
    open: 'the unit of `create_time` and `finish_time`',
    assumption:
      'seconds or milliseconds, distinguished by magnitude; an empty string counts as absent; no decision depends on them',
    setting: '',
    probe: 'with `--order`: the times of that order are between 2020 and now',
  },
  {
    id: 'audit-status',
    open: 'the spelling of the audit status "returned for material": `RETURNED` or `DECLINED`',
    assumption:
      'both mean that the audit awaits material. Any other value is kept as written, is not final, and sets the attention flag',
    setting: '',
    probe: 'with `--order`: the audit status of that order is a known one',
  },
  {
    id: 'refund-flag',
    open: 'what `refund_flag` says about a payment that failed',
    assumption:
      'only that the payer has its money back. Money counts as returned if the payment succeeded and came back',
    setting: '',
    probe: '',
  },
  {
    id: 'lock-field',
    open: 'how a create refers to its quote: the table of the create has no field for the lock',
    assumption:
      '`lockRateId` is sent beside the documented fields; an order that names another lock, rate or amount sets the attention flag',
    setting: '',
    probe: 'with `--order`: the order contains a lock id',
  },
  {
    id: 'lock-lifetime',
    open: 'how long a lock is valid',
    assumption: '60 seconds; a create is never sent after that',
    setting: '`PAYMENTS_LOCK_LIFETIME`',
    probe: '',
  },
  {
    id: 'quote-lock',
    open: "the quote's lock is named `lock_rate_id` in the table and `lock_fee_id` in the text",
    assumption: 'both names are read',
    setting: '',
    probe: 'with `--payer-id`: a small quote from USD to CNY contains one of them',
  },
  {
    id: 'rate-direction',
    open: 'in which direction a rate counts: target currency per unit of the origin currency, or the other way round',
    assumption:
      "target currency per unit of the origin currency, for people who read it. No decision depends on it: `minRate` compares the quote's amounts, and the rate of an order is compared with that of its quote",
    setting: '',
    probe: 'with `--payer-id`: in a small quote from USD to CNY, the rate fits the amounts in this direction',
  },
  {
    id: 'target-currency',
    open: 'which target currencies `createCnyOrder` takes besides CNY',
    assumption: 'none: a request for another target currency is bad input',
    setting: '`PAYMENTS_TARGET_CURRENCIES`',
    probe: 'with `--order` and `--client-id`: the target currency of that order is CNY',
  },
  {
    id: 'create-codes',
    open: 'which codes and HTTP statuses of a create call mean that no order was created',
    assumption:
      'only 429 (`busy`), which is no proof: the payout confirms over the confirmation window, then sends again; any other code is an unknown outcome. A listed code counts only once a trade query after it answers 900004',
    setting: '`PAYMENTS_CREATE_CODES`',
    probe: '',
  },
  {
    id: 'quote-codes',
    open: 'which codes of the account check and of the quote mean that the request can never be accepted',
    assumption:
      'only 900002: the payout ends. After any other refusal, the payout asks again, ever more slowly, and sets the attention flag',
    setting: '`PAYMENTS_QUOTE_CODES`',
    probe: '',
  },
  {
    id: 'repeated-create',
    open: 'whether a second create with the same `outOrderId` is refused, and with which code',
    assumption: 'it is not: a create of unknown outcome is confirmed, then a person decides',
    setting: '`PAYMENTS_REPEATED_CREATE=safe`; `PAYMENTS_CREATE_CODES=CODE:duplicate`',
    probe: '',
  },
  {
    id: 'notification-form',
    open: 'the fields of a notification',
    assumption:
      'every spelling that the spec uses, at the top level, in `data`, in `receiver` and in `data.receiver`',
    setting: '`PAYMENTS_NOTIFICATION_FIELDS`',
    probe: '',
  },
  {
    id: 'notification-verification',
    open: 'how a notification is verified',
    assumption: 'it is not: each notification is only a hint to query the order',
    setting: '`PAYMENTS_NOTIFICATION_VERIFIER`, `PAYMENTS_NOTIFICATION_SECRETS`',
    probe: '',
  },
  {
    id: 'notification-receipt',
    open: 'which response tells the provider that a notification has arrived',
    assumption:
      'any status from 200 to 299: 202 is sent, with a JSON body. A provider that expects another response sends the notification again, which changes nothing',
    setting: '`PAYMENTS_NOTIFICATION_RECEIPT`',
    probe: '',
  },
  {
    id: 'receiving-account-record',
    open: "the fields of a receiving account's record, and which codes mean that no account was opened",
    assumption:
      'its id is `id`, `account_id` or `accountId`; the record is passed on as received. Codes: 900002, or any code with an HTTP status of 400 to 499',
    setting: '',
    probe: '',
  },
  {
    id: 'currnecy',
    open: "the receiving account's currency is spelled `currency` in the table and `currnecy` in the sample",
    assumption: '`currency` is sent',
    setting: '',
    probe: '',
  },
];
