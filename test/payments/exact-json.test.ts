import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NotJsonError, numbersToText, readExactJson, writeExactJson } from '../../src/payments/exact-json.ts';

const read = (text: string, limits = {}) => readExactJson(Buffer.from(text), limits);

describe('exact JSON', () => {
  test('any JSON value comes back as JSON.parse would have it, numbers as their text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        const plain: unknown = JSON.parse(text, (_key, inner) =>
          typeof inner === 'number' ? String(inner) : inner,
        );
        expect(numbersToText(read(text))).toEqual(plain);
        expect(read(text, { uniqueKeys: true })).toEqual(read(text));
      }),
    );
  });

  test('absent members are left out', () => {
    expect(writeExactJson({ a: undefined, b: '"' }).toString()).toBe('{"b":"\\""}');
    expect(() => writeExactJson(undefined)).toThrow(TypeError);
  });

  test('brackets and colons inside texts count for nothing', () => {
    expect(read('{"a":"[[[{{{:\\":","b":[]}', { maxDepth: 2, uniqueKeys: true })).toEqual({
      a: '[[[{{{:":',
      b: [],
    });
  });

  test.each([
    '',
    '{',
    '{"a":1,}',
    "{'a':1}",
    'NaN',
    '01',
    '1.',
    '{"a":1}{"a":1}',
    '{"a":1,"a":2}',
    '['.repeat(65),
  ])('H26 %j is no JSON for us, and the error quotes nothing', (text) => {
    expect(() => read(text)).toThrow(NotJsonError);
  });
});
