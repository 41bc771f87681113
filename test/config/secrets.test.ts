import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { PROCESSES } from '../../scripts/configuration/sections.ts';
import { variablesOf } from '../../scripts/configuration/variables.ts';
import { apiConfig } from '../../src/config/api-config.ts';
import { clientConfig } from '../../src/config/client-config.ts';
import { codecConfig } from '../../src/config/codec-config.ts';
import { workerConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { encryptionKeys } from '../../src/config/keys.ts';
import { temporalConfig } from '../../src/config/temporal-config.ts';
import { readSecret } from '../../src/config/values.ts';
import { createSigner } from '../../src/payments/index.ts';
import { keysFile } from '../support/callers.ts';
import { configProblems } from '../support/config-problems.ts';
import { newKey, newSecret } from '../support/keys.ts';
import { secretFile } from '../support/secret-file.ts';

const TEST: Environment = {
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_BASE_URL: 'http://127.0.0.1:8090',
  PAYMENTS_AUTH_URL: 'http://127.0.0.1:8090',
  PAYMENTS_APP_ID: 'demo-app',
  PAYMENTS_APP_SECRET: 'demo-secret',
};

interface Case {
  secret: string;
  /** What a process makes of the variable. Throws `ConfigError`. */
  read: (environment: Environment) => unknown;
}

const [PAYLOAD_KEYS, TOKEN_KEYS] = [newKey('k1'), newKey('t1')];
const [AUTHORIZATION_KEYS, SESSION_KEYS] = [newKey('a1'), newKey('s1')];

/** Every secret that a process reads, by variable. */
const CASES: Readonly<Record<string, Case>> = {
  TEMPORAL_API_KEY: {
    secret: 'canary-api-key',
    read: (own) => temporalConfig({ ...TEST, ...own }).connectionOptions.apiKey,
  },
  TEMPORAL_TLS_CLIENT_KEY_DATA: {
    secret: 'canary-client-key',
    read: (own) => temporalConfig({ TEMPORAL_TLS_CLIENT_CERT_DATA: 'cert', ...own }).connectionOptions.tls,
  },
  PAYOUTS_ENCRYPTION_KEYS: {
    secret: PAYLOAD_KEYS,
    read: (own) => encryptionKeys({ ...TEST, ...own }).payloads?.ids,
  },
  PAYOUTS_TOKEN_KEYS: {
    secret: TOKEN_KEYS,
    read: (own) => workerConfig({ ...TEST, ...own }).keys.tokens?.ids,
  },
  PAYOUTS_AUTHORIZATION_KEYS: {
    secret: AUTHORIZATION_KEYS,
    read: (own) => apiConfig({ ...TEST, ...own }).keys.authorizations?.ids,
  },
  PAYOUTS_SEARCH_KEYS: {
    secret: newKey('h1'),
    read: (own) => clientConfig({ ...TEST, ...own }).keys.search?.asked('Zhang San'),
  },
  PAYOUTS_DESK_SESSION_KEYS: {
    secret: SESSION_KEYS,
    read: (own) => apiConfig({ ...TEST, ...own }).PAYOUTS_DESK_SESSION_KEYS,
  },
  PAYOUTS_DESK_OIDC_CLIENT_SECRET: {
    secret: 'canary-of-the-client',
    read: (own) => apiConfig({ ...TEST, ...own }).PAYOUTS_DESK_OIDC_CLIENT_SECRET,
  },
  PAYOUTS_DESK_PROXY_SECRETS: {
    secret: 'canary-of-the-proxy, canary-older',
    read: (own) => apiConfig({ ...TEST, ...own }).PAYOUTS_DESK_PROXY_SECRETS,
  },
  PAYMENTS_APP_SECRET: {
    secret: 'canary-app-secret',
    read: (own) => workerConfig({ ...TEST, ...own }).applications.get('default')?.appSecret,
  },
  PAYMENTS_SIGNING_KEY: {
    secret: 'canary-signing-key',
    read: (own) => workerConfig({ ...TEST, PAYMENTS_SIGNER: 'hmac-sha256', ...own }).env.PAYMENTS_SIGNING_KEY,
  },
  PAYMENTS_NOTIFICATION_SECRETS: {
    secret: 'canary-newest, canary-older',
    read: (own) => apiConfig({ ...TEST, ...own }).PAYMENTS_NOTIFICATION_SECRETS,
  },
  PAYOUTS_CODEC_KEYS: {
    secret: 'one:canary-codec-key-one, two:canary-codec-key-two',
    read: (own) => codecConfig({ ...TEST, PAYOUTS_ENCRYPTION_KEYS: PAYLOAD_KEYS, ...own }).keys,
  },
};

function problems(read: () => unknown): string {
  return configProblems(read).join('\n');
}

test('every secret of the documentation has a test here', () => {
  const documented = Object.values(PROCESSES).flatMap((shape) =>
    variablesOf(shape).flatMap(({ name, isSecret }) => (isSecret ? [name] : [])),
  );
  expect([...new Set(documented)].sort()).toEqual(Object.keys(CASES).sort());
});

describe.each(Object.entries(CASES))('%s=file:PATH', (name, { secret, read }) => {
  test.each(['', '\n', '\r\n'])(
    'reads the secret from the file, without the trailing line break %j',
    (end) => {
      const value = read({ [name]: secret });
      expect(value).toBeDefined();
      expect(read({ [name]: `file:${secretFile(secret + end)}` })).toEqual(value);
    },
  );

  test('names a file that cannot be read, without its content', () => {
    const said = problems(() => read({ [name]: 'file:/nowhere/canary-secret' }));
    expect(said).toBe(`${name}: names a file that cannot be read (ENOENT)`);
  });

  test.each(['', '\n', ' \n\n'])('with %j in the file is reported as empty', (content) => {
    const said = problems(() => read({ [name]: `file:${secretFile(content)}` }));
    expect(said).toBe(`${name}: names a file that is empty`);
  });

  test('prints no part of a secret, whatever else is wrong in the environment', () => {
    const environment = {
      [name]: `file:${secretFile(secret)}`,
      PAYMENTS_ENVIRONMENT: 'canary-env',
      PAYOUTS_CODEC_KEYS: 'canary',
    };
    expect(problems(() => read(environment))).not.toContain(secret);
    expect(problems(() => read(environment))).not.toContain('canary');
  });
});

describe('a secret in a file', () => {
  test('keeps its other whitespace and lines', () => {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    expect(readSecret('KEY', `file:${secretFile(privateKey)}`)).toBe(privateKey.trimEnd());
    expect(readSecret('KEY', `file:${secretFile(' a b \n')}`)).toBe(' a b ');
  });

  test('can be an RSA key in PEM', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const { env } = workerConfig({
      ...TEST,
      PAYMENTS_SIGNER: 'rsa-sha256',
      PAYMENTS_SIGNING_KEY: `file:${secretFile(pem)}`,
    });
    const signer = await createSigner(env.PAYMENTS_SIGNER, env.PAYMENTS_SIGNING_KEY);
    const signed = await signer.sign({ method: 'POST', path: '/', body: Buffer.alloc(0), timestamp: 0 });
    expect(signed).toHaveProperty('x-signature');
  });

  test('can be referenced by env:NAME in PAYOUTS_APPS_FILE', () => {
    const file = keysFile({ east: { appId: 'a-1', appSecret: 'env:EAST_SECRET' } });
    const read = (reference: string) =>
      workerConfig({ ...TEST, PAYOUTS_APPS_FILE: file, EAST_SECRET: reference });
    expect(read(`file:${secretFile('from-file\n')}`).applications.get('east')?.appSecret).toBe('from-file');
    expect(problems(() => read('file:/nowhere'))).toBe(
      'PAYOUTS_APPS_FILE: east.appSecret names a file that cannot be read (ENOENT)',
    );
  });

  test('of PAYOUTS_APPS_FILE that is empty or missing is named by its field', () => {
    const read = (appSecret: string) =>
      workerConfig({ ...TEST, PAYOUTS_APPS_FILE: keysFile({ east: { appId: 'a-1', appSecret } }) });
    expect(problems(() => read(`file:${secretFile('\n')}`))).toMatch(
      /east\.appSecret names a file that is empty/,
    );
    expect(problems(() => read('file:/nowhere'))).toMatch(/east\.appSecret names a file that cannot be read/);
  });

  test.each([
    ['the codec server', codecConfig, 'PAYOUTS_TOKEN_KEYS'],
    ['the codec server', codecConfig, 'PAYOUTS_AUTHORIZATION_KEYS'],
    ['the codec server', codecConfig, 'PAYOUTS_SEARCH_KEYS'],
    ['the API server', apiConfig, 'PAYOUTS_TOKEN_KEYS'],
  ])('H160 %s does not start with keys that it does not need', (process, read, name) => {
    const environment = { ...TEST, PAYOUTS_ENCRYPTION_KEYS: PAYLOAD_KEYS };
    expect(problems(() => read({ ...environment, [name]: `file:${secretFile(TOKEN_KEYS)}` }))).toBe(
      `${name}: must not be given to ${process}`,
    );
  });

  test('H160 workers with a redirect URI require authorization keys outside a test on loopback', () => {
    const environment = {
      ...TEST,
      PAYMENTS_ENVIRONMENT: 'sandbox',
      PAYMENTS_BASE_URL: 'https://api.provider.example',
      PAYMENTS_AUTH_URL: 'https://auth.provider.example',
      PAYMENTS_APP_SECRET: newSecret(),
      PAYMENTS_ALLOWED_HOSTS: 'api.provider.example,auth.provider.example',
      PAYOUTS_ENCRYPTION_KEYS: PAYLOAD_KEYS,
      PAYOUTS_TOKEN_KEYS: TOKEN_KEYS,
    };
    const redirects = { PAYMENTS_REDIRECT_URI: 'https://payouts.example/v1/oauth/default/callback' };
    expect(problems(() => workerConfig(environment))).toBe('');
    expect(problems(() => workerConfig({ ...environment, ...redirects }))).toBe(
      'PAYOUTS_AUTHORIZATION_KEYS: is missing: it encrypts the codes of user authorizations',
    );
    const complete = { ...environment, ...redirects, PAYOUTS_AUTHORIZATION_KEYS: AUTHORIZATION_KEYS };
    expect(problems(() => workerConfig(complete))).toBe('');
  });
});
