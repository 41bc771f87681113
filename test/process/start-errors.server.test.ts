/** What a person reads when a process cannot start: what is wrong and what to do, and no stack. */
import { expect, inject, test } from 'vitest';
import type { Environment } from '../../src/config/environment.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { newKey, newSecret } from '../support/keys.ts';
import { startProgram } from '../support/processes.ts';
import { QUICK } from '../support/test-world.ts';

const NOWHERE = 'http://127.0.0.1:9';

async function failureOf(program: string, environment: Environment): Promise<string> {
  const started = startProgram(program, environment, /ready|listening/);
  return started.then(
    async (own) => {
      await own.stop('SIGKILL');
      throw new Error(`${program} started`);
    },
    (error: Error) => error.message,
  );
}

test.concurrent.each(['src/workers/main.ts', 'src/starters/api/main.ts'])(
  '%s without Temporal',
  async (program) => {
    const environment = {
      ...QUICK,
      PAYMENTS_BASE_URL: NOWHERE,
      PAYMENTS_AUTH_URL: NOWHERE,
      PAYOUTS_API_LISTEN: '127.0.0.1:0',
      TEMPORAL_ADDRESS: '127.0.0.1:9',
    };
    const said = await failureOf(program, environment);
    expect(said).toMatch(/^cannot connect to Temporal at 127\.0\.0\.1:9: .+\. Check TEMPORAL_ADDRESS /m);
    expect(said).not.toContain('    at ');
  },
);

test.concurrent('a worker whose namespace does not exist', async () => {
  const said = await failureOf('src/workers/main.ts', {
    ...QUICK,
    PAYMENTS_BASE_URL: NOWHERE,
    PAYMENTS_AUTH_URL: NOWHERE,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: 'not-there',
  });
  expect(said).toContain('temporal operator namespace create --retention 90d --namespace not-there');
  expect(said).not.toContain('    at ');
});

test.concurrent('a worker with bad and missing settings: every one by its name', async () => {
  const said = await failureOf('src/workers/main.ts', { PAYMENTS_ENVIRONMENT: 'staging' });
  expect(said).toMatch(/PAYMENTS_ENVIRONMENT[\s\S]*PAYMENTS_BASE_URL[\s\S]*PAYMENTS_APP_ID/);
  expect(said).toContain('PAYMENTS_BASE_URL: is missing');
  expect(said).toContain('PAYMENTS_AUTH_URL: is missing');
});

test.concurrent.each([
  ['src/workers/main.ts', {}],
  ['src/starters/api/main.ts', { PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop')]) }],
  ['src/codec-server/main.ts', { PAYOUTS_CODEC_KEYS: `me:${newSecret()}` }],
  ['src/starters/cli/main.ts', {}],
])('H48 %s with a provider that is not on the list of allowed hosts', async (program, own) => {
  const environment = {
    PAYMENTS_ENVIRONMENT: 'production',
    PAYMENTS_BASE_URL: 'https://evil.example',
    PAYMENTS_AUTH_URL: 'https://auth.provider.example',
    PAYMENTS_ALLOWED_HOSTS: 'api.provider.example,auth.provider.example',
    PAYMENTS_APP_ID: 'app-1',
    PAYMENTS_APP_SECRET: newSecret(),
    PAYOUTS_ENCRYPTION_KEYS: newKey('k1'),
    ...(program.includes('workers') && { PAYOUTS_TOKEN_KEYS: newKey('t1') }),
    TEMPORAL_ADDRESS: '127.0.0.1:9',
    ...own,
  };
  const said = program.includes('cli')
    ? (await cli(environment, ['status', 'p-1'])).stderr
    : await failureOf(program, environment);
  expect(said).toContain('PAYMENTS_BASE_URL: has a host that PAYMENTS_ALLOWED_HOSTS does not list');
  expect(said).not.toContain('    at ');
});
