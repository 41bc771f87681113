import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { TokenOwner } from '../../src/domain/token-record.ts';
import { KeyRing, UndecipherableError, UnknownKeyError } from '../../src/encryption/key-ring.ts';
import { TokenSeal } from '../../src/encryption/token-seal.ts';
import { PROCESS_SURROUNDINGS } from '../../src/surroundings/process.ts';

const key = randomBytes(32);
const { random } = PROCESS_SURROUNDINGS;
const seal = new TokenSeal(new KeyRing(new Map([['t1', key]])), random);
const owner: TokenOwner = { environment: 'production', app: 'east', openId: 'seller-1' };

describe('a token is sealed for whom it belongs to', () => {
  test('and opens for them only', () => {
    const sealed = seal.seal('at-secret', owner, 'access');
    expect(sealed).not.toContain('at-secret');
    expect(Buffer.from(sealed.split('.').at(-1) ?? '', 'base64').toString()).not.toContain('at-secret');
    expect(seal.open(sealed, owner, 'access')).toBe('at-secret');
  });

  test.each<[string, TokenOwner, 'access' | 'refresh' | 'code']>([
    ['H15 of another user', { ...owner, openId: 'seller-2' }, 'access'],
    ['H15 of the application itself', { environment: 'production', app: 'east' }, 'access'],
    ['H15 of another application', { ...owner, app: 'west' }, 'access'],
    ['H16 of another environment', { ...owner, environment: 'sandbox' }, 'access'],
    ['of another kind', owner, 'refresh'],
  ])('%s: it cannot pass for that', (_what, other, kind) => {
    const sealed = seal.seal('at-secret', owner, 'access');
    expect(() => seal.open(sealed, other, kind)).toThrow(UndecipherableError);
  });

  test('H50 rotated keys open what the older ones sealed; a key that is not held says so', () => {
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

  test('with keys, what was written without them is not believed', () => {
    const plain = new TokenSeal(undefined, random).seal('at-secret', owner, 'access');
    expect(() => seal.open(plain, owner, 'access')).toThrow(UndecipherableError);
  });
});
