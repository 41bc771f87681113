/** What a person reads when a process cannot start: what is wrong and what to do, and no stack. */
import { expect, inject, test } from 'vitest';
import type { Environment } from '../../src/config/environment.ts';
import { QUICK } from '../support/payout-world.ts';
import { startProgram } from '../support/processes.ts';

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

test.each(['src/workers/main.ts', 'src/starters/api/main.ts'])('%s without Temporal', async (program) => {
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
});

test('a worker whose namespace does not exist', async () => {
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

test('a worker without settings: every missing variable by its name', async () => {
  const said = await failureOf('src/workers/main.ts', {});
  expect(said).toContain('PAYMENTS_ENVIRONMENT: is missing');
  expect(said).toContain('PAYMENTS_BASE_URL: is missing');
  expect(said).toContain('PAYMENTS_AUTH_URL: is missing');
});
