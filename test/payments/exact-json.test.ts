import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NotJsonError, numbersToText, readExactJson, writeExactJson } from '../../src/payments/exact-json.ts';

const read = (text: string, limits = {}) => readExactJson(Buffer.from(text), limits);

describe('exact JSON', () => {
  test('reads any JSON value as JSON.parse does, with numbers as text', () => {
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

  test('omits absent members', () => {
    expect(writeExactJson({ a: undefined, b: '"' }).toString()).toBe('{"b":"\\""}');
    expect(() => writeExactJson(undefined)).toThrow(TypeError);
  });

  test('ignores brackets and colons inside strings', () => {
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
  ])('H26 rejects %j, without quoting it', (text) => {
    expect(() => read(text)).toThrow(NotJsonError);
  });
});
