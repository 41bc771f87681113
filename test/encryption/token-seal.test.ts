import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { TokenOwner } from '../../src/contract/tokens.ts';
import { KeyRing, TokenSeal, UndecipherableError, UnknownKeyError } from '../../src/encryption/key-ring.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';

const key = randomBytes(32);
const { random } = PROCESS_RUNTIME;
const seal = new TokenSeal(new KeyRing(new Map([['t1', key]])), random);
const owner: TokenOwner = { environment: 'production', app: 'east', openId: 'seller-1' };

describe('a sealed token is bound to its owner', () => {
  test('opens for its owner', () => {
    const sealed = seal.seal('at-secret', owner, 'access');
    expect(sealed).not.toContain('at-secret');
    expect(Buffer.from(sealed.split('.').at(-1) ?? '', 'base64').toString()).not.toContain('at-secret');
    expect(seal.open(sealed, owner, 'access')).toBe('at-secret');
  });

  test.each<[string, TokenOwner, 'access' | 'refresh' | 'code']>([
    ['H15 for another user', { ...owner, openId: 'seller-2' }, 'access'],
    ['H15 for the application itself', { environment: 'production', app: 'east' }, 'access'],
    ['H15 of another application', { ...owner, app: 'west' }, 'access'],
    ['H16 of another environment', { ...owner, environment: 'sandbox' }, 'access'],
    ['of another kind', owner, 'refresh'],
  ])('does not open %s', (_what, other, kind) => {
    const sealed = seal.seal('at-secret', owner, 'access');
    expect(() => seal.open(sealed, other, kind)).toThrow(UndecipherableError);
  });

  test('H50 rotated keys open tokens sealed by older ones; a missing key is reported', () => {
    const sealed = seal.seal('rt-secret', owner, 'refresh');
    const next = new KeyRing(
      new Map([
        ['t2', randomBytes(32)],
        ['t1', key],
      ]),
    );
    expect(new TokenSeal(next, random).open(sealed, owner, 'refresh')).toBe('rt-secret');
    const without = new TokenSeal(new KeyRing(new Map([['t2', randomBytes(32)]])), random);
    expect(() => without.open(sealed, owner, 'refresh')).toThrow(UnknownKeyError);
  });

  test('with keys, rejects a token that was stored without them', () => {
    const plain = new TokenSeal(undefined, random).seal('at-secret', owner, 'access');
    expect(() => seal.open(plain, owner, 'access')).toThrow(UndecipherableError);
  });
});
