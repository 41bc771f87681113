import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addMoney,
  compareDecimals,
  compareMoney,
  fromMinorUnits,
  normalizeAmount,
  sameMoney,
  sumMoney,
  toMinorUnits,
} from '../../src/contract/money.ts';

const minor = fc.bigInt({ min: 0n, max: 10n ** 18n - 1n });
const cny = (amount: string) => ({ currency: 'CNY', amount });

describe('H14 money is decimal text', () => {
  test('H14 text and minor units convert losslessly for every amount that the specification allows', () => {
    fc.assert(
      fc.property(minor, (units) => {
        expect(toMinorUnits(fromMinorUnits(units))).toBe(units);
      }),
    );
  });

  test.each([
    ['0', '0.00'],
    ['10', '10.00'],
    ['10.5', '10.50'],
    ['007', '7.00'],
    ['9999999999999999.99', '9999999999999999.99'],
    ['9007199254740993.01', '9007199254740993.01'],
  ])('H14 %s is %s', (written, meant) => expect(normalizeAmount(written)).toBe(meant));

  test.each([
    '',
    '-1',
    '+1',
    '1.',
    '.1',
    '1.001',
    '1e2',
    '1,0',
    ' 1',
    '1\n',
    '١',
    'NaN',
    '12345678901234567',
  ])('H14 rejects %j as an amount', (text) => expect(() => normalizeAmount(text)).toThrow(RangeError));

  test('H14 rejects negative amounts', () => expect(() => fromMinorUnits(-1n)).toThrow(RangeError));

  test('H14 sums are exact where floats are not', () => {
    expect(addMoney(cny('0.1'), cny('0.2'))).toEqual(cny('0.30'));
    expect(addMoney(cny('9007199254740992.00'), cny('1.01'))).toEqual(cny('9007199254740993.01'));
    expect(sumMoney('CNY', [])).toEqual(cny('0.00'));
  });

  test('H18 the order of the addends does not change a sum', () => {
    const small = fc.bigInt({ min: 0n, max: 10n ** 14n }).map((units) => cny(fromMinorUnits(units)));
    fc.assert(
      fc.property(fc.array(small, { maxLength: 20 }), (parts) => {
        expect(sumMoney('CNY', parts)).toEqual(sumMoney('CNY', parts.toReversed()));
      }),
    );
  });

  test('compares amounts by value, not by spelling', () => {
    expect(compareMoney(cny('9'), cny('10'))).toBeLessThan(0);
    expect(compareMoney(cny('10.10'), cny('10.1'))).toBe(0);
    expect(sameMoney(cny('1'), cny('1.00'))).toBe(true);
    expect(sameMoney(cny('1'), { currency: 'USD', amount: '1' })).toBe(false);
  });

  test('rejects mixed currencies', () => {
    const usd = { currency: 'USD', amount: '1' };
    for (const mix of [
      () => addMoney(cny('1'), usd),
      () => compareMoney(cny('1'), usd),
      () => sumMoney('CNY', [usd]),
    ])
      expect(mix).toThrow('cannot combine');
  });
});

describe('rates compare at any precision', () => {
  test.each([
    ['7.1', '7.0999', 1],
    ['7.10', '7.1', 0],
    ['0.00028', '0.000280000000000001', -1],
    ['10', '9.999', 1],
    ['-0.5', '0', -1],
    ['-0.10', '-0.1', 0],
    ['-5', '-4.999', -1],
  ])('%s with %s', (left, right, sign) => expect(compareDecimals(left, right)).toBe(sign));

  test.each(['', '--1', '1e3', '.5', 'x'])('rejects %j as a decimal', (text) => {
    expect(() => compareDecimals(text, '1')).toThrow(RangeError);
  });
});
