import { describe, expect, test } from 'vitest';
import { idDiffers, textDiffers } from '../../src/domain/provider-text.ts';

describe('H234 compares what the provider shows of the beneficiary', () => {
  const account = '6222020000001234';
  test.each([
    ['6222****1234', account],
    ['6222 **** **** 1234', account],
    ['6222-0200-0000-1234', account],
    ['••••1234', account],
    ['6222########1234', account],
    ['****', account],
    ['Z** San', 'Zhang San'],
    ['张*', '张三'],
    ['ZHANG SAN', 'Zhang San'],
    ['ACME CO LTD', 'Acme Co., Ltd.'],
    ['gb29nwbk60161331926819', 'GB29 NWBK 6016 1331 9268 19'],
  ])('%s may be %s', (found, sent) => {
    expect(textDiffers('visible', found, sent)).toBe(false);
  });

  test.each([
    ['6222****9999', account],
    ['6217****1234', account],
    ['62220200000012345', account],
    ['622202000000****1234', '62220200001234'],
    ['6222****1234', '62221234'],
    ['6222**99**1234', account],
    ['L** San', 'Zhang San'],
    ['Zhang Si', 'Zhang San'],
    ['', account],
  ])('%s is not %s', (found, sent) => {
    expect(textDiffers('visible', found, sent)).toBe(true);
  });

  test('with PAYMENTS_ECHO=exact, a mask or other punctuation is a difference', () => {
    expect(textDiffers('exact', '6222****1234', account)).toBe(true);
    expect(textDiffers('exact', '6222-0200-0000-1234', account)).toBe(true);
    expect(textDiffers('exact', '6222 0200 0000 1234', account)).toBe(false);
  });

  test('a long text of masks is compared in linear time', () => {
    expect(textDiffers('visible', '*a'.repeat(100_000), 'a'.repeat(200_000))).toBe(false);
    expect(textDiffers('visible', '*a'.repeat(100_000), 'b'.repeat(200_000))).toBe(true);
  });
});

describe('H234 compares ids', () => {
  test('an id that is written in another way is another id, unless the provider is known to do so', () => {
    for (const echo of ['visible', 'exact'] as const) expect(idDiffers(echo, 'INV1', 'inv-1')).toBe(true);
    expect(idDiffers('normalized', 'INV1', 'inv-1')).toBe(false);
    expect(idDiffers('normalized', 'INV2', 'inv-1')).toBe(true);
    expect(idDiffers('normalized', 'INV*', 'inv-1')).toBe(true);
  });
});
