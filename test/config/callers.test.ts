import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { apiConfig } from '../../src/config/api-config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { configProblems } from '../support/config-problems.ts';
import { newKey } from '../support/keys.ts';

const TEST: Environment = { PAYMENTS_ENVIRONMENT: 'test', PAYMENTS_BASE_URL: 'http://127.0.0.1:9' };

function problems(environment: Environment): string {
  return configProblems(() => apiConfig({ ...TEST, ...environment })).join('\n');
}

const withFile = (content: unknown) => problems({ PAYOUTS_API_KEYS_FILE: keysFile(content) });

describe('PAYOUTS_API_KEYS_FILE', () => {
  test.each([
    [
      'a sandbox',
      { PAYMENTS_ENVIRONMENT: 'sandbox', PAYMENTS_BASE_URL: '', PAYOUTS_ENCRYPTION_KEYS: newKey('k') },
    ],
    ['all addresses', { PAYOUTS_API_LISTEN: '0.0.0.0:8080' }],
    ['all IPv6 addresses', { PAYOUTS_API_LISTEN: '[::]:8080' }],
  ])('is required, and named, for %s', (_what, environment) => {
    expect(problems(environment)).toMatch(/^PAYOUTS_API_KEYS_FILE: is missing/);
    expect(problems({ ...environment, PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop')]) })).toBe('');
  });

  test.each(['127.0.0.1:8080', '[::1]:8080', 'localhost:8080'])(
    'is optional for a test environment on %s',
    (listen) => {
      expect(problems({ PAYOUTS_API_LISTEN: listen })).toBe('');
    },
  );

  test.each([
    ['no JSON', '{', /cannot be read as JSON/],
    ['no list', {}, /must be a list/],
    ['nobody', [], /must name a caller/],
    ['a name', [callerEntry('The Boss')], /0\.name must be/],
    ['a hash', [callerEntry('shop', { keySha256: ['key-of-shop'] })], /0\.keySha256\.0 must be a SHA-256/],
    ['a verb', [callerEntry('shop', { verbs: ['pay'] })], /0\.verbs\.0/],
    ['an amount', [callerEntry('shop', { largestAmount: { CNY: 100 } })], /0\.largestAmount\.CNY must be/],
    ['a currency', [callerEntry('shop', { largestAmount: { yuan: '1' } })], /0\.largestAmount\.yuan/],
    ['a daily sum', [callerEntry('shop', { dailyAmount: { CNY: 100 } })], /0\.dailyAmount\.CNY must be/],
    [
      'a daily currency',
      [callerEntry('shop', { dailyAmount: { yuan: '1' } })],
      /0\.dailyAmount\.yuan must be/,
    ],
    ['no payout per day', [callerEntry('shop', { dailyCount: 0 })], /0\.dailyCount/],
    ['too many payouts per day', [callerEntry('shop', { dailyCount: 50_001 })], /0\.dailyCount/],
    ['a client', [callerEntry('shop', { clientIds: [] })], /0\.clientIds/],
    ['a prefix', [callerEntry('shop', { idPrefix: "x'" })], /0\.idPrefix must be 1 to 32/],
    ['an address', [callerEntry('shop', { addresses: ['10.0.0.0/33'] })], /0\.addresses\.0 must be IP/],
    ...[{ clientIds: ['c'] }, { openIds: ['u'] }, { idPrefix: 'shop-' }].map(
      (limits): [string, unknown, RegExp] => [
        `any payer and ${Object.keys(limits)}`,
        [callerEntry('shop', limits)],
        /0\.payerIds of shop is missing: whoever may start or batch/,
      ],
    ),
    ['a limit', [callerEntry('shop', { requestsPerSecond: 0 })], /0\.requestsPerSecond/],
    ['an expiry', [callerEntry('shop', { expiresAt: 'soon' })], /0\.expiresAt must be an ISO 8601 time/],
    ['a field', [callerEntry('shop', { admin: true })], /0\.admin is not a field/],
    ['a key twice', '[{"name":"shop","name":"shop"}]', /a key is repeated/],
    [
      'nobody',
      [callerEntry('shop', { keySha256: undefined })],
      /0\.keySha256 is missing: nobody is this caller/,
    ],
    [
      'a role of two callers',
      [callerEntry('shop', { roles: ['leads'] }), callerEntry('desk', { roles: ['leads'] })],
      /roles list a role twice/,
    ],
    ['a user', [callerEntry('shop', { users: ['Olga'] })], /0\.users\.0 must be 1 to 64 lowercase/],
    [
      'a user twice',
      [callerEntry('shop', { users: ['olga', 'olga'] })],
      /0\.users names a user or a caller twice/,
    ],
    [
      'a user of two callers',
      [callerEntry('shop', { users: ['olga'] }), callerEntry('desk', { users: ['olga'] })],
      /1\.users names a user or a caller twice/,
    ],
    [
      'a user with the name of a caller',
      [callerEntry('shop', { users: ['desk'] }), callerEntry('desk')],
      /0\.users names a user or a caller twice/,
    ],
    ['a name twice', [callerEntry('shop'), callerEntry('shop')], /1\.name appears twice/],
  ])('with %s: the API server does not start, and names the field', (_what, content, said) => {
    expect(withFile(content)).toMatch(/^PAYOUTS_API_KEYS_FILE: /);
    expect(withFile(content)).toMatch(said);
    expect(withFile(content)).not.toContain('key-of-shop');
  });

  const NAMED = [
    ['open', 'payerIds'],
    ['account', 'payerIds'],
    ['account', 'clientIds'],
    ['quote', 'clientIds'],
  ];
  test.each(NAMED)(
    'H288 refuses a limited key that may %s and does not name its %s',
    (verb = '', list = '') => {
      const limits = { clientIds: ['c'], payerIds: ['p'], idPrefix: 'shop-', verbs: [verb] };
      expect(withFile([callerEntry('shop', limits)])).toBe('');
      const without = [callerEntry('shop', { ...limits, [list]: undefined })];
      expect(withFile(without)).toContain(`0.${list} of shop is missing: whoever may`);
    },
  );

  test('H359 refuses a limited key that may quote and names no payers: a quote tells a balance', () => {
    const without = [callerEntry('shop', { clientIds: ['c'], verbs: ['quote'] })];
    expect(withFile(without)).toContain('0.payerIds of shop is missing: whoever may');
  });

  test('lets a key that starts nothing name no payers', () => {
    expect(withFile([callerEntry('shop', { clientIds: ['c'], verbs: ['read', 'approve'] })])).toBe('');
  });

  test('stops the API server when the file is missing; accepts the file for trials', () => {
    expect(problems({ PAYOUTS_API_KEYS_FILE: '/nowhere' })).toMatch(/cannot be read/);
    expect(problems({ PAYOUTS_API_KEYS_FILE: 'deploy/trial-callers.json' })).toBe('');
  });
});

describe('PAYOUTS_API_REQUESTS_PER_SECOND', () => {
  test('is 100 by default, and a positive whole number', () => {
    expect(apiConfig(TEST).PAYOUTS_API_REQUESTS_PER_SECOND).toBe(100);
    expect(apiConfig({ ...TEST, PAYOUTS_API_REQUESTS_PER_SECOND: '5' })).toMatchObject({
      PAYOUTS_API_REQUESTS_PER_SECOND: 5,
    });
    for (const text of ['0', '1.5', 'many', '10001'])
      expect(problems({ PAYOUTS_API_REQUESTS_PER_SECOND: text })).toMatch(
        /^PAYOUTS_API_REQUESTS_PER_SECOND: /,
      );
  });
});

describe('PAYOUTS_AUDIT_LOG', () => {
  test.each([
    ['a folder', tmpdir(), /^PAYOUTS_AUDIT_LOG: names a file that cannot be written \(EISDIR\)$/],
    ['a folder that is missing', '/nowhere/secret/audit.log', /cannot be written \(ENOENT\)$/],
  ])('with %s: the API server does not start, and does not quote the path', (_what, path, said) => {
    expect(problems({ PAYOUTS_AUDIT_LOG: path })).toMatch(said);
    expect(problems({ PAYOUTS_AUDIT_LOG: path })).not.toContain(path);
  });

  test('is optional, and may be stderr', () => {
    expect(apiConfig(TEST).PAYOUTS_AUDIT_LOG).toBeUndefined();
    expect(apiConfig({ ...TEST, PAYOUTS_AUDIT_LOG: 'stderr' }).PAYOUTS_AUDIT_LOG).toBe('stderr');
  });
});
