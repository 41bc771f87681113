/** The review of a payout: what the provider's order differs in, and the forms with which an operator decides. */
import type { PayoutState } from '../contract/payout.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { OTHER_ID } from '../domain/payout-order.ts';
import type { Problem } from '../service/problem.ts';
import { type Decided, fieldErrors, ids, typed } from './decisions.ts';
import { type Html, hidden, html, label, maskedAccount, money, pill, sentence, table } from './html.ts';
import type { Visit } from './identity.ts';

type Resolution = 'created' | 'end' | 'retry';

/** One form for each resolution, so that the browser requires what that one needs. */
export function reviewForm(visit: Visit, payout: Decided): Html {
  const { state, request } = payout;
  const { sends, reviewedOrderIds = [] } = state;
  const sent = typed(payout, 'resolve');
  const wrong = payout.attempt?.verb === 'resolve' ? payout.attempt.problem : undefined;
  const isNamed = reviewedOrderIds.length > 0;
  const form = (decision: Resolution, summary: string, content: Html) =>
    html`<details name="resolution"${sent['decision'] === decision && html` open`}><summary>${summary}</summary>
<form method="post" action="/desk/payouts/resolve">${hidden({
      ...ids(visit, payout),
      decision,
      sends: sends?.toString(),
      ...(isNamed && { reviewedOrderIds: JSON.stringify(reviewedOrderIds) }),
    })}${content}</form></details>`;
  const id = (name: 'orderId' | 'tradeOrderId', fallback = '') =>
    html`<input id="${name}" name="${name}" maxlength="128" autocomplete="off" value="${sent[name] ?? fallback}"${name === 'orderId' && html` required`}${errorAt(wrong, name) && html` aria-invalid="true" aria-describedby="${name}-error"`}>${errorAt(wrong, name)}`;
  const noneIsOurs =
    isNamed &&
    html`<label class="choice"><input type="checkbox" name="noneIsOurs" value="yes" required> I have checked that none of these orders belongs to this payout: ${reviewedOrderIds.join(', ')}</label>`;
  const amount = money(request.instructedAmount);
  const [yes, no] = isNamed ? (["It's ours", "It isn't ours"] as const) : (['Yes', 'No'] as const);
  return html`<fieldset><legend>${question(reviewedOrderIds)}</legend>
${form(
  'created',
  isNamed ? `${yes}. Track it` : `${yes}. The provider has this order`,
  html`<label for="orderId">Order ID</label>
${id('orderId', reviewedOrderIds.length === 1 ? reviewedOrderIds[0] : '')}${
  isNamed &&
  html`<details class="more"${(sent['tradeOrderId'] !== undefined || errorAt(wrong, 'tradeOrderId')) && html` open`}><summary>The provider has two numbers for it</summary>
<label for="tradeOrderId">Number with which the provider answers about its status <span class="faint">(optional)</span></label>
${id('tradeOrderId')}</details>`
}
<div class="buttons"><button>Track this order</button></div>`,
)}
${form(
  'end',
  `${no}. Close this payout without paying`,
  html`${noneIsOurs}<label class="choice"><input type="checkbox" name="closes" value="yes" required> <span>Close without paying ${amount}. If the first payment still arrives, this payout won't show it as paid.</span></label>
<div class="buttons"><button>Close without paying</button></div>`,
)}
${form(
  'retry',
  `${no}. Send the payment again`,
  html`${noneIsOurs}<label class="choice"><input type="checkbox" name="again" value="yes" required> <span>Pay ${amount} again. If the first payment arrives too, the beneficiary is paid twice.</span></label>
<div class="buttons"><button class="danger">Send the payment again</button></div>`,
)}</fieldset>`;
}

function question({ length }: readonly string[]): string {
  if (length === 0) return 'Does the provider have this payment?';
  return length === 1 ? 'Is this order ours?' : 'Is one of these orders ours?';
}

/** Shows what is wrong with a field, below it. */
function errorAt(problem: Problem | undefined, name: string): Html | undefined {
  const why = problem && fieldErrors(problem).get(name);
  return why === undefined ? undefined : html`<p class="error" id="${name}-error">${why}</p>`;
}

/** `the receiver gets 5.00 CNY, not 4.00 CNY` */
const VALUE =
  /\b(?:its|the) (lock|rate|fee|\w+ currency|payer pays|receiver gets)(?: is)? ([^;,]+), not ([^;]+)/g;
const NAMES: Readonly<Record<string, string>> = {
  ...{ lock: 'Rate lock', rate: 'Rate', fee: 'Fee' },
  ...{ 'payer pays': 'Payer pays', 'receiver gets': 'Amount' },
};
const BENEFICIARY = /its beneficiary has a different (.+)$/;

/**
 * What was requested, beside what the flag says of the provider's order. It tells no value that differs in the beneficiary:
 * the state has none. Undefined without an order that differs.
 */
export function comparison({ reasons }: PayoutState, request: CheckedPayoutRequest): Html | undefined {
  const message = reasons.find(({ code }) => code === 'ORDER_DIFFERS_FROM_REQUEST')?.message;
  if (message === undefined) return undefined;
  const [, fields = ''] = BENEFICIARY.exec(message) ?? [];
  const values = [...message.matchAll(VALUE)].map(([, what = '', found, ours]) => ({
    what: NAMES[what] ?? label(what),
    found: sentence(found ?? ''),
    ours: sentence(ours ?? ''),
  }));
  const { receiver, instructedAmount, partnerOrderId } = request;
  if (message.includes(OTHER_ID)) values.push({ what: 'ID', found: 'another ID', ours: partnerOrderId });
  if (fields === '' && values.length === 0) return undefined;
  // The identity is compared first: if that differs, the beneficiary isn't compared.
  const beneficiary = (field: string) =>
    fields.split(' and ').includes(field)
      ? pill('DIFFERS', 'bad')
      : fields === ''
        ? 'Not compared'
        : 'No difference seen';
  const isAmount = values.some(({ what }) => what === 'Amount');
  return table({
    caption: "The request beside the provider's order",
    head: ['What', 'Requested', 'Order'],
    rows: [
      ['Beneficiary', receiver.bankAccountName, beneficiary('bankAccountName')],
      ['Bank', receiver.bankName, beneficiary('bankName')],
      ['Account number', maskedAccount(receiver), beneficiary('bankAccountNumber')],
      ...(isAmount ? [] : [['Amount', money(instructedAmount), 'No difference seen']]),
      ...values.map(({ what, found, ours }) => [what, ours, html`${pill('DIFFERS', 'bad')} ${found}`]),
    ],
  });
}
