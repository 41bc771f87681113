/** Values that are known to break programs. The first of each list is the simplest, because shrinking ends there. */

const written = (texts: readonly string[]) => texts.map((text) => JSON.stringify(text));

/** Strings in JSON notation, with lone surrogates escaped. */
export const ODD_TEXTS: readonly string[] = [
  ...written(['', ' ', 'x', '0', ' x', 'x ', "'", '"', '`', '\\', '/', '.', '..', '%', '%00', '%2e%2e%2f']),
  ...written(['\u0000', '\u0007x', 'x\ny', 'x\r\nY: z', '\u007f', '\u0085', '\u2028', '\u00a0x', '\ufeffx']),
  ...written(['\ud800', 'x\udfff', '\udc00\ud800', '😀', 'ﬃ', 'İ', 'e\u0301', '\u202eabc', '中文', '\ufffd']),
  // Look-alikes of p-1, and characters that nobody sees.
  ...written(['\u0440-1', '\uff50-1', 'p\u20111', 'p\u200b-1', 'p\u00ad-1', 'p\u2060-1', '\u202ep-1', 'é']),
  ...written(['__proto__', 'constructor', 'toString', 'null', 'undefined', 'NaN', 'true', '[object Object]']),
  ...written([
    '1e3',
    '10',
    '10.5',
    '10.50',
    '10.500',
    '-1',
    '+1',
    '1,000',
    '٣',
    '0x10',
    '1e-7',
    '.5',
    '5.',
    '00',
  ]),
  ...written(['9999999999999999.99', '10000000000000000', '0.001', 'Infinity', "' OR '1'='1", '{{x}}']),
  ...written([
    '2026-02-30T00:00:00Z',
    '2026-01-01T00:00:00Z',
    '9999-12-31T23:59:59+14:00',
    '../../etc/passwd',
  ]),
  ...written(['env:toString', 'env:__proto__', 'file:.', 'file:\u0000', 'USD', 'usd', 'US', 'DEFAULT']),
];

/** Numbers in JSON notation, some of them invalid. */
export const ODD_NUMBERS: readonly string[] = [
  ...['0', '1', '-1', '-0', '0.0', '1.0', '10.5', '0.1', '0.001', '1e3', '1E+3', '1e-7', '2.8e-4', '1e400'],
  ...[
    '-1e400',
    '1e-400',
    '9007199254740993',
    '9999999999999999.99',
    '10000000000000000',
    '12345678901234567890',
  ],
  ...[
    '9223372036854775808',
    '253402300800000',
    '1700000000',
    '4294967296',
    '2147483648',
    `${'9'.repeat(400)}`,
  ],
  ...[
    `0.${'1'.repeat(400)}`,
    `1e${'9'.repeat(20)}`,
    '01',
    '+1',
    '.5',
    '5.',
    '0x10',
    '1_000',
    'NaN',
    '-',
    '1e',
    '--1',
  ],
];

export const ODD_VALUES: readonly string[] = [
  ...[
    'null',
    'true',
    'false',
    '{}',
    '[]',
    '[null]',
    '[[]]',
    '{"":""}',
    '{"currency":"CNY"}',
    '[{}]',
    'undefined',
  ],
  ...[
    '{"isLosslessNumber":true,"value":"1"}',
    '{"__proto__":{"amount":"1.00"}}',
    '{"toString":1}',
    '{"length":1}',
  ],
];

export const ODD_KEYS: readonly string[] = [
  ...written([
    'x',
    '',
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'app',
    'amount',
    'a.b',
  ]),
  ...written([
    '0',
    '-1',
    'length',
    ' app',
    'APP',
    'partnerOrderId\u0000',
    '\ud800',
    '~0',
    'data',
    'code',
    'x'.repeat(300),
  ]),
];

/** Around every length limit in the code. */
export const LENGTHS: readonly number[] = [
  ...[
    1, 8, 9, 16, 17, 32, 33, 63, 64, 65, 127, 128, 129, 254, 255, 256, 257, 300, 512, 513, 1_000, 4_096,
    8_193,
  ],
  20_000,
];

/** Nesting depths: around every limit, and beyond the stack of a recursive parser. */
export const DEPTHS: readonly number[] = [1, 2, 8, 14, 15, 16, 17, 62, 63, 64, 65, 500, 8_000];
