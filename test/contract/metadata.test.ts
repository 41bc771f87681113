import { describe, expect, test } from 'vitest';
import { sameBody } from '../../src/client/start-once.ts';
import { rowsDigest } from '../../src/contract/batch.ts';
import { type CheckedPayoutRequest, checkPayoutRequest } from '../../src/contract/payout-request.ts';
import { payoutRequest } from '../support/requests.ts';

const withMetadata = (metadata: unknown): unknown => ({ ...payoutRequest('p-1'), metadata });
const pairs = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, 'x']));

function checked(metadata: unknown): CheckedPayoutRequest {
  const read = checkPayoutRequest(withMetadata(metadata));
  if (!read.ok) throw new Error(JSON.stringify(read.errors));
  return read.value;
}

function errors(metadata: unknown): unknown {
  const read = checkPayoutRequest(withMetadata(metadata));
  return read.ok ? [] : read.errors;
}

describe('metadata of a payout request', () => {
  test.each([
    ['one pair', { orderRef: 'A-1' }],
    ['20 pairs', pairs(20)],
    ['an empty value', { orderRef: '' }],
    ['a key of 40 and a value of 500 characters', { ['k'.repeat(40)]: 'v'.repeat(500) }],
    ['punctuation in a key', { 'cost center.1/a:b_c-d': 'x' }],
    ['any letters and spaces in a value', { note: ' für 张三 😀 ' }],
    [
      'names of members of every object',
      { constructor: 'a', prototype: 'b', toString: 'c', hasOwnProperty: 'd' },
    ],
  ])('accepts %s unchanged', (_what, metadata) => {
    expect(checked(metadata).metadata).toEqual(metadata);
  });

  test.each([
    ['21 pairs', pairs(21), 'metadata', /at most 20 pairs/],
    ['21 pairs of which one is bad', { ...pairs(20), 'bad\n': 'x' }, 'metadata', /at most 20 pairs/],
    ['an empty key', { '': 'x' }, 'metadata.', /key must be 1 to 40/],
    [
      'a key of 41 characters',
      { ['k'.repeat(41)]: 'x' },
      `metadata.${'k'.repeat(41)}`,
      /key must be 1 to 40/,
    ],
    ['a control character in a key', { 'a\tb': 'x' }, 'metadata.a\tb', /printable ASCII/],
    ['a look-alike in a key', { '\u043erderRef': 'x' }, 'metadata.\u043erderRef', /printable ASCII/],
    ['a key that is not NFC', { 'cafe\u0301': 'x' }, 'metadata.cafe\u0301', /printable ASCII/],
    ['a quote in a key', { 'a"b': 'x' }, 'metadata.a"b', /without quotes/],
    ['a value of 501 characters', { orderRef: 'v'.repeat(501) }, 'metadata.orderRef', /at most 500/],
    ['a line break in a value', { orderRef: 'a\nb' }, 'metadata.orderRef', /control characters/],
    ['half a surrogate pair', { orderRef: 'x\ud800' }, 'metadata.orderRef', /lone surrogate/],
    ['a number', { orderRef: 7 }, 'metadata.orderRef', /must be text/],
    ['null', { orderRef: null }, 'metadata.orderRef', /must be text/],
    ['an object', { orderRef: {} }, 'metadata.orderRef', /must be text/],
    ['a list', ['x'], 'metadata', /object of texts/],
    ['a text', 'x', 'metadata', /object of texts/],
    ['null instead of pairs', null, 'metadata', /object of texts/],
  ])('rejects %s and names the field', (_what, metadata, path, message) => {
    expect(errors(metadata)).toContainEqual({ path, message: expect.stringMatching(message) });
  });

  test('rejects the key __proto__, and changes no object', () => {
    const metadata: unknown = JSON.parse('{"__proto__":"x","constructor":"y"}');
    expect(errors(metadata)).toEqual([{ path: 'metadata.__proto__', message: 'must have another name' }]);
    const nested: unknown = JSON.parse('{"__proto__":{"polluted":"x"}}');
    expect(errors(nested)).toContainEqual({ path: 'metadata.__proto__', message: 'must have another name' });
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    expect(Object.getPrototypeOf(checked({ constructor: 'y' }).metadata)).toBe(Object.prototype);
  });

  test('is a part of the body, in any order of its keys', () => {
    const one = checked({ b: '1', a: '2' });
    const same = checked({ a: '2', b: '1' });
    expect(sameBody(one, same)).toBe(true);
    expect(rowsDigest([one])).toBe(rowsDigest([same]));
    for (const other of [{ a: '2' }, { a: '1', b: '2' }, { a: '2', b: '1', c: '' }, undefined]) {
      expect(sameBody(one, checked(other))).toBe(false);
      expect(rowsDigest([one])).not.toBe(rowsDigest([checked(other)]));
    }
  });

  test('without pairs is like an absent field', () => {
    const [absent, empty] = [checked(undefined), checked({})];
    expect(sameBody(absent, empty)).toBe(true);
    expect(rowsDigest([absent])).toBe(rowsDigest([empty]));
  });
});
