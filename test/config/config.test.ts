import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { plainPayloads, workerConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { versioning } from '../../src/workers/worker.ts';
import { configProblems } from '../support/config-problems.ts';
import { newSecret } from '../support/keys.ts';

const good: Environment = {
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_BASE_URL: 'http://127.0.0.1:8090',
  PAYMENTS_AUTH_URL: 'http://127.0.0.1:8090',
  PAYMENTS_APP_ID: 'demo-app',
  PAYMENTS_APP_SECRET: 'canary-secret',
};

/** Addresses that are accepted outside a test. */
const PROVIDER: Environment = {
  PAYMENTS_BASE_URL: 'https://api.example.com',
  PAYMENTS_APP_SECRET: newSecret(),
  PAYMENTS_AUTH_URL: 'https://auth.example.com',
  PAYMENTS_ALLOWED_HOSTS: 'api.example.com,auth.example.com',
};

function problems(environment: Environment): string[] {
  return configProblems(() => workerConfig(environment));
}

function key(id: string): string {
  return `${id}:${randomBytes(32).toString('base64')}`;
}

describe('the environment is read once, and every bad variable is named', () => {
  test('has the defaults of the contract', () => {
    const { env } = workerConfig(good);
    expect(env.PAYMENTS_CALLS_PER_SECOND).toBe(20);
    expect(env.PAYMENTS_LOCK_LIFETIME).toBe(60_000);
    expect(env.PAYOUTS_CONFIRMATION_WINDOW).toBe(600_000);
    expect(env.PAYOUTS_POLL_FIRST).toBe(30_000);
    expect(env.PAYOUTS_POLL_MAX).toBe(600_000);
    expect(env.PAYOUTS_APPROVAL_EXPIRES).toBe(86_400_000);
    expect(env.PAYOUTS_RECONCILE_EVERY).toBe(900_000);
    expect(env.PAYOUTS_FOLLOW_UP).toEqual([86_400_000, 604_800_000, 2_592_000_000]);
    expect([...env.PAYMENTS_CREATE_CODES]).toEqual([['429', 'busy']]);
    expect([...env.PAYMENTS_QUOTE_CODES]).toEqual([['900002', 'refused']]);
    expect(env.PAYMENTS_REPEATED_CREATE).toBe('review');
    expect(env.PAYOUTS_CREATE_CHECK).toBe('doubtful');
    expect(env.PAYMENTS_CLIENT_PAIRS).toBe('learned');
    expect(env.PAYMENTS_TRADE_ORDER_ID).toBe('same');
    expect(env.PAYMENTS_ECHO).toBe('visible');
  });

  test('refuses plain payloads, and never without keys', () => {
    const inTest = { ...good, PAYMENTS_ENVIRONMENT: 'test', PAYOUTS_ENCRYPTION_KEYS: key('k1') };
    const loopback = { ...inTest, PAYMENTS_BASE_URL: 'http://127.0.0.1:9', PAYOUTS_ENCRYPTION_KEYS: '' };
    const { env, ...config } = workerConfig(inTest);
    for (const PAYMENTS_ENVIRONMENT of ['test', 'sandbox', 'production'] as const) {
      const here = { ...env, PAYMENTS_ENVIRONMENT };
      expect(plainPayloads({ ...config, env: here })).toBe('refuse');
      for (const PAYOUTS_PLAIN_PAYLOADS of ['refuse', 'accept'] as const)
        expect(plainPayloads({ ...config, env: { ...here, PAYOUTS_PLAIN_PAYLOADS } })).toBe(
          PAYOUTS_PLAIN_PAYLOADS,
        );
    }
    expect(plainPayloads(workerConfig(loopback))).toBe('accept');
    expect(problems({ ...loopback, PAYOUTS_PLAIN_PAYLOADS: 'refuse' })).toContain(
      'PAYOUTS_PLAIN_PAYLOADS: refuses everything without PAYOUTS_ENCRYPTION_KEYS',
    );
  });

  test('names every required variable', () => {
    expect(problems({})).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^PAYMENTS_ENVIRONMENT: is missing/),
        expect.stringMatching(/^PAYMENTS_BASE_URL: is missing/),
        expect.stringMatching(/^PAYMENTS_AUTH_URL: is missing/),
        expect.stringMatching(/^PAYMENTS_APP_ID: is missing/),
      ]),
    );
  });

  test('has no worker version by default, and requires a whole one that Temporal accepts', () => {
    expect(versioning(workerConfig(good).env)).toEqual({});
    expect(problems({ ...good, PAYOUTS_DEPLOYMENT: 'payouts' })).toEqual([
      'PAYOUTS_BUILD_ID: is required by PAYOUTS_DEPLOYMENT',
    ]);
    const names = { PAYOUTS_DEPLOYMENT: 'payouts.east', PAYOUTS_BUILD_ID: 'a:b' };
    expect(problems({ ...good, ...names })).toEqual([
      'PAYOUTS_DEPLOYMENT: must be 1 to 128 letters, digits, underscores, hyphens and slashes',
      'PAYOUTS_BUILD_ID: must be 1 to 64 letters, digits, dots, underscores and hyphens',
    ]);
    const ofController = { PAYOUTS_DEPLOYMENT: 'payouts-production/payouts', PAYOUTS_BUILD_ID: '1.0.0' };
    expect(problems({ ...good, ...ofController })).toEqual([]);
    const { env } = workerConfig({ ...good, PAYOUTS_DEPLOYMENT: 'payouts', PAYOUTS_BUILD_ID: '1.0.0-4f2a' });
    expect(versioning(env)).toEqual({
      workerDeploymentOptions: {
        version: { deploymentName: 'payouts', buildId: '1.0.0-4f2a' },
        useWorkerVersioning: true,
        defaultVersioningBehavior: 'AUTO_UPGRADE',
      },
    });
  });

  test('requires rising follow-up times, and at least one second between reconciliations', () => {
    expect(problems({ ...good, PAYOUTS_FOLLOW_UP: '7d,1d' }).join()).toMatch(/PAYOUTS_FOLLOW_UP.*rise/);
    expect(problems({ ...good, PAYOUTS_FOLLOW_UP: '1d,soon' }).join()).toMatch(/PAYOUTS_FOLLOW_UP/);
    expect(problems({ ...good, PAYOUTS_RECONCILE_EVERY: '10ms' }).join()).toMatch(
      /PAYOUTS_RECONCILE_EVERY.*1s/,
    );
    expect(workerConfig({ ...good, PAYOUTS_FOLLOW_UP: '1h, 30d' }).env.PAYOUTS_FOLLOW_UP.length).toBe(2);
  });

  test('reports missing and bad variables together, without their values', () => {
    const found = problems({
      ...good,
      PAYMENTS_APP_ID: '',
      PAYOUTS_POLL_FIRST: 'canary-secret',
      PAYMENTS_BASE_URL: 'x',
    });
    expect(found.join('\n')).toMatch(/PAYMENTS_APP_ID.*missing/);
    expect(found.join('\n')).toMatch(/PAYOUTS_POLL_FIRST.*500ms/);
    expect(found.join('\n')).toMatch(/PAYMENTS_BASE_URL/);
    expect(found.join('\n')).not.toMatch(/canary/);
  });

  test.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['10m', 600_000],
    ['12h', 43_200_000],
    ['30d', 2_592_000_000],
  ])('%s is a duration', (text, ms) => {
    expect(workerConfig({ ...good, PAYOUTS_POLL_MAX: text }).env.PAYOUTS_POLL_MAX).toBe(ms);
  });

  test('accepts exactly the five meanings of create codes, and of HTTP statuses from 400 to 499', () => {
    const { env } = workerConfig({
      ...good,
      PAYMENTS_CREATE_CODES:
        '429:busy, 30001:lock-expired,30002:insufficient,30009:refused,30003:duplicate,http:401:busy',
    });
    expect(env.PAYMENTS_CREATE_CODES.get('30001')).toBe('lock-expired');
    expect(env.PAYMENTS_CREATE_CODES.get('30003')).toBe('duplicate');
    expect(env.PAYMENTS_CREATE_CODES.get('http:401')).toBe('busy');
    for (const wrong of ['30001:maybe', 'http:503:busy', 'http:200:refused', 'http:401', '1:2:busy'])
      expect(problems({ ...good, PAYMENTS_CREATE_CODES: wrong })[0]).toMatch(/PAYMENTS_CREATE_CODES/);
    const quoteCodes = workerConfig({ ...good, PAYMENTS_QUOTE_CODES: 'http:404:refused, 7:insufficient' }).env
      .PAYMENTS_QUOTE_CODES;
    expect([...quoteCodes]).toEqual([
      ['http:404', 'refused'],
      ['7', 'insufficient'],
    ]);
    for (const bad of ['7:busy', 'http:4:refused', 'refused'])
      expect(problems({ ...good, PAYMENTS_QUOTE_CODES: bad })[0]).toMatch(/PAYMENTS_QUOTE_CODES/);
  });

  test.each(['PAYMENTS_CLIENT_PAIRS', 'PAYMENTS_TRADE_ORDER_ID', 'PAYMENTS_ECHO'])(
    '%s has few values',
    (name) => {
      expect(problems({ ...good, [name]: 'maybe' })[0]).toContain(name);
    },
  );
  test('H220 lists the target currencies, by default CNY', () => {
    const listed = (text: string) =>
      workerConfig({ ...good, PAYMENTS_TARGET_CURRENCIES: text }).env.PAYMENTS_TARGET_CURRENCIES;
    expect(workerConfig(good).env.PAYMENTS_TARGET_CURRENCIES).toEqual(['CNY']);
    expect(listed('CNY, EUR')).toEqual(['CNY', 'EUR']);
    for (const bad of ['yuan', 'CNY,cny', ','])
      expect(problems({ ...good, PAYMENTS_TARGET_CURRENCIES: bad })[0]).toMatch(/PAYMENTS_TARGET_CURRENCIES/);
  });

  test('H46 without encryption keys, starts only in the test environment against loopback, and names what is missing', () => {
    const elsewhere: Environment[] = [
      { ...PROVIDER, PAYMENTS_ENVIRONMENT: 'production' },
      { ...PROVIDER, PAYMENTS_ENVIRONMENT: 'sandbox' },
      { PAYMENTS_BASE_URL: 'https://pay.example.com' },
      { PAYMENTS_BASE_URL: 'http://127.0.0.1.example.com' },
    ];
    for (const place of elsewhere) {
      const found = problems({ ...good, ...place });
      expect(found.join('\n')).toMatch(/PAYOUTS_ENCRYPTION_KEYS/);
      expect(found.join('\n')).toMatch(/PAYOUTS_TOKEN_KEYS/);
      expect(problems({ ...good, ...place, PAYOUTS_ENCRYPTION_KEYS: key('k1') })).toEqual([
        expect.stringMatching(/PAYOUTS_TOKEN_KEYS/),
      ]);
      const both = { PAYOUTS_ENCRYPTION_KEYS: key('k1'), PAYOUTS_TOKEN_KEYS: key('t1') };
      expect(problems({ ...good, ...place, ...both })).toEqual([]);
    }
  });

  test.each([
    ['no id', randomBytes(32).toString('base64')],
    ['too short', `k1:${randomBytes(16).toString('base64')}`],
    ['an id twice', `${key('k1')},${key('k1')}`],
    ['an empty entry', `${key('k1')},`],
  ])('rejects a key ring with %s, without quoting it', (_what, ring) => {
    for (const name of ['PAYOUTS_ENCRYPTION_KEYS', 'PAYOUTS_TOKEN_KEYS']) {
      const found = problems({ ...good, [name]: ring }).join('\n');
      expect(found).toContain(name);
      for (const part of ring.split(/[:,]/).filter((text) => text.length > 8))
        expect(found).not.toContain(part);
    }
  });

  test('reads several applications from a file, with secrets by reference', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'apps-'));
    const file = join(folder, 'apps.json');
    writeFileSync(join(folder, 'secret'), 'from-file\n');
    writeFileSync(
      file,
      JSON.stringify({
        east: { appId: 'a-1', appSecret: 'env:EAST_SECRET' },
        west: { appId: 'a-2', appSecret: `file:${join(folder, 'secret')}`, callsPerSecond: 40 },
      }),
    );
    const { applications } = workerConfig({ ...good, PAYOUTS_APPS_FILE: file, EAST_SECRET: 'from-env' });
    expect(applications.get('east')?.appSecret).toBe('from-env');
    expect(applications.get('west')?.appSecret).toBe('from-file');
    expect(applications.get('west')?.callsPerSecond).toBe(40);
    expect(problems({ ...good, PAYOUTS_APPS_FILE: file })).toEqual([
      expect.stringMatching(/east\.appSecret/),
    ]);
    writeFileSync(file, JSON.stringify({ East: { appId: 'a', appSecret: 'plain' } }));
    expect(problems({ ...good, PAYOUTS_APPS_FILE: file }).join('\n')).toMatch(/East/);
  });

  test('rejects a repeated name in PAYOUTS_APPS_FILE, because parsers disagree on which entry counts', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'payouts-')), 'apps.json');
    const one = (appId: string) => JSON.stringify({ appId, appSecret: 'env:PAYMENTS_APP_SECRET' });
    writeFileSync(file, `{"east":${one('a-1')},"east":${one('a-2')}}`);
    expect(problems({ ...good, PAYOUTS_APPS_FILE: file }).join()).toMatch(/cannot be read as JSON/);
  });

  test('rejects an application in PAYOUTS_APPS_FILE that would be ignored', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'payouts-')), 'apps.json');
    const one = (appId: string) => JSON.stringify({ appId, appSecret: 'env:PAYMENTS_APP_SECRET' });
    writeFileSync(file, `{"east":${one('a-1')},"__proto__":${one('a-2')}}`);
    expect(problems({ ...good, PAYOUTS_APPS_FILE: file }).join()).toMatch(/a key is __proto__/);
  });

  test.each(['toString', '__proto__', 'constructor'])(
    'reports a secret by reference to env:%s, which is not a variable, as missing',
    async (name) => {
      const file = join(await mkdtemp(join(tmpdir(), 'payouts-')), 'apps.json');
      writeFileSync(file, JSON.stringify({ east: { appId: 'a-1', appSecret: `env:${name}` } }));
      expect(problems({ ...good, PAYOUTS_APPS_FILE: file })).toEqual([
        'PAYOUTS_APPS_FILE: east.appSecret cannot be read from its reference',
      ]);
    },
  );

  test('H59 rejects one app_id under two names, by field', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'payouts-')), 'apps.json');
    const appSecret = 'env:PAYMENTS_APP_SECRET';
    const apps = { east: { appId: 'a-1', appSecret }, west: { appId: 'a-1', appSecret } };
    writeFileSync(file, JSON.stringify(apps));
    expect(problems({ ...good, PAYOUTS_APPS_FILE: file })).toEqual([
      'PAYOUTS_APPS_FILE: west.appId is the same as east.appId',
    ]);
  });

  test.each(['a 1', ' a-1', 'a-1\n', 'é', 'x'.repeat(129)])('H59 rejects the app_id %j', async (appId) => {
    expect(problems({ ...good, PAYMENTS_APP_ID: appId }).join()).toMatch(/PAYMENTS_APP_ID.*printable/);
    const file = join(await mkdtemp(join(tmpdir(), 'payouts-')), 'apps.json');
    writeFileSync(file, JSON.stringify({ east: { appId, appSecret: 'env:PAYMENTS_APP_SECRET' } }));
    expect(problems({ ...good, PAYOUTS_APPS_FILE: file }).join()).toMatch(/east.appId.*printable/);
  });
});
