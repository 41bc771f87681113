/** Questions that the spec leaves open. `docs/open-points.md` explains each; `doctor` reports its findings under these ids. */
interface OpenPoint {
  id: string;
  /** The settings that change the assumption. Absent if no alternative is safe. */
  setting?: string;
  /** The options that `doctor` needs to check it. Absent: none, or no harmless read can check it. */
  needs?: string;
}

export interface ProbeFinding {
  id: string;
  verdict: 'holds' | 'does not hold' | 'not probed';
  /** The observation, or why there is none. Contains no personal data. */
  detail: string;
}

const AN_ORDER = '--order and --client-id';

export const OPEN_POINTS: readonly OpenPoint[] = [
  { id: 'gateway-token', setting: 'PAYMENTS_GATEWAY_TOKEN=user' },
  { id: 'trade-token', setting: 'PAYMENTS_TRADE_TOKEN=user, PAYMENTS_TRADE_AUTH_SCHEME=none' },
  { id: 'signature', setting: 'PAYMENTS_SIGNER, PAYMENTS_SIGNING_KEY' },
  { id: 'unknown-order', setting: 'PAYOUTS_CONFIRMATION_WINDOW, PAYMENTS_READ_LAG' },
  { id: 'partner-number', needs: AN_ORDER },
  { id: 'trade-order-id', setting: 'PAYMENTS_TRADE_ORDER_ID=own', needs: AN_ORDER },
  { id: 'client-of-payer', setting: 'PAYMENTS_CLIENT_PAIRS=trusted', needs: AN_ORDER },
  { id: 'application-of-order' },
  { id: 'echo', setting: 'PAYMENTS_ECHO=exact, PAYMENTS_ECHO=normalized', needs: AN_ORDER },
  { id: 'timestamps', needs: AN_ORDER },
  { id: 'audit-status', needs: AN_ORDER },
  { id: 'refund-flag' },
  { id: 'lock-field', needs: AN_ORDER },
  { id: 'lock-lifetime', setting: 'PAYMENTS_LOCK_LIFETIME' },
  { id: 'quote-lock', needs: '--payer-id' },
  { id: 'rate-direction', needs: '--payer-id' },
  { id: 'target-currency', setting: 'PAYMENTS_TARGET_CURRENCIES', needs: AN_ORDER },
  { id: 'create-codes', setting: 'PAYMENTS_CREATE_CODES' },
  { id: 'quote-codes', setting: 'PAYMENTS_QUOTE_CODES' },
  { id: 'repeated-create', setting: 'PAYMENTS_REPEATED_CREATE=safe, PAYMENTS_CREATE_CODES=CODE:duplicate' },
  { id: 'notification-form', setting: 'PAYMENTS_NOTIFICATION_FIELDS' },
  {
    id: 'notification-verification',
    setting: 'PAYMENTS_NOTIFICATION_VERIFIER, PAYMENTS_NOTIFICATION_SECRETS',
  },
  { id: 'notification-receipt', setting: 'PAYMENTS_NOTIFICATION_RECEIPT' },
  { id: 'receiving-account-record' },
  { id: 'currnecy' },
];
