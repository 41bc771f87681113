/** The words of people in finance, instead of our codes, fields and commands. */
import { label as labelOf } from '../contract/codes.ts';
import { groupedAmount } from './grouped-amount.ts';

/** The words of people in finance, for codes whose own words would not tell them. */
const WORDS: Readonly<Record<string, string>> = {
  ...{ SUCCESS: 'Paid', PARTIAL_SUCCESS: 'Paid in part', NOT_CREATED: 'Not paid' },
  ...{ CHECKING: 'Being checked', QUOTING: 'Getting a quote', CREATING: 'Being sent' },
  ...{ RECONCILING: 'Checking with the provider', FETCHING_DETAIL: 'Confirming the amounts' },
  ...{ DONE: 'Finished', COMPLETED: 'Finished', RUNNING: 'In progress', notStarted: 'Not started' },
  ...{ AVAIL_ACCOUNT: 'Available balance', TEMP_ACCOUNT: 'Temporary account' },
};

export function label(code: string): string {
  return WORDS[code] ?? labelOf(code);
}

/** What the desk has instead of the commands in our tables. */
const ON_THE_DESK: Readonly<Record<string, string>> = {
  ...{
    status: "the payout's page",
    result: "the payout's page",
    poll: '“Query the provider now”',
    resolve: '“Review”',
  },
  ...{
    account: 'the account’s page',
    'account resolve': '“Resolve”',
    notify: 'your administrator',
    tokens: 'a renewal of the token',
  },
  ...{ 'events list': 'the Events page', 'events test': '“Send a test” on the Events page' },
  ...{ 'events enable': '“Enable” on the Events page', 'events resend': '“Send again” on the Events page' },
};
/** Fields, statuses and settings in our tables, in words. */
const TERMS: Readonly<Record<string, string>> = {
  ...{ partnerOrderId: 'ID', orderId: 'order number', payerId: 'payer', clientId: 'client' },
  ...{ originCurrency: 'the currency that is paid from', limits: 'the limits of the request' },
  ...{ NORMAL: 'normal', FAILED: 'failed', NOT_CREATED: 'not paid', lastCheckedAt: 'then' },
  ...{ queryPayDetail: 'the payments of this order' },
  ...{ PAYOUTS_APPROVAL_EXPIRES: 'the time for it', PAYOUTS_CALL_WAITS: 'usual' },
  ...{ PAYOUTS_OVERDUE_AFTER: 'usual' },
};
const TERM = /`(\w+)`/g;
const COMMAND = /`payouts ([a-z]+(?: [a-z]+)?)[^`]*`(?: with `--created [^`]*` or `[^`]*`)?/g;

/** Names no command line, which people in finance do not use. */
export function onTheDesk(text: string): string {
  return text
    .replace(/Run `payouts doctor`(\.?)/g, 'Ask your administrator to check the system$1')
    .replace('`payouts doctor` checks', 'Your administrator can check')
    .replace('Start a worker.', 'Ask your administrator to start a worker.')
    .replace('Retry after `retry-after` seconds.', 'Try again in a few seconds.')
    .replace(/(?<=[Tt]o pay(?: again)?, )use a new `partnerOrderId`/g, 'start a new payout')
    .replace(/ \(`\w+`(?: or `\w+`)*\)/g, '')
    .replace(TERM, (all, term: string) => TERMS[term] ?? all)
    .replace(COMMAND, (_all, command: string) => ON_THE_DESK[command] ?? 'your administrator')
    .replace(/\brun (?=“)/gi, 'choose ');
}

/** Our texts for operators, as people in finance would say it. None changes what a person or the provider wrote. */
const IN_FINANCE: readonly (readonly [RegExp, string])[] = [
  [/\bunder this partnerOrderId\b/g, 'under the ID of this payout'],
  [/\bthis partnerOrderId\b/g, 'the ID of this payout'],
  [/\bits partnerOrderId\b/g, 'its ID'],
  [/\bhad another body\b/, 'was for another payment'],
  [/\bthis clientId and payerId\b/, 'this client and payer'],
  [/(?<=awaits material) \(\w+\)$/, ''],
  [
    /a create call was sent, or may have been, and the provider knows no order/,
    'the payment may have been sent, but the provider has no record of it',
  ],
  [
    /a create call was sent, and its outcome is unknown: the order may exist/,
    'the payment was sent, and the provider may have it',
  ],
  [/but a create call of unknown outcome was sent/, 'but the payment was sent, and the provider may have it'],
  [/\bno create call is sent\b/, 'no payment is sent'],
  [/\bA create call was already sent\b/, 'The payment was already sent'],
  [/^An operator must decide\b/, 'Somebody must decide'],
  [
    /^Find out whether the order exists, then resolve\./,
    'Ask the provider whether it has this payment, then decide.',
  ],
  [/ The payout keeps querying the provider\.$/, ' Until then, the provider is asked again.'],
  [
    / (?:has|have) decided that no order was created\. The payout is confirming this with the provider\.$/,
    ' has decided that the provider has no payment. It is asked once more.',
  ],
  [
    /^Ends without an order, unless the provider knows one\.$/,
    'Then it closes without paying, unless the provider has one.',
  ],
  [
    /^Creates the order again, unless the provider knows one\.$/,
    'Then the payment is sent again, unless the provider has one.',
  ],
  [
    /^No order was created: (.+) decided that no order was created\.$/,
    '$1 closed it in review. Nothing was paid.',
  ],
  [/^No order was created:/, 'Not paid:'],
  [/^(.+) decided that no order was created$/, '$1 closed it in review'],
  [/\bNo order was created; then: end\./, 'There is no payment. Closed without paying.'],
  [/\bNo order was created; then: retry\./, 'There is no payment. Sent again.'],
  [/^The order failed:/, 'The payment failed:'],
  [/\bGetting a quote, or pausing before the next attempt to get one\./, 'Getting a quote.'],
  [/\bThe order is created once the quote is accepted\./, 'The payment is sent once the quote is accepted.'],
  [/\bThe application is paused or has no shared settings:/, 'New payments are paused:'],
  [/\bCreating the order\.$/, 'Sending the payment.'],
  [
    /^The order is tracked once the provider responds\..*$/,
    "If the provider doesn't respond, it is asked whether it has the payment. You can't cancel now.",
  ],
  [
    /\bConfirming with the provider whether the order exists\.$/,
    'Asking the provider whether it has the payment.',
  ],
  [/^The payout keeps confirming\b/, 'The provider is asked'],
  [/^The order is final\b/, 'The provider has finished the payment'],
  [
    / Its splits are being fetched again, because result and detail disagree\.$/,
    " The amounts are read again, because they don't add up yet.",
  ],
  [/ Its splits are being fetched\.$/, ' The amounts are being read.'],
  [
    /^The outcome is reported once all sums and flags agree\.$/,
    'The result is shown once all amounts agree.',
  ],
  [/^Waiting for notBefore\./, 'Waiting for its start time.'],
  [/^Starts at notBefore\./, 'Starts at that time.'],
  [/^The order exists\.$/, 'The provider has the payment.'],
  [/^The order exists with status PROCESSING\.$/, 'The provider is processing the payment.'],
  [/^The provider is queried again after a notification or .*$/, 'The provider is asked again regularly.'],
  [/^The provider knows no order\.$/, 'The provider has no record of it.'],
  [/^Order (may have been sent|sent|not sent)$/, 'Payment $1'],
  [/^Order read$/, 'Payment found'],
  [/^Asked whether the order exists$/, 'Asked the provider whether it has the payment'],
  [/^Publishes events$/, 'Events sent'],
  [/^the debits add up to (.+), the quote was (.+)$/, 'Debited $1, quoted $2'],
];
const STATUS_CODE = /(?<=\b(?:with status|finished the payment:|status is|^still) )[A-Z_]{4,}\b/g;

const DIFFERENT = /\bits beneficiary has a different ((?:bank\w+)(?: and bank\w+)*)/;
const BANK_FIELDS: Readonly<Record<string, string>> = {
  bankAccountName: "the beneficiary's name",
  bankAccountNumber: 'the account number',
  bankName: 'the bank',
};

/** `the beneficiary's name and the bank differ from the request` */
function differenceText(fields: string): string {
  const names = fields.split(' and ').map((field) => BANK_FIELDS[field] ?? field);
  return `${names.join(' and ')} ${names.length === 1 ? 'differs' : 'differ'} from the request`;
}

/** Text of our own, with its amounts as `money` shows them and its codes in words: `Paid 60,000.00 CNY.` */
export function sentence(text: string): string {
  return IN_FINANCE.reduce((said, [ours, theirs]) => said.replace(ours, theirs), text)
    .replace(DIFFERENT, (_all, fields: string) => differenceText(fields))
    .replace(STATUS_CODE, (code) => label(code).toLowerCase())
    .replace(/\b(\d+\.\d+)(?= [A-Z]{3}\b)/g, groupedAmount);
}

/** What to do, where our tables tell what only an administrator can. */
const ACTIONS: Readonly<Record<string, string>> = {
  APPROVAL_REFUSED: '',
  CREATION_STARTS_OVER: 'Ask your administrator to check the system.',
  QUOTE_REFUSED:
    'Check the payer and the client. “Query the provider now” asks again; you can also cancel. If it stays, ask your administrator.',
  PROVIDER_NOT_ANSWERING: 'Wait for the provider. If it stays, ask your administrator to check the system.',
};

/** For a code of our tables, whose action is `action`. Empty if there is nothing to do. */
export function actionOf(code: string, action: string): string {
  const known = ACTIONS[code] ?? onTheDesk(action);
  return known === 'Nothing.' ? '' : known;
}

const COUNTRIES = new Intl.DisplayNames('en', { type: 'region' });

/** `CN` as `China`. Another text stays as it is. */
export function countryName(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? (COUNTRIES.of(code) ?? code) : code;
}
