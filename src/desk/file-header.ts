/** What is wrong with the header of a CSV file, said once instead of for each row. */
import type { FieldError } from '../contract/failures.ts';
import { NOT_A_FIELD } from '../contract/fields.ts';
import { type Html, html } from './html.ts';

/** The fields that every payout has, and a row that shows their form. */
export const EXAMPLE = {
  partnerOrderId: 'invoice-1001',
  clientId: 'client-1',
  payerId: 'payer-1',
  type: 'WITHDRAW',
  'instructedAmount.currency': 'CNY',
  'instructedAmount.amount': '1250.00',
  originCurrency: 'USD',
  targetCurrency: 'CNY',
  remittancePurposeCode: 'GOODS_TRADE',
  platform: 'shop',
  approval: 'required',
  'receiver.bankCountry': 'CN',
  'receiver.bankName': 'Bank of Example',
  'receiver.bankAccountCurrency': 'CNY',
  'receiver.bankAccountNumber': '6222020000000001',
  'receiver.bankAccountName': 'Example Seller',
  'receiver.idCardNumber': '110101199003070001',
  'receiver.cardHoldType': 'Personal',
};
const FIELDS = Object.keys(EXAMPLE);
const MOST_SHOWN = 20;

export interface HeaderFault {
  unknown: readonly string[];
  missing: readonly string[];
}

/** `errors`: of the rows, by the paths of their fields. */
export function headerFault(
  columns: readonly string[] | undefined,
  errors: readonly (Pick<FieldError, 'message'> & { field: string })[],
): HeaderFault {
  if (!columns) return { unknown: [], missing: [] };
  const unknown = new Set<string>();
  const missing = new Set<string>();
  for (const { field, message } of errors)
    if (message === NOT_A_FIELD && columns.includes(field)) unknown.add(field);
    else for (const name of FIELDS) if (isIn(name, field) && !columns.includes(name)) missing.add(name);
  return { unknown: [...unknown], missing: FIELDS.filter((name) => missing.has(name)) };
}

const isIn = (name: string, field: string) => name === field || name.startsWith(`${field}.`);

/** Whether the header explains an error of a row. */
export function isOfHeader({ unknown, missing }: HeaderFault, field: string): boolean {
  return unknown.includes(field) || missing.some((name) => isIn(name, field));
}

export function headerWarning({ unknown, missing }: HeaderFault): Html | undefined {
  if (unknown.length + missing.length === 0) return undefined;
  return html`<div class="warning" role="alert">${unknown.slice(0, MOST_SHOWN).map((name) => {
    const likely = likeOf(name, missing);
    return html`<p>Column “<bdi>${name}</bdi>” isn't known${likely.length > 0 && html`; did you mean ${likely.map((one, at) => html`${at > 0 && ' or '}<code>${one}</code>`)}?`}</p>`;
  })}${missing.length > 0 && html`<p>Missing columns: ${missing.map((name, at) => html`${at > 0 && ', '}<code>${name}</code>`)}.</p>`}</div>`;
}

/** Missing columns whose last part ends like the name. */
function likeOf(name: string, missing: readonly string[]): string[] {
  const letters = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, '');
  const last = letters(name.split('.').at(-1) ?? '');
  if (last === '') return [];
  return missing.filter((one) => letters(one.split('.').at(-1) ?? '').endsWith(last)).slice(0, 3);
}
