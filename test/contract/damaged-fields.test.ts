/** What no door accepts: values that a spreadsheet or an encoding has damaged, and texts that deceive the eye. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkPayoutRequest } from '../../src/contract/payout-request.ts';
import { payoutRequest } from '../support/requests.ts';
import { leavesOf } from '../support/spreadsheets.ts';

const full = payoutRequest('p-1', {
  openId: 'u-1',
  platform: 'Example Shop',
  metadata: { note: 'a note' },
  receiver: {
    ...payoutRequest('p-1').receiver,
    ...{ bankCode: '102-100', bankBranchName: 'Branch', province: 'Province', city: 'City' },
  },
});

const CODES = ['receiver.bankAccountNumber', 'receiver.idCardNumber', 'receiver.bankCode'];
const NAMES = [
  ...['bankCountry', 'bankName', 'bankAccountName', 'bankBranchName', 'province', 'city'].map(
    (name) => `receiver.${name}`,
  ),
];
const TEXTS = leavesOf(full).map(([path]) => path);

function withField(path: string, value: unknown): object {
  const [name = '', inner] = path.split('.');
  if (inner === undefined) return { ...full, [name]: value };
  const outer = Object.entries(full).find(([key]) => key === name)?.[1];
  return { ...full, [name]: { ...Object(outer), [inner]: value } };
}

function errorsOf(body: unknown, ...targetCurrencies: string[]): string[] {
  const checked = checkPayoutRequest(body, targetCurrencies.length > 0 ? targetCurrencies : undefined);
  return checked.ok ? [] : checked.errors.map(({ path, message }) => `${path} ${message}`);
}

const refusedAt = (path: string, value: unknown) => {
  const errors = errorsOf(withField(path, value));
  expect(errors.map((error) => error.split(' ')[0])).toEqual([path]);
  return errors[0] ?? '';
};

const textAt = (path: string) => leavesOf(full).find(([name]) => name === path)?.[1] ?? '';
const inserted = (text: string, at: number, added: string) => {
  const place = at % (text.length + 1);
  return text.slice(0, place) + added + text.slice(place);
};

describe('H195 the number of an account, an identity card or a bank', () => {
  const SCIENTIFIC = ['6.22202E+18', '6.22202e+18', '6,22202E+18', '6E+18', '6E18', '1.10101E+17', '6.E+18'];
  const FORMULAS = ['="6222020000000004"', '=6222', '=HYPERLINK("http://x.example","6222")'];
  const ERRORS = ['#REF!', '#N/A', '#NAME?', '#VALUE!', '#DIV/0!', '#NUM!', '#NULL!', '#SPILL!', '#####'];
  const LOCAL_ERRORS = ['#BEZUG!', '#NV', '#WERT!', '#¡REF!', '#ИМЯ?', '#NOM?', 'Err:502'];
  const OTHERS = [
    "'6222",
    '’6222',
    '6222.0',
    '1-Feb',
    '02-Mar-24',
    'Jan-24',
    '2024年1月2日',
    'TRUE',
    'NULL',
    'NaN',
  ];
  const WIDE = ['６２２２', '６222', '六二', '٦٢٢٢', '①②', '𝟔𝟐𝟐'];
  const damages = [...SCIENTIFIC, ...FORMULAS, ...ERRORS, ...LOCAL_ERRORS, ...OTHERS, ...WIDE];

  test.each(CODES)('%s is refused in every form into which a spreadsheet may change it', (path) => {
    for (const damage of damages) refusedAt(path, damage);
  });

  test('is accepted if it only resembles a date', () => {
    for (const path of CODES) expect(errorsOf(withField(path, 'ABC-123'))).toEqual([]);
  });

  test('is refused with any invisible character, space or foreign digit in it', () => {
    const strange = fc.constantFrom(
      ...[
        '\u00a0',
        ' ',
        '\u2009',
        '\u3000',
        '\t',
        '\n',
        '\u200b',
        '\u200c',
        '\u200d',
        '\u2060',
        '\ufeff',
        '\u00ad',
      ],
      ...[
        '\u202c',
        '\u202d',
        '\u200e',
        '\u2066',
        '\u3164',
        '\u180e',
        '\ufe0f',
        '\u{e0041}',
        '\u0301',
        '\u0000',
      ],
      ...['\uff11', '\u0661', '\ufffd', '?', '\ue000', '+', '_', '"', "'", '\u2010', '\u2212', '.'],
    );
    fc.assert(
      fc.property(fc.constantFrom(...CODES), fc.nat(64), strange, (path, at, char) => {
        refusedAt(path, inserted(textAt(path), at, char));
      }),
      { numRuns: 500 },
    );
  });

  test('says what is wrong, and names the field', () => {
    expect(refusedAt('receiver.bankAccountNumber', '6.22202E+18')).toContain('is in scientific notation');
    expect(refusedAt('receiver.idCardNumber', '="1101"')).toContain('must not be a formula');
    expect(refusedAt('receiver.bankCode', '#REF!')).toContain('is an error of a spreadsheet');
    expect(refusedAt('receiver.bankAccountNumber', 6222020000000004)).toMatch(/must be text in quotes$/);
    expect(refusedAt('partnerOrderId', '1.23457E+14')).toContain('is in scientific notation');
  });

  test('is accepted as banks and offices write it', () => {
    const accepted: [string, string][] = [
      ['receiver.bankAccountNumber', 'DE89370400440532013000'],
      ['receiver.bankAccountNumber', '012-345678-001'],
      ['receiver.idCardNumber', '11010119900307000X'],
      ['receiver.idCardNumber', 'A123456(7)'],
      ['receiver.bankCode', 'DEUTDEFF'],
      ['receiver.bankCode', '004'],
    ];
    for (const [path, value] of accepted) expect(errorsOf(withField(path, value))).toEqual([]);
  });

  test.each(NAMES)('%s is refused as an error, a formula or with replaced characters', (path) => {
    for (const damage of [
      ...ERRORS,
      ...LOCAL_ERRORS,
      ...FORMULAS,
      '6.22202E+18',
      '??',
      'J?rg',
      '\ufffd\ufffd',
    ])
      refusedAt(path, damage);
  });
});

describe('H196 a text', () => {
  const BIDI = [...'\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069'];

  test('with a bidirectional control anywhere is refused, in every field', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TEXTS), fc.nat(64), fc.constantFrom(...BIDI), (path, at, control) => {
        refusedAt(path, inserted(textAt(path), at, control));
      }),
      { numRuns: 500 },
    );
  });

  test('with an invisible character is refused', () => {
    for (const path of [...NAMES, 'platform', 'metadata.note'])
      for (const char of [
        '\u200b',
        '\u2060',
        '\ufeff',
        '\u00ad',
        '\u3164',
        '\u2028',
        '\u{e0041}',
        '\u200d',
        '\ufe0f',
      ])
        refusedAt(path, `Acme${char}Ltd`);
    // After an accent, a joiner joins nothing.
    refusedAt('receiver.bankAccountName', 'Jose\u0301\u200d Garcia');
  });

  test('in any script is accepted', () => {
    for (const name of [
      '张伟',
      'محمد علی',
      'می\u200cخواهم',
      'क्\u200dष',
      'র\u200d্যাচেল',
      'ಸೂರ\u200d್ಯ',
      'مُ\u200cحمد',
      'דוד לוי',
      "'t Hooft",
      '葛\u{e0100}城',
      'Société à',
    ])
      expect(errorsOf(withField('receiver.bankAccountName', name))).toEqual([]);
  });
});

describe('H199 a request that no provider or client can serve', () => {
  test.each(['.', '..'])('has the partnerOrderId %s, which no URL can name', (id) => {
    expect(refusedAt('partnerOrderId', id)).toContain('not "." or ".."');
    expect(errorsOf(withField('partnerOrderId', '...'))).toEqual([]);
  });

  const inCurrency = (currency: string, amount: string, over: object = {}) => ({
    ...full,
    ...{ originCurrency: 'USD', targetCurrency: currency, instructedAmount: { currency, amount } },
    receiver: { ...full.receiver, bankAccountCurrency: currency },
    ...over,
  });

  test.each(['JPY', 'KRW', 'VND', 'CLP'])('has decimals in %s, which has none', (currency) => {
    const message = 'must not have more decimals than its currency has';
    expect(errorsOf(inCurrency(currency, '100.50'))).toEqual([`instructedAmount.amount ${message}`]);
    expect(errorsOf(inCurrency(currency, '100.00'), currency)).toEqual([]);
    expect(errorsOf(inCurrency(currency, '100'), currency)).toEqual([]);
    const limits = { maxPay: { currency, amount: '1.05' }, maxFee: { currency, amount: '0.5' } };
    const yen = { ...full, originCurrency: currency, limits };
    expect(errorsOf(yen)).toEqual([`limits.maxFee.amount ${message}`, `limits.maxPay.amount ${message}`]);
  });

  test('has decimals that other currencies have', () => {
    for (const currency of ['USD', 'CNY', 'EUR', 'KWD', 'XXX', 'HUF', 'IDR', 'PKR', 'COP'])
      expect(errorsOf(inCurrency(currency, '100.55'), currency)).toEqual([]);
  });

  test('has an account in another currency than the target', () => {
    expect(refusedAt('receiver.bankAccountCurrency', 'USD')).toMatch(/must be the target currency$/);
  });
});

describe('a message', () => {
  test.each([
    ['clientId', undefined, 'is required'],
    ['receiver', undefined, 'is required'],
    ['type', undefined, 'is required'],
    ['type', 'GIFT', 'must be WITHDRAW or SUPPLIER'],
    ['approval', 'maybe', 'must be none or required'],
    ['clientId', 7, 'must be text in quotes'],
    ['receiver', 'x', 'must be an object'],
    ['instructedAmount.amount', undefined, 'is required'],
    ['instructedAmount.amount', 10, 'must be decimal text such as "10.50", not a number'],
    ['clientId', ['x'], 'must be one text, not several'],
  ])('about %s as %j is in plain words', (path, value, message) => {
    expect(refusedAt(path, value)).toBe(`${path} ${message}`);
  });
});
