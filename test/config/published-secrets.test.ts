/** Keys that anybody can read in this repository, and no keys: outside a test, no process starts with them. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { apiConfig } from '../../src/config/api-config.ts';
import { codecConfig } from '../../src/config/codec-config.ts';
import { workerConfig } from '../../src/config/config.ts';
import { ConfigError, type Environment } from '../../src/config/environment.ts';
import { keyProblems, publishedProblems } from '../../src/config/keys.ts';
import { keysFile } from '../support/callers.ts';
import { newKey } from '../support/keys.ts';
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

/** What a process prints that does not start. */
function failureOf(program: string, change: Environment): string {
  try {
    READ[program]?.({ ...OWN[program], ...change });
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'reads its settings';
}

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
    expect(failureOf(program, {})).toBe('reads its settings');
  });
});

describe('H156 every secret in the repository is known', () => {
  const FOLDERS = [
    'bench',
    'chaos',
    'demo',
    'deploy',
    'docs',
    'examples',
    'fuzz',
    'scripts',
    'worlds',
    'simulator',
  ];
  const FILES = ['.env.example', 'docker-compose.yml', 'README.md', 'SECURITY.md'];
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );
  const texts = [...inFolders, ...FILES]
    .filter(
      (file) => /\.(ts|mjs|md|json|ya?ml|py|go|java|example)$/.test(file) && !file.includes('node_modules'),
    )
    .filter((file) => statSync(join(ROOT, file)).isFile())
    .map((file) => readFileSync(join(ROOT, file), 'utf8'));
  const found = (pattern: RegExp) => [
    ...new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, secret = '']) => secret))),
  ];

  test('encryption keys', () => {
    const keys = found(/[\w-]:([A-Za-z0-9+/]{43}=)/g);
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) expect(keyProblems(SANDBOX, key, [Buffer.from(key, 'base64')])).toHaveLength(1);
  });

  test('keys of callers', () => {
    const hashes = found(/"keySha256": \["([0-9a-f]{64})"/g);
    expect(hashes).toContain(createHash('sha256').update('trial-approver').digest('hex'));
    for (const hex of hashes) {
      const hash = Buffer.from(hex, 'hex');
      expect(publishedProblems(SANDBOX, hex, [{ hash }])).toHaveLength(1);
      expect(publishedProblems({ PAYMENTS_ENVIRONMENT: 'test' }, hex, [{ hash }])).toEqual([]);
    }
  });

  test('secrets of applications', () => {
    const secrets = [
      ...found(/\bappSecret"?: ['"](?!env:|file:)([^'"$]+)['"]/g),
      ...found(/PAYMENTS_APP_SECRET:-([^}]+)\}/g),
    ];
    expect(secrets).toContain('demo-secret');
    for (const secret of secrets) expect(publishedProblems(SANDBOX, secret, [secret])).toHaveLength(1);
  });
});
