import { describe, expect, test } from 'vitest';
import { withProfile } from '../../src/config/cli-config.ts';
import { secretFile } from '../support/secret-file.ts';

const BASE = { HOME: '/home/olga', TEMPORAL_ADDRESS: 'elsewhere:7233', PAYOUTS_ENCRYPTION_KEYS: 'k:other' };

function environment(profiles: unknown, more: Record<string, string> = {}): Record<string, string> {
  return { ...BASE, PAYOUTS_PROFILES_FILE: secretFile(JSON.stringify(profiles)), ...more };
}

function problems(profiles: unknown, name = 'one'): string {
  const read = withProfile(environment(profiles), name);
  return read.ok ? '' : read.problems.join('\n');
}

describe('profiles', () => {
  const PROFILES = {
    one: {
      TEMPORAL_ADDRESS: 'one:7233',
      PAYMENTS_ENVIRONMENT: 'sandbox',
      TEMPORAL_API_KEY: 'env:ONE_API_KEY',
      PAYOUTS_ENCRYPTION_KEYS: 'file:/keys/one',
    },
    two: { TEMPORAL_NAMESPACE: 'two' },
  };

  test('without a choice, the variables count', () => {
    const given = environment(PROFILES);
    expect(withProfile(given, undefined)).toEqual({ ok: true, value: given });
  });

  test('a profile replaces every variable of a connection, and reads secrets by reference', () => {
    const secret = secretFile('k1:secret\n');
    const one = { ...PROFILES.one, PAYOUTS_ENCRYPTION_KEYS: `file:${secret}` };
    const given = environment(
      { one },
      { ONE_API_KEY: 'the-key', TEMPORAL_NAMESPACE: 'left', TEMPORAL_GRPC_META_TENANT: 'left' },
    );
    const read = withProfile(given, 'one');
    expect(read.ok && read.value).toEqual({
      HOME: '/home/olga',
      PAYOUTS_PROFILES_FILE: given['PAYOUTS_PROFILES_FILE'],
      ONE_API_KEY: 'the-key',
      TEMPORAL_ADDRESS: 'one:7233',
      PAYMENTS_ENVIRONMENT: 'sandbox',
      TEMPORAL_API_KEY: 'the-key',
      PAYOUTS_ENCRYPTION_KEYS: 'k1:secret',
    });
  });

  test('the option takes precedence over PAYOUTS_PROFILE', () => {
    const given = environment({ ...PROFILES, one: {} }, { PAYOUTS_PROFILE: 'two' });
    expect(withProfile(given, undefined)).toMatchObject({ ok: true, value: { TEMPORAL_NAMESPACE: 'two' } });
    const read = withProfile(given, 'one');
    expect(read.ok && read.value).not.toHaveProperty('TEMPORAL_NAMESPACE');
  });

  test.each([
    ['an unknown profile', { two: {} }, /has no profile "one"; it has: two$/],
    ['a property that every object inherits', { two: {} }, /has no profile "toString"/, 'toString'],
    ['an unknown field', { one: { ADDRESS: 'x' } }, /one\.ADDRESS is not a field/],
    [
      'a secret in the file',
      { one: { TEMPORAL_API_KEY: 'plain-secret' } },
      /TEMPORAL_API_KEY must be a reference/,
    ],
    ['a missing variable', { one: { TEMPORAL_API_KEY: 'env:NOT_SET' } }, /TEMPORAL_API_KEY cannot be read/],
    ['a value that is no text', { one: { TEMPORAL_NAMESPACE: 1 } }, /TEMPORAL_NAMESPACE must be text/],
  ])('refuses %s', (_what, profiles, message, name = 'one') => {
    expect(problems(profiles, name)).toMatch(message);
    expect(problems(profiles, name)).not.toContain('plain-secret');
  });

  test('a file that is missing is named', () => {
    const read = withProfile({ ...BASE, PAYOUTS_PROFILES_FILE: '/no/such/file' }, 'one');
    expect(read).toEqual({ ok: false, problems: [expect.stringContaining('/no/such/file cannot be read')] });
  });
});
