import { request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { newKey, newSecret } from '../support/keys.ts';
import { startProgram } from '../support/processes.ts';

const KEY = newSecret();
const ENVIRONMENT = {
  PAYMENTS_ENVIRONMENT: 'sandbox',
  PAYOUTS_ENCRYPTION_KEYS: newKey('k1'),
  PAYOUTS_CODEC_KEYS: `olga:${KEY}`,
  PAYOUTS_CODEC_LISTEN: '127.0.0.1:0',
};

test('H47 the decode log of a real process goes to standard error', async () => {
  const server = await startProgram('src/codec-server/main.ts', ENVIRONMENT, /listening on \S+/);
  onTestFinished(async () => {
    await server.stop('SIGTERM');
  });
  const [, url = ''] = /listening on (\S+)/.exec(server.output()) ?? [];
  const headers = {
    'content-type': 'application/json',
    'x-namespace': 'n1',
    authorization: `Bearer ${KEY}`,
  };
  const { body } = await request(`${url}/decode`, { method: 'POST', headers, body: '{}' });
  await body.dump();
  await eventually(
    () => /"key":"olga","namespace":"n1","payloads":0,"status":200/.test(server.output()) || undefined,
  );
  expect(server.output()).not.toContain(KEY);
});
