import { expect, test } from 'vitest';
import { typedAmount } from '../../src/desk/typed-amount.ts';

test.each([
  ['12480.5', '12480.5'],
  ['12,480.50', '12480.50'],
  ['12.480,50', '12480.50'],
  ['12 480,50', '12480.50'],
  ['12\u202f480,50', '12480.50'],
  ["1'012'480.50", '1012480.50'],
  ['12,480', '12480'],
  ['12,48', '12.48'],
  ['4417', '4417'],
  ['12,480.50 cny', '12480.50', 'CNY'],
  ['CNY 12 480,50', '12480.50', 'CNY'],
  ['98.5CNY', '98.5', 'CNY'],
])('reads %s', (text, amount, currency?: string) => {
  expect(typedAmount(text)).toEqual({ amount, ...(currency !== undefined && { currency }) });
});

test.each([
  '',
  'lotus',
  '1,2,3',
  '12,480,50',
  '12,480.50,10',
  '1234,567.00',
  '6222 0200 0000 4417',
  '1e5',
  '-5',
])('takes %s for no amount', (text) => expect(typedAmount(text)).toBeUndefined());

test('H343 a long text is no amount, at once', () => {
  const startedAt = performance.now();
  expect(typedAmount(`1${' '.repeat(300_000)}!`)).toBeUndefined();
  // The square of the length would take minutes.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});
