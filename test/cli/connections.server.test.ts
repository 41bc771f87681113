/** Profiles, and the confirmation of changes in production. Without workers: a start only has to reach Temporal. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Environment } from '../../src/config/environment.ts';
import { unlessGone } from '../../src/temporal/client-errors.ts';
import { CAN_HAVE_TERMINAL, cli, cliOnTerminal } from '../support/cli.ts';
import { newKey } from '../support/keys.ts';
import { payoutRequest } from '../support/requests.ts';
import { secretFile } from '../support/secret-file.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const MUCH_LATER = { notBefore: '2099-01-01T00:00:00Z' };
let world: VirtualWorld;
/** Names the file of profiles, and no connection. */
let environment: Environment;

beforeAll(async () => {
  world = await VirtualWorld.start({ idle: true });
  const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, PAYMENTS_BASE_URL } = world.workerEnvironment;
  const connection = { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE };
  const encrypted = { ...connection, PAYOUTS_ENCRYPTION_KEYS: 'env:THE_KEYS' };
  const profiles = {
    trial: { ...connection, PAYMENTS_ENVIRONMENT: 'test', PAYMENTS_BASE_URL },
    production: { ...encrypted, PAYMENTS_ENVIRONMENT: 'production' },
    sandbox: { ...encrypted, PAYMENTS_ENVIRONMENT: 'sandbox' },
    unnamed: encrypted,
  };
  const file = secretFile(JSON.stringify(profiles));
  environment = { PAYOUTS_PROFILES_FILE: file, THE_KEYS: newKey('k1') };
});

afterAll(() => world.stop());

const run = (...args: string[]) => cli(environment, args);

function requests(count: number): { file: string; ids: string[] } {
  const all = Array.from({ length: count }, () => payoutRequest(newPartnerOrderId(), MUCH_LATER));
  return {
    file: secretFile(JSON.stringify(count === 1 ? all[0] : all)),
    ids: all.map(({ partnerOrderId }) => partnerOrderId),
  };
}

/** The keys of the world cannot decrypt what the profile encrypts. */
async function isStarted(partnerOrderId = ''): Promise<boolean> {
  const handle = world.payouts.handle({ partnerOrderId });
  return (await unlessGone(() => handle.fetchHistory())) !== undefined;
}

describe('profiles', () => {
  test('a profile is chosen before or after the verb, or by a variable', async () => {
    const before = await run('--profile', 'trial', 'list', '--json');
    expect(before).toMatchObject({ code: 0, stderr: '' });
    expect(before.json()).toEqual([]);
    expect((await run('list', '--profile', 'trial', '--json')).code).toBe(0);
    const byVariable = await cli({ ...environment, PAYOUTS_PROFILE: 'trial' }, ['list', '--json']);
    expect(byVariable.code).toBe(0);
    expect((await run('batch', 'list', '--profile', 'trial')).stdout).toBe('no batches\n');
  });

  test('a profile replaces the connection of the environment', async () => {
    const away = { ...environment, TEMPORAL_ADDRESS: '127.0.0.1:9', PAYMENTS_ENVIRONMENT: 'unusable' };
    expect((await cli(away, ['list', '--profile', 'trial'])).code).toBe(0);
  });

  test('an unknown profile is bad input, and the message names the others', async () => {
    const { code, stdout, stderr } = await run('list', '--profile', 'none');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/no profile "none"; it has: trial, production, sandbox, unnamed/);
    expect((await run('doctor', '--profile', 'none')).code).toBe(2);
  });
});

describe('production', () => {
  test.each(['production', 'unnamed'])('%s: without a terminal, a change needs --yes', async (profile) => {
    const { file, ids } = requests(2);
    const refused = await run('start', file, '--profile', profile);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/^About to pay 2 payouts \(200\.00 CNY\) in .*: add --yes\n$/);
    expect(await isStarted(ids[0])).toBe(false);
    expect((await run('start', file, '--profile', profile, '--yes', '--json')).code).toBe(0);
    expect(await isStarted(ids[1])).toBe(true);
  });

  const CHANGES: readonly (readonly string[])[] = [
    ['approve', 'x', '--by', 'olga'],
    ['refuse', 'x', '--by', 'olga'],
    ['cancel', 'x', '--by', 'olga'],
    ['resolve', 'x', '--by', 'olga', '--not-created', 'end'],
    ['batch', 'cancel', 'x'],
    ['account', 'resolve', 'x', '--by', 'olga', '--not-created', 'end'],
    ['rate-limit', '--calls-per-second', '5', '--by', 'olga'],
  ];
  test.each(CHANGES.map((change) => [change.slice(0, 2).join(' '), change]))(
    '%s needs a confirmation',
    async (_name, change) => {
      const { code, ...answer } = await run(...change, '--profile', 'production', '--json');
      expect(code).toBe(2);
      expect(answer.json()).toMatchObject({
        error: { code: 'USAGE', message: expect.stringContaining('add --yes') },
      });
    },
  );

  test('batch and account open need a confirmation, too', async () => {
    const { file } = requests(2);
    expect((await run('batch', file, '--profile', 'production')).stderr).toContain('pay 2 payouts');
    const opening = secretFile(JSON.stringify({ requestId: 'r-1', payerId: 'payer-1', currency: 'USD' }));
    expect((await run('account', 'open', opening, '--profile', 'production')).stderr).toContain('add --yes');
  });

  test('reads and a dry run need no confirmation, and neither does the sandbox', async () => {
    expect((await run('list', '--profile', 'production')).code).toBe(0);
    expect((await run('status', 'unknown', '--profile', 'production')).code).toBe(3);
    const { file } = requests(1);
    expect((await run('start', file, '--profile', 'sandbox')).code).toBe(0);
  });

  test.skipIf(!CAN_HAVE_TERMINAL)(
    'on a terminal, the answer decides; standard output has JSON only',
    async () => {
      const { file, ids } = requests(1);
      const start = ['start', file, '--profile', 'production', '--json'];
      const refused = await cliOnTerminal(environment, start, { typed: 'n\n' });
      expect(refused.code).toBe(4);
      expect(refused.stdout).toContain('Continue? [y/N]');
      expect(refused.stdout).toContain('NOT_CONFIRMED');
      expect(await isStarted(ids[0])).toBe(false);
      const outputFile = secretFile('');
      const agreed = await cliOnTerminal(environment, start, { typed: 'y\n', outputFile });
      expect(agreed.code).toBe(0);
      expect(JSON.parse(readFileSync(outputFile, 'utf8'))).toMatchObject([{ partnerOrderId: ids[0] }]);
    },
  );
});
