/**
 * What the specification leaves open, once for everybody: the register in `docs/open-points.md` is written
 * from this list, and `doctor` reports its findings by these ids.
 */
export interface OpenPoint {
  id: string;
  /** What the specification does not say, or says in two ways. */
  open: string;
  /** What the program takes to be true unless told otherwise. */
  assumption: string;
  /** How to tell it otherwise; empty where no choice is safe to offer. */
  setting: string;
  /** What `doctor` looks at on a real service; empty where a harmless read cannot tell. */
  probe: string;
}

export interface ProbeFinding {
  id: string;
  verdict: 'holds' | 'does not hold' | 'not probed';
  /** What was seen, or why nothing was. Holds no personal data. */
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
    probe: 'a trade query is not answered "unauthorised"',
  },
  {
    id: 'signature',
    open: 'algorithm, content and place of the signature under `/v1/mid-open-api`',
    assumption: 'none is sent',
    setting: '`PAYMENTS_SIGNER`, `PAYMENTS_SIGNING_KEY`; `module:PATH` does whatever is right',
    probe: 'the service answers a trade query by its own rules: it has read and accepted it',
  },
  {
    id: 'unknown-order',
    open: 'what a trade query answers for a number that was never used',
    assumption: '900004; it is no proof that the order was not created, for reads may lag',
    setting: '`PAYOUTS_CONFIRMATION_WINDOW`',
    probe: 'a query for a number that cannot exist is answered 900004',
  },
  {
    id: 'partner-number',
    open: "whether create's `outOrderId` is the trade queries' `partner_order_id`",
    assumption: 'yes',
    setting: '',
    probe:
      'with `--order` and `--client-id`: the trade query finds an order that was created under this number',
  },
  {
    id: 'timestamps',
    open: 'the unit of `create_time` and `finish_time`',
    assumption:
      'seconds or milliseconds, told apart by magnitude; an empty text is absent; nothing depends on them',
    setting: '',
    probe: 'with `--order`: the times of that order lie between 2020 and now',
  },
  {
    id: 'audit-status',
    open: 'how the audit status "returned for material" is written: `RETURNED` or `DECLINED`',
    assumption:
      'both mean: awaiting material. Any other value is kept as written, is not final, and is flagged',
    setting: '',
    probe: 'with `--order`: the audit status of that order is one of the known ones',
  },
  {
    id: 'lock-field',
    open: 'how a create is tied to its quote: its table has no field for the lock',
    assumption:
      '`lockRateId` is sent beside the documented fields; an order that names another lock, rate or amount is flagged',
    setting: '',
    probe: "with `--order`: the order carries a lock's id",
  },
  {
    id: 'lock-lifetime',
    open: 'how long a lock lives',
    assumption: '60 seconds; a create is never sent later than that',
    setting: '`PAYMENTS_LOCK_LIFETIME`',
    probe: '',
  },
  {
    id: 'quote-lock',
    open: "the quote's lock is called `lock_rate_id` in the table and `lock_fee_id` in the text",
    assumption: 'either is read',
    setting: '',
    probe: 'with `--payer-id`: a small quote from USD to CNY carries one of them',
  },
  {
    id: 'create-codes',
    open: 'which codes of create say that nothing was created',
    assumption:
      'only 429, and even then the order is asked for over the confirmation window; any other code leaves it unknown',
    setting: '`PAYMENTS_CREATE_CODES`',
    probe: '',
  },
  {
    id: 'repeated-create',
    open: 'whether a second create with the same `outOrderId` is refused',
    assumption: 'it is not: an order that may exist is asked for, then a person decides',
    setting: '`PAYMENTS_REPEATED_CREATE=safe`',
    probe: '',
  },
  {
    id: 'notification-form',
    open: 'the fields of a notification',
    assumption:
      'every spelling of the specification, at the top, in `data`, in `receiver` and in `data.receiver`',
    setting: '`PAYMENTS_NOTIFICATION_FIELDS`',
    probe: '',
  },
  {
    id: 'notification-verification',
    open: 'how a notification is verified',
    assumption: 'it is not: each is only a hint to ask',
    setting: '`PAYMENTS_NOTIFICATION_VERIFIER`, `PAYMENTS_NOTIFICATION_SECRETS`',
    probe: '',
  },
  {
    id: 'receiving-account-record',
    open: "the fields of a receiving account's record, and which codes say that none was opened",
    assumption:
      'its number is `id`, `account_id` or `accountId`; the record is handed on as it is written. Codes: 900002, or any with an HTTP status of 400 to 499',
    setting: '',
    probe: '',
  },
  {
    id: 'currnecy',
    open: "the receiving account's currency is written `currency` in the table and `currnecy` in the sample",
    assumption: '`currency` is sent',
    setting: '',
    probe: '',
  },
];
