/** Histories and commands cross the connection to Temporal: outside a test, it's encrypted and authenticated. */
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { connectPayouts } from '../../src/client/connect.ts';
import { apiConfig } from '../../src/config/api-config.ts';
import { workerConfig } from '../../src/config/config.ts';
import { ConfigError, type Environment } from '../../src/config/environment.ts';
import { temporalConfig } from '../../src/config/temporal-config.ts';
import { connectClient } from '../../src/temporal/connection.ts';
import { configProblems } from '../support/config-problems.ts';
import { newKey, newSecret } from '../support/keys.ts';
import { API, OWN, WORKER } from '../support/own-secrets.ts';

const AWAY: Environment = { TEMPORAL_ADDRESS: 'temporal.example:7233', PAYMENTS_ENVIRONMENT: 'sandbox' };
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const CERTIFICATE: Environment = {
  TEMPORAL_TLS_CLIENT_CERT_DATA: 'certificate',
  TEMPORAL_TLS_CLIENT_KEY_DATA: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
};
const ACCEPT: Environment = { PAYOUTS_TEMPORAL_INSECURE: 'accept' };
const API_KEY: Environment = { TEMPORAL_API_KEY: newSecret() };

const problems = (change: Environment) => configProblems(() => temporalConfig({ ...AWAY, ...change }));

describe('H282 outside a test, Temporal on another machine needs TLS and credentials, or an explicit choice', () => {
  test('names what is missing, and what to set', () => {
    expect(problems({})).toEqual([
      'TEMPORAL_ADDRESS: is connected to without TLS (TEMPORAL_TLS=true) and credentials (TEMPORAL_API_KEY, or TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH). Set them, or PAYOUTS_TEMPORAL_INSECURE=accept',
    ]);
  });

  test.each<[what: string, change: Environment, missing: string]>([
    ['TLS without credentials', { TEMPORAL_TLS: 'true' }, 'without credentials'],
    ['an API key in the clear', { ...API_KEY, TEMPORAL_TLS: 'false' }, 'without TLS'],
    ['no environment', { PAYMENTS_ENVIRONMENT: undefined }, 'without TLS'],
    ['production', { PAYMENTS_ENVIRONMENT: 'production' }, 'without TLS'],
    ['a name like loopback', { TEMPORAL_ADDRESS: 'localhost.example:7233' }, 'without TLS'],
    ['all addresses', { TEMPORAL_ADDRESS: '0.0.0.0:7233' }, 'without TLS'],
  ])('refuses %s', (_, change, missing) => {
    expect(problems(change)).toEqual([expect.stringContaining(missing)]);
    expect(problems({ ...change, ...ACCEPT })).toEqual([]);
    expect(problems({ ...change, PAYMENTS_ENVIRONMENT: 'test' })).toEqual([]);
  });

  test.each<[what: string, change: Environment]>([
    ['an API key', API_KEY],
    ['a client certificate', CERTIFICATE],
    ['the default address', { TEMPORAL_ADDRESS: undefined }],
    ['loopback', { TEMPORAL_ADDRESS: '127.0.0.1:7233' }],
    ['loopback over IPv6', { TEMPORAL_ADDRESS: '[::1]:7233' }],
  ])('accepts %s', (_, change) => {
    expect(problems(change)).toEqual([]);
  });

  test('workers and the API server report it with their other settings', () => {
    const said = expect.stringContaining('TEMPORAL_ADDRESS: is connected to without TLS');
    const address = { TEMPORAL_ADDRESS: 'temporal.example:7233' };
    const worker = configProblems(() => workerConfig({ ...OWN[WORKER], ...address, PAYMENTS_APP_ID: '' }));
    expect(worker).toEqual([said, expect.stringContaining('PAYMENTS_APP_ID')]);
    expect(configProblems(() => apiConfig({ ...OWN[API], ...address }))).toEqual([said]);
  });

  test('so do clients, whose own options come first', async () => {
    const keys = { PAYOUTS_ENCRYPTION_KEYS: newKey('k1') };
    const connect = (environment: Environment, connection = {}) =>
      connectClient({
        environment: { ...environment, ...keys },
        connection: { connectTimeout: 1, ...connection },
      });
    await expect(connect(AWAY)).rejects.toThrow(ConfigError);
    await expect(connect(AWAY, { apiKey: newSecret() })).rejects.toThrow('cannot connect to Temporal');
    await expect(connect(AWAY, { address: '127.0.0.1:9' })).rejects.toThrow('cannot connect to Temporal');
    const nearby = { ...AWAY, TEMPORAL_ADDRESS: '127.0.0.1:9' };
    await expect(connect(nearby, { address: 'temporal.example:7233' })).rejects.toThrow(ConfigError);
    const away = { connection: { address: 'temporal.example:7233' }, encryptionKeys: newKey('k1') };
    await expect(connectPayouts(away)).rejects.toThrow('PAYOUTS_TEMPORAL_INSECURE=accept');
  });
});
