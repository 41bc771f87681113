/** A process with a key that is published, or without a key, does not start: one for each program. */
import { expect, test } from 'vitest';
import type { Environment } from '../../src/config/environment.ts';
import { API, CODEC, OWN, SIMULATED, WORKER } from '../support/own-secrets.ts';
import { startProgram } from '../support/processes.ts';

/** What a process prints that does not start. */
async function failureOf(program: string, change: Environment): Promise<string> {
  return startProgram(program, { ...OWN[program], ...change }, /ready|listening on/).then(
    async (own) => {
      await own.stop('SIGKILL');
      return 'started';
    },
    (error: Error) => error.message,
  );
}

test.each<[program: string, change: Environment, said: string]>([
  [WORKER, { PAYMENTS_APP_SECRET: 'demo-secret' }, 'PAYMENTS_APP_SECRET: is published'],
  [API, { PAYOUTS_API_KEYS_FILE: '' }, 'PAYOUTS_API_KEYS_FILE: is missing'],
  [CODEC, { PAYOUTS_ENCRYPTION_KEYS: SIMULATED }, 'PAYOUTS_ENCRYPTION_KEYS: is published'],
])('H156 outside a test, %s does not start with %j', async (program, change, said) => {
  const output = await failureOf(program, change);
  expect(output).toContain(said);
  expect(output).not.toContain('    at ');
  for (const secret of ['demo-secret', SIMULATED]) expect(output).not.toContain(secret);
});

test('H156 processes start with keys of their own', async () => {
  const said = await Promise.all([CODEC, WORKER, API].map((program) => failureOf(program, {})));
  const cannotConnect = expect.stringContaining('cannot connect to Temporal');
  expect(said).toEqual(['started', cannotConnect, cannotConnect]);
});
