import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { apiConfig } from '../../src/config/api-config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { configProblems } from '../support/config-problems.ts';
import { newKey } from '../support/keys.ts';

const PRODUCTION: Environment = {
  PAYMENTS_ENVIRONMENT: 'production',
  PAYOUTS_ENCRYPTION_KEYS: newKey('k1'),
  PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop')]),
};

function problems(change: Environment): string[] {
  return configProblems(() => apiConfig({ ...PRODUCTION, ...change }));
}

describe('H158 an API server that accepts unverified notifications', () => {
  test('does not start in production, and names both variables', () => {
    for (const verifier of [{}, { PAYMENTS_NOTIFICATION_VERIFIER: 'none' }])
      expect(problems(verifier)).toEqual([
        'PAYMENTS_NOTIFICATION_VERIFIER: is none: production needs another one, or PAYMENTS_NOTIFICATION_UNVERIFIED=accept',
      ]);
    expect(problems({ PAYMENTS_NOTIFICATION_UNVERIFIED: 'refuse' })).toHaveLength(1);
  });

  test('starts there by explicit choice, and elsewhere without it', () => {
    expect(problems({ PAYMENTS_NOTIFICATION_UNVERIFIED: 'accept' })).toEqual([]);
    expect(problems({ PAYMENTS_NOTIFICATION_VERIFIER: 'hmac-sha256' })).toEqual([]);
    expect(problems({ PAYMENTS_ENVIRONMENT: 'sandbox' })).toEqual([]);
  });

  test('rejects another value', () => {
    expect(problems({ PAYMENTS_NOTIFICATION_UNVERIFIED: 'yes' })[0]).toMatch(
      /^PAYMENTS_NOTIFICATION_UNVERIFIED: /,
    );
  });
});

test('H202 PAYMENTS_NOTIFICATION_RECEIPT is a status of success and a body in one line', () => {
  const accept = { PAYMENTS_NOTIFICATION_UNVERIFIED: 'accept' };
  const receiptOf = (text: string) =>
    apiConfig({ ...PRODUCTION, ...accept, PAYMENTS_NOTIFICATION_RECEIPT: text })
      .PAYMENTS_NOTIFICATION_RECEIPT;
  expect(receiptOf('')).toBeUndefined();
  expect(receiptOf('200 SUCCESS')).toEqual({
    status: 200,
    type: 'text/plain; charset=utf-8',
    body: 'SUCCESS',
  });
  expect(receiptOf('201 {"code":0}')).toMatchObject({ type: 'application/json', body: '{"code":0}' });
  expect(receiptOf('204')).toMatchObject({ status: 204, body: '' });
  for (const bad of ['OK', '302', '500 OK', '200OK', '204 OK', '200 a\nb', `200 ${'x'.repeat(1_001)}`])
    expect(problems({ ...accept, PAYMENTS_NOTIFICATION_RECEIPT: bad })).toEqual([
      'PAYMENTS_NOTIFICATION_RECEIPT: must be a status from 200 to 299, a space and a body of at most 1000 characters in one line; 204 and 205 have no body',
    ]);
});

test('PAYOUTS_API_PROXIES lists addresses and networks', () => {
  const accept = { PAYMENTS_NOTIFICATION_UNVERIFIED: 'accept' };
  expect(apiConfig({ ...PRODUCTION, ...accept }).PAYOUTS_API_PROXIES).toEqual([]);
  expect(
    apiConfig({ ...PRODUCTION, ...accept, PAYOUTS_API_PROXIES: '10.0.0.0/8, ::1' }).PAYOUTS_API_PROXIES,
  ).toEqual(['10.0.0.0/8', '::1']);
  for (const bad of ['proxy.example', '10.0.0.0/33', 'true'])
    expect(problems({ ...accept, PAYOUTS_API_PROXIES: bad })[0]).toMatch(/^PAYOUTS_API_PROXIES/);
});

test('H271 PAYOUTS_API_PROXIES takes no wide range, also not one of IPv6 that contains IPv4', () => {
  const accept = { PAYMENTS_NOTIFICATION_UNVERIFIED: 'accept' };
  const wide = [
    '0.0.0.0/0',
    '10.0.0.0/7',
    '::/0',
    '2001:db8::/31',
    '::ffff:0:0/96',
    '::ffff:10.0.0.0/104',
    '::/64',
  ];
  for (const one of wide)
    expect(problems({ ...accept, PAYOUTS_API_PROXIES: `10.0.0.7,${one}` })).toEqual([
      'PAYOUTS_API_PROXIES.1: must not be wider than /8 (IPv4) or /32 (IPv6)',
    ]);
  const narrow = '10.0.0.0/8,fd00:1::/32,::ffff:10.0.0.7';
  expect(problems({ ...accept, PAYOUTS_API_PROXIES: narrow })).toEqual([]);
});

describe('the desk', () => {
  const accept = { PAYMENTS_NOTIFICATION_UNVERIFIED: 'accept' };
  const settings = (change: Environment = {}) => apiConfig({ ...PRODUCTION, ...accept, ...change });

  test('is off unless PAYOUTS_DESK=on, and has no link to the Temporal UI by default', () => {
    expect(settings()).toMatchObject({ PAYOUTS_DESK: 'off' });
    expect(settings().PAYOUTS_DESK_TEMPORAL_UI).toBeUndefined();
    const keys = newKey('s1');
    expect(settings({ PAYOUTS_DESK: 'on', PAYOUTS_DESK_SESSION_KEYS: keys }).PAYOUTS_DESK).toBe('on');
    expect(problems({ ...accept, PAYOUTS_DESK: 'yes' })[0]).toMatch(/^PAYOUTS_DESK: /);
    expect(
      settings({ PAYOUTS_DESK_TEMPORAL_UI: 'https://ui.example/temporal/' }).PAYOUTS_DESK_TEMPORAL_UI,
    ).toBe('https://ui.example/temporal');
    expect(problems({ ...accept, PAYOUTS_DESK_TEMPORAL_UI: 'javascript:alert(1)' })[0]).toMatch(
      /^PAYOUTS_DESK_TEMPORAL_UI: must be an http or https URL/,
    );
  });

  test('needs session keys, which are random, outside a test', () => {
    const on = { ...accept, PAYOUTS_DESK: 'on' };
    const name = 'PAYOUTS_DESK_SESSION_KEYS';
    expect(problems(on)).toEqual([`${name}: is missing: it encrypts the sessions of the desk`]);
    const zeros = `s1:${Buffer.alloc(32).toString('base64')}`;
    expect(problems({ ...on, [name]: zeros })[0]).toMatch(/^PAYOUTS_DESK_SESSION_KEYS: is not random/);
    expect(problems({ ...on, [name]: 's1:short' })[0]).toMatch(/^PAYOUTS_DESK_SESSION_KEYS: must be keyId:/);
  });

  test('H271 takes a user from a header only of single hosts that prove who they are', () => {
    const header = { ...accept, PAYOUTS_DESK_USER_HEADER: 'X-Forwarded-User' };
    expect(problems(header)).toEqual([
      'PAYOUTS_DESK_PROXIES: is missing: it lists the proxies that set PAYOUTS_DESK_USER_HEADER',
      'PAYOUTS_DESK_PROXY_SECRETS: is missing: it proves that PAYOUTS_DESK_USER_HEADER is from the proxy',
    ]);
    const proxySecret = randomBytes(16).toString('hex');
    const behind = {
      ...header,
      PAYOUTS_DESK_PROXIES: '10.0.0.7, ::1',
      PAYOUTS_DESK_PROXY_SECRETS: proxySecret,
    };
    for (const range of ['10.0.0.0/8', '10.0.0.6/31', '::/127', 'proxy.example'])
      expect(problems({ ...behind, PAYOUTS_DESK_PROXIES: range })).toEqual([
        'PAYOUTS_DESK_PROXIES.0: must be IP addresses of single hosts, such as 10.0.0.7',
      ]);
    expect(
      problems({
        ...behind,
        PAYOUTS_DESK_PROXY_SECRETS: `${proxySecret},${randomBytes(16).toString('hex').slice(1)}`,
      }),
    ).toEqual([
      'PAYOUTS_DESK_PROXY_SECRETS: has fewer than 32 characters. Make a new one: only PAYMENTS_ENVIRONMENT=test may use it',
    ]);
    expect(settings(behind).PAYOUTS_DESK_PROXY_SECRETS).toEqual([proxySecret]);
    expect(settings(behind).PAYOUTS_DESK_USER_HEADER).toBe('x-forwarded-user');
    expect(problems({ ...behind, PAYOUTS_DESK_USER_HEADER: 'X User' })[0]).toMatch(
      /^PAYOUTS_DESK_USER_HEADER: must be the name of a header/,
    );
  });

  test('H272 takes people of an OpenID provider only with all of its settings, over TLS', () => {
    const issuer = { ...accept, PAYOUTS_DESK_OIDC_ISSUER: 'https://id.example' };
    expect(problems(issuer)).toEqual([
      'PAYOUTS_DESK_URL: is missing: PAYOUTS_DESK_OIDC_ISSUER needs it',
      'PAYOUTS_DESK_OIDC_CLIENT_ID: is missing: PAYOUTS_DESK_OIDC_ISSUER needs it',
      'PAYOUTS_DESK_OIDC_CLIENT_SECRET: is missing: PAYOUTS_DESK_OIDC_ISSUER needs it',
    ]);
    const whole = {
      ...issuer,
      PAYOUTS_DESK_URL: 'https://payouts.example',
      PAYOUTS_DESK_OIDC_CLIENT_ID: 'desk',
      PAYOUTS_DESK_OIDC_CLIENT_SECRET: randomBytes(16).toString('hex'),
    };
    expect(settings(whole).openId).toMatchObject({
      scopes: 'openid email',
      rolesClaim: 'groups',
      nameClaim: 'email',
    });
    expect(settings().openId).toBeUndefined();
    const plain = {
      PAYOUTS_DESK_URL: 'http://payouts.example',
      PAYOUTS_DESK_OIDC_ISSUER: 'http://id.example',
    };
    expect(problems({ ...whole, ...plain })).toEqual([
      'PAYOUTS_DESK_URL: must be https unless PAYMENTS_ENVIRONMENT=test',
      'PAYOUTS_DESK_OIDC_ISSUER: must be https unless PAYMENTS_ENVIRONMENT=test',
    ]);
    expect(problems({ ...whole, PAYOUTS_DESK_URL: 'https://payouts.example/desk' })[0]).toMatch(
      /^PAYOUTS_DESK_URL: must be an origin/,
    );
    expect(problems({ ...whole, PAYOUTS_DESK_OIDC_SCOPES: 'email' })[0]).toMatch(
      /^PAYOUTS_DESK_OIDC_SCOPES: /,
    );
    expect(problems({ ...whole, PAYOUTS_DESK_USER_HEADER: 'X-User' })).toContain(
      'PAYOUTS_DESK_USER_HEADER: cannot be set with PAYOUTS_DESK_OIDC_ISSUER',
    );
  });
});
