/** Secrets that anybody can read in this repository, weak ones, reused ones, and none: outside a test, no process starts with them. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { apiConfig } from '../../src/config/api-config.ts';
import { codecConfig } from '../../src/config/codec-config.ts';
import { workerConfig } from '../../src/config/config.ts';
import { ConfigError, type Environment } from '../../src/config/environment.ts';
import { ISSUED_LENGTH, Secrets } from '../../src/config/secrets.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { eventsFile, hmacSecret } from '../support/event-endpoint.ts';
import { newKey, newSecret } from '../support/keys.ts';
import { API, CODEC, OWN, SIMULATED, WORKER } from '../support/own-secrets.ts';
import { secretFile } from '../support/secret-file.ts';

const ROOT = join(import.meta.dirname, '../..');
const SANDBOX: Environment = { PAYMENTS_ENVIRONMENT: 'sandbox' };
const ZEROS = `k1:${Buffer.alloc(32).toString('base64')}`;
const TRIAL_CALLERS = join(ROOT, 'deploy/trial-callers.json');

/** How each program reads its settings, before anything else. */
const READ: Readonly<Record<string, (environment: Environment) => unknown>> = {
  [WORKER]: workerConfig,
  [API]: apiConfig,
  [CODEC]: codecConfig,
};

const STARTS = 'reads its settings';

/** What a process prints that does not start. */
function failureOf(program: string, change: Environment): string {
  try {
    READ[program]?.({ ...OWN[program], ...change });
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return STARTS;
}

const signedWith = (key: string) => ({ PAYMENTS_SIGNER: 'hmac-sha256', PAYMENTS_SIGNING_KEY: key });
const verifiedWith = (secrets: string) => ({
  PAYMENTS_NOTIFICATION_VERIFIER: 'hmac-sha256',
  PAYMENTS_NOTIFICATION_SECRETS: secrets,
});

describe('H156 outside a test', () => {
  const appsFile = keysFile({ east: { appId: 'app-1', appSecret: 'env:EAST' } });
  test.each<[program: string, change: Environment, said: string]>([
    [WORKER, { PAYMENTS_APP_SECRET: 'demo-secret' }, 'PAYMENTS_APP_SECRET: is published'],
    [
      WORKER,
      { PAYOUTS_APPS_FILE: appsFile, EAST: `file:${secretFile('demo-secret')}` },
      'PAYOUTS_APPS_FILE: east.appSecret: is published',
    ],
    [WORKER, { PAYOUTS_TOKEN_KEYS: SIMULATED }, 'PAYOUTS_TOKEN_KEYS: is published'],
    [WORKER, { PAYOUTS_TOKEN_KEYS: ZEROS }, 'PAYOUTS_TOKEN_KEYS: is not random'],
    [WORKER, { PAYOUTS_TOKEN_KEYS: '' }, 'PAYOUTS_TOKEN_KEYS: is missing'],
    [WORKER, { PAYOUTS_ENCRYPTION_KEYS: '' }, 'PAYOUTS_ENCRYPTION_KEYS: is missing'],
    [
      WORKER,
      { PAYMENTS_SIGNER: 'hmac-sha256', PAYMENTS_SIGNING_KEY: 'demo-secret' },
      'PAYMENTS_SIGNING_KEY: is published',
    ],
    [
      API,
      { PAYOUTS_API_KEYS_FILE: TRIAL_CALLERS },
      'PAYOUTS_API_KEYS_FILE: the key of trial-starter: is published',
    ],
    [API, { PAYOUTS_API_KEYS_FILE: '' }, 'PAYOUTS_API_KEYS_FILE: is missing'],
    [
      API,
      { PAYOUTS_ENCRYPTION_KEYS: `${newKey('k2')},${SIMULATED}` },
      'PAYOUTS_ENCRYPTION_KEYS: is published',
    ],
    [API, { PAYOUTS_ENCRYPTION_KEYS: '' }, 'PAYOUTS_ENCRYPTION_KEYS: is missing'],
    [
      API,
      { PAYMENTS_NOTIFICATION_VERIFIER: 'hmac-sha256', PAYMENTS_NOTIFICATION_SECRETS: 'one,demo-secret' },
      'PAYMENTS_NOTIFICATION_SECRETS: is published',
    ],
    [CODEC, { PAYOUTS_CODEC_KEYS: 'me:fuzz-codec-bearer-key' }, 'PAYOUTS_CODEC_KEYS: is published'],
    [CODEC, { PAYOUTS_CODEC_KEYS: '' }, 'PAYOUTS_CODEC_KEYS: is missing'],
    [CODEC, { PAYOUTS_ENCRYPTION_KEYS: SIMULATED }, 'PAYOUTS_ENCRYPTION_KEYS: is published'],
    [CODEC, { PAYOUTS_ENCRYPTION_KEYS: '' }, 'PAYOUTS_ENCRYPTION_KEYS: is missing'],
    [
      CODEC,
      { PAYMENTS_ENVIRONMENT: '', PAYOUTS_ENCRYPTION_KEYS: ZEROS },
      'PAYOUTS_ENCRYPTION_KEYS: is not random',
    ],
  ])('%s does not start with %j', (program, change, said) => {
    const output = failureOf(program, change);
    expect(output).toContain(said);
    expect(output).not.toContain('    at ');
    for (const secret of ['demo-secret', 'fuzz-codec-bearer-key', SIMULATED, ZEROS])
      expect(output).not.toContain(secret);
  });

  test.each([WORKER, API, CODEC])('%s reads keys of its own', (program) => {
    expect(failureOf(program, {})).toBe(STARTS);
  });
});

const withByte = (at: (index: number) => number) =>
  `k9:${Buffer.from(Uint8Array.from({ length: 32 }, (_, index) => at(index))).toString('base64')}`;

describe('H280 outside a test, a secret is long and random', () => {
  const keysOf = (setting: string, what: string): [string, Environment, string][] => [
    [WORKER, { [setting]: withByte(() => 7) }, `${setting}: ${what}`],
    [WORKER, { [setting]: withByte((index) => index) }, `${setting}: ${what}`],
    [WORKER, { [setting]: withByte((index) => (index % 16) ** 2) }, `${setting}: ${what}`],
  ];
  test.each<[program: string, change: Environment, said: string]>([
    ...keysOf('PAYOUTS_ENCRYPTION_KEYS', 'is not random'),
    ...keysOf('PAYOUTS_AUTHORIZATION_KEYS', 'is not random'),
    ...keysOf('PAYOUTS_SEARCH_KEYS', 'is not random'),
    [API, { PAYOUTS_DESK_SESSION_KEYS: ZEROS }, 'PAYOUTS_DESK_SESSION_KEYS: is not random'],
    [WORKER, { PAYMENTS_APP_SECRET: 'aiGh7eep8eeG4oo' }, 'PAYMENTS_APP_SECRET: has fewer than 16 characters'],
    [WORKER, { PAYMENTS_APP_SECRET: 'ababababbabaabab' }, 'PAYMENTS_APP_SECRET: is not random'],
    [WORKER, { TEMPORAL_API_KEY: 'aiGh7eep8eeG4oo' }, 'TEMPORAL_API_KEY: has fewer than 16 characters'],
    [WORKER, signedWith(newSecret().slice(0, 31)), 'PAYMENTS_SIGNING_KEY: has fewer than 32 characters'],
    [
      API,
      verifiedWith(`${newSecret()},short`),
      'PAYMENTS_NOTIFICATION_SECRETS: has fewer than 32 characters',
    ],
    [API, verifiedWith('0123456789abcdef'.repeat(4)), 'PAYMENTS_NOTIFICATION_SECRETS: is not random'],
    [CODEC, { PAYOUTS_CODEC_KEYS: `olga:${newSecret().slice(0, 31)}` }, 'PAYOUTS_CODEC_KEYS: has fewer'],
    [
      WORKER,
      {
        PAYOUTS_EVENTS_FILE: eventsFile([
          { url: 'https://shop.example', secrets: [`whsec_${'AB'.repeat(16)}`] },
        ]),
      },
      'PAYOUTS_EVENTS_FILE: 0.secrets.0: is not random',
    ],
  ])('%s does not start with %j', (program, change, said) => {
    const output = failureOf(program, change);
    expect(output).toContain(said);
    for (const secret of Object.values(change)) expect(output).not.toContain(secret);
    expect(failureOf(program, { ...change, PAYMENTS_ENVIRONMENT: 'test' })).not.toContain(said);
  });

  test('a module may get any key', () => {
    const [PAYMENTS_APP_SECRET, module] = [newSecret(), { PAYMENTS_SIGNER: 'module:sign.ts' }];
    for (const PAYMENTS_SIGNING_KEY of ['key-1', PAYMENTS_APP_SECRET])
      expect(failureOf(WORKER, { ...module, PAYMENTS_SIGNING_KEY, PAYMENTS_APP_SECRET })).toBe(STARTS);
    const published = failureOf(WORKER, { ...module, PAYMENTS_SIGNING_KEY: 'demo-secret' });
    expect(published).toContain('PAYMENTS_SIGNING_KEY: is published');
  });

  test('ten thousand that look random are accepted', () => {
    const secrets = new Secrets(SANDBOX);
    const problems = Array.from({ length: 10_000 }, (_, at) =>
      secrets.add('SECRET', createHash('sha256').update(String(at)).digest('hex').slice(0, 32)),
    );
    expect(problems.flat()).toEqual([]);
  });
});

describe('H281 outside a test, no secret has two uses', () => {
  const [secret, key] = [newSecret(), newKey('k1').slice('k1:'.length)];
  const hmac = hmacSecret();
  const callers = (text: string) =>
    keysFile([callerEntry('shop', { keySha256: [createHash('sha256').update(text).digest('hex')] })]);
  test.each<[program: string, change: Environment, said: string]>([
    [
      WORKER,
      { PAYOUTS_ENCRYPTION_KEYS: `k1:${key}`, PAYOUTS_TOKEN_KEYS: `t1:${key}` },
      'PAYOUTS_TOKEN_KEYS: is the same secret as PAYOUTS_ENCRYPTION_KEYS',
    ],
    [
      WORKER,
      { PAYOUTS_ENCRYPTION_KEYS: `k1:${key},k2:${key}` },
      'PAYOUTS_ENCRYPTION_KEYS: has the same secret twice',
    ],
    [
      WORKER,
      { ...signedWith(secret), PAYMENTS_APP_SECRET: secret },
      'PAYMENTS_SIGNING_KEY: is the same secret as PAYMENTS_APP_SECRET',
    ],
    [WORKER, { TEMPORAL_API_KEY: secret, PAYMENTS_APP_SECRET: secret }, 'PAYMENTS_APP_SECRET: is the same'],
    [
      WORKER,
      { PAYOUTS_EVENTS_FILE: eventsFile([{ url: 'https://shop.example', secrets: [hmac, hmac] }]) },
      'PAYOUTS_EVENTS_FILE: 0.secrets.1: is the same secret as PAYOUTS_EVENTS_FILE: 0.secrets.0',
    ],
    [
      WORKER,
      {
        PAYOUTS_TOKEN_KEYS: `t1:${key}`,
        PAYOUTS_EVENTS_FILE: eventsFile([{ url: 'https://shop.example', secrets: [`whsec_${key}`] }]),
      },
      'PAYOUTS_TOKEN_KEYS: is the same secret as PAYOUTS_EVENTS_FILE: 0.secrets.0',
    ],
    [
      API,
      { ...verifiedWith(secret), PAYOUTS_API_KEYS_FILE: callers(secret) },
      'PAYOUTS_API_KEYS_FILE: the key of shop: is the same secret as PAYMENTS_NOTIFICATION_SECRETS',
    ],
    [
      API,
      { PAYOUTS_ENCRYPTION_KEYS: `k1:${key}`, PAYOUTS_API_KEYS_FILE: callers(key) },
      'PAYOUTS_API_KEYS_FILE: the key of shop: is the same secret as PAYOUTS_ENCRYPTION_KEYS',
    ],
    [
      API,
      { PAYOUTS_AUTHORIZATION_KEYS: `a1:${key}`, PAYOUTS_DESK_SESSION_KEYS: `s1:${key}` },
      'PAYOUTS_DESK_SESSION_KEYS: is the same secret as PAYOUTS_AUTHORIZATION_KEYS',
    ],
    [
      CODEC,
      { PAYOUTS_ENCRYPTION_KEYS: `k1:${key}`, PAYOUTS_CODEC_KEYS: `olga:${key}` },
      'PAYOUTS_CODEC_KEYS: is the same secret as PAYOUTS_ENCRYPTION_KEYS',
    ],
  ])('%s does not start with %j', (program, change, said) => {
    const output = failureOf(program, change);
    expect(output).toContain(said);
    for (const text of [secret, key, hmac]) expect(output).not.toContain(text);
    expect(failureOf(program, { ...change, PAYMENTS_ENVIRONMENT: 'test' })).not.toContain('the same secret');
  });

  test('a changed file of callers is compared again, and not with its earlier self', () => {
    const environment = { ...OWN[API], ...verifiedWith(secret), PAYOUTS_API_KEYS_FILE: callers(newSecret()) };
    const { callers: read } = apiConfig(environment);
    expect(read.file?.read().keys).toEqual(read.keys);
    keysFile(
      [callerEntry('shop', { keySha256: [createHash('sha256').update(secret).digest('hex')] })],
      read.file?.path,
    );
    expect(() => read.file?.read()).toThrow('is the same secret as PAYMENTS_NOTIFICATION_SECRETS');
  });
});

describe('H156 every secret in the repository is refused', () => {
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
    .split('\0')
    .filter((file) => /(^|\.)(ts|mjs|md|json|ya?ml|py|go|java|example|sh|tf|txt|Dockerfile)$/.test(file))
    .filter((file) => file !== 'package-lock.json');
  const found = (pattern: RegExp, from = files) => [
    ...new Set(
      from.flatMap((file) =>
        [...readFileSync(join(ROOT, file), 'utf8').matchAll(pattern)].map(([, secret = '']) => secret),
      ),
    ),
  ];
  const isRefused = (secret: Parameters<Secrets['add']>[1]) =>
    new Secrets(SANDBOX).add('SECRET', secret, ISSUED_LENGTH).length === 1;
  const isAccepted = (secret: Parameters<Secrets['add']>[1]) => !isRefused(secret);

  test('encryption keys', () => {
    const keys = found(/[\w-]:([A-Za-z0-9+/]{43}=)/g).map((key) => Buffer.from(key, 'base64'));
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.filter(isAccepted)).toEqual([]);
  });

  test('keys of callers', () => {
    const hashes = found(/"keySha256": \["([0-9a-f]{64})"/g);
    expect(hashes).toContain(createHash('sha256').update('trial-approver').digest('hex'));
    expect(hashes.map((hex) => ({ hash: Buffer.from(hex, 'hex') })).filter(isAccepted)).toEqual([]);
  });

  test('keys that sign events, and private keys', () => {
    const keys = found(/\b(whs(?:ec|k)_[A-Za-z0-9+/]{16,}=*)/g);
    expect(keys).toContain('whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZS0=');
    expect(keys.filter(isAccepted)).toEqual([]);
    expect(found(/(-----BEGIN [A-Z ]*PRIVATE KEY-----\\?n?[A-Za-z0-9+/]{16})/g)).toEqual([]);
  });

  /** Those of tests are in no example that anybody follows. */
  test.each([
    ['of applications', /\bappSecret"?: ['"](?!env:|file:)([^'"$]+)['"]/g, 'demo-secret'],
    ['with a default', /\$\{\w*(?:SECRETS?|KEYS?|PASSWORD|TOKEN):-([^}]+)\}/g, 'trial-notification-secret'],
    [
      'in assignments',
      /\w*(?:SECRETS?|KEYS?|BEARER|PASSWORD|TOKEN)["']?(?: =|=|:) ?["']?(?!file:|env:|\/|-|[A-Z_]+["'])([\w+/=-]{8,})["'\n,}]/g,
      'fuzz-notification-secret',
    ],
  ])('secrets %s', (_, pattern, example) => {
    const secrets = found(
      pattern,
      files.filter((file) => !file.startsWith('test/')),
    );
    expect(secrets).toContain(example);
    expect(secrets.filter(isAccepted)).toEqual([]);
  });
});
