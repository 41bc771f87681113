import { describe, expect, test } from 'vitest';
import { apiConfig } from '../../src/config/api-config.ts';
import { clientConfig } from '../../src/config/client-config.ts';
import { codecConfig } from '../../src/config/codec-config.ts';
import { workerConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { configProblems } from '../support/config-problems.ts';
import { newKey, newSecret } from '../support/keys.ts';

const OWN: Environment = {
  PAYOUTS_ENCRYPTION_KEYS: newKey('k1'),
  PAYMENTS_ENVIRONMENT: 'production',
  PAYMENTS_BASE_URL: 'https://api.provider.example/gate',
  PAYMENTS_ALLOWED_HOSTS: 'api.provider.example, auth.provider.example:8443',
};
/** Each process that reads `PAYMENTS_BASE_URL`. */
const PROCESSES: Readonly<Record<string, (environment: Environment) => unknown>> = {
  worker: (environment) =>
    workerConfig({
      PAYMENTS_AUTH_URL: 'https://auth.provider.example:8443',
      PAYMENTS_APP_ID: 'app-1',
      PAYMENTS_APP_SECRET: newSecret(),
      PAYOUTS_TOKEN_KEYS: newKey('t1'),
      ...environment,
    }),
  'API server': (environment) =>
    apiConfig({
      PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop')]),
      PAYMENTS_NOTIFICATION_UNVERIFIED: 'accept',
      ...environment,
    }),
  'codec server': (environment) => codecConfig({ PAYOUTS_CODEC_KEYS: `me:${newSecret()}`, ...environment }),
  client: clientConfig,
};

function problems(process: string, change: Environment): string[] {
  return configProblems(() => PROCESSES[process]?.({ ...OWN, ...change }));
}

describe.each(Object.keys(PROCESSES))('H48 %s: hosts of the provider outside a test', (process) => {
  test('accepts https with a listed host', () => {
    expect(problems(process, {})).toEqual([]);
    expect(problems(process, { PAYMENTS_ENVIRONMENT: 'sandbox' })).toEqual([]);
  });

  test('requires PAYMENTS_ALLOWED_HOSTS', () => {
    expect(problems(process, { PAYMENTS_ALLOWED_HOSTS: '' })).toEqual([
      expect.stringMatching(/^PAYMENTS_ALLOWED_HOSTS: is missing/),
    ]);
  });

  test.each([
    'https://evil.example',
    'https://api.provider.example.evil.example',
    'https://api.provider.example@evil.example',
    'https://xn--pi-6kc.provider.example',
    'https://\u0430pi.provider.example',
    'https://auth.provider.example',
    'https://127.0.0.1',
  ])('rejects the base URL %s', (url) => {
    expect(problems(process, { PAYMENTS_BASE_URL: url })).toEqual([
      'PAYMENTS_BASE_URL: has a host that PAYMENTS_ALLOWED_HOSTS does not list',
    ]);
  });

  test.each(['http://api.provider.example', 'http://127.0.0.1:8090'])('rejects %s, even if listed', (url) => {
    const change = {
      PAYMENTS_BASE_URL: url,
      PAYMENTS_ALLOWED_HOSTS: `127.0.0.1,${OWN['PAYMENTS_ALLOWED_HOSTS']}`,
    };
    expect(problems(process, change)).toEqual([
      'PAYMENTS_BASE_URL: must be https unless PAYMENTS_ENVIRONMENT=test',
    ]);
  });

  test.each([
    'https://api.provider.example',
    '*.provider.example',
    'API.provider.example',
    'a.example:443',
    'a/b',
    ',',
  ])('rejects the list %s', (list) => {
    expect(problems(process, { PAYMENTS_ALLOWED_HOSTS: list }).join()).toMatch(
      /PAYMENTS_ALLOWED_HOSTS\S* must/,
    );
  });

  test('a test needs no list, but obeys one', () => {
    const local = { PAYMENTS_ENVIRONMENT: 'test', PAYMENTS_BASE_URL: 'http://127.0.0.1:8090' };
    const listed = { ...local, PAYMENTS_AUTH_URL: 'http://127.0.0.1:8090' };
    expect(problems(process, { ...listed, PAYMENTS_ALLOWED_HOSTS: '' })).toEqual([]);
    expect(problems(process, local)).toEqual([
      'PAYMENTS_BASE_URL: has a host that PAYMENTS_ALLOWED_HOSTS does not list',
    ]);
  });
});

test('H48 only a worker reads the authorization page, and checks it too', () => {
  expect(problems('client', { PAYMENTS_AUTH_URL: 'http://127.0.0.1:8090' })).toEqual([]);
  expect(problems('worker', { PAYMENTS_AUTH_URL: 'http://auth.provider.example:8443' })).toEqual([
    'PAYMENTS_AUTH_URL: must be https unless PAYMENTS_ENVIRONMENT=test',
  ]);
  expect(problems('worker', { PAYMENTS_AUTH_URL: 'https://auth.provider.example' })).toEqual([
    'PAYMENTS_AUTH_URL: has a host that PAYMENTS_ALLOWED_HOSTS does not list',
  ]);
});
