/** What people in finance read on the desk: no field, status, setting or command. */
import { describe, expect, test } from 'vitest';
import { ATTENTION } from '../../src/contract/attention-codes.ts';
import { REASON_MEANINGS } from '../../src/contract/meanings.ts';
import { actionOf, countryName, onTheDesk, sentence } from '../../src/desk/words.ts';

const { payout, followUp, receivingAccount } = ATTENTION;
const tables = { payout, followUp, receivingAccount, reasons: REASON_MEANINGS };
const explanations = Object.values(tables).flatMap((table) => Object.entries(table));

test.each(explanations)('explains %s', (code, { meaning, action }) => {
  const text = `${onTheDesk(meaning)} ${actionOf(code, action)}`;
  expect(text).not.toMatch(/`|[a-z][A-Z]|[A-Z]_/);
});

describe('says in words', () => {
  test.each([
    [
      'its beneficiary has a different bankAccountName and bankName',
      "the beneficiary's name and the bank differ from the request",
    ],
    [
      'No order was created: olga decided that no order was created.',
      'olga closed it in review. Nothing was paid.',
    ],
    ['No order was created: canceled by olga.', 'Not paid: canceled by olga.'],
    ['Asked them. No order was created; then: retry.', 'Asked them. There is no payment. Sent again.'],
    ['Approved by olga. Creating the order.', 'Approved by olga. Sending the payment.'],
    [
      'The order is final: SUCCESS. Its splits are being fetched again, because result and detail disagree.',
      "The provider has finished the payment: paid. The amounts are read again, because they don't add up yet.",
    ],
    [
      'the risk audit returned the order and awaits material (RETURNED)',
      'the risk audit returned the order and awaits material',
    ],
  ])('%s', (ours, theirs) => expect(sentence(ours)).toBe(theirs));

  test('countries', () => expect([countryName('CN'), countryName('Narnia')]).toEqual(['China', 'Narnia']));
});
