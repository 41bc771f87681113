/** The confirmation of changes in production. Without workers: a start only has to reach Temporal. */
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

type Name = 'production' | 'sandbox' | 'unnamed';

const MUCH_LATER = { notBefore: '2099-01-01T00:00:00Z' };
let world: VirtualWorld;
let environments: Record<Name, Environment>;

beforeAll(async () => {
  world = await VirtualWorld.start({ idle: true });
  const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = world.workerEnvironment;
  const unnamed = { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, PAYOUTS_ENCRYPTION_KEYS: newKey('k1') };
  environments = {
    production: { ...unnamed, PAYMENTS_ENVIRONMENT: 'production' },
    sandbox: { ...unnamed, PAYMENTS_ENVIRONMENT: 'sandbox' },
    unnamed,
  };
});

afterAll(() => world.stop());

const run = (name: Name, ...args: string[]) => cli(environments[name], args);

function requests(count: number): { file: string; ids: string[] } {
  const all = Array.from({ length: count }, () => payoutRequest(newPartnerOrderId(), MUCH_LATER));
  return {
    file: secretFile(JSON.stringify(count === 1 ? all[0] : all)),
    ids: all.map(({ partnerOrderId }) => partnerOrderId),
  };
}

/** The keys of the world cannot decrypt what these environments encrypt. */
async function isStarted(partnerOrderId = ''): Promise<boolean> {
  const handle = world.payouts.handle({ partnerOrderId });
  return (await unlessGone(() => handle.fetchHistory())) !== undefined;
}

describe('production', () => {
  test.each(['production', 'unnamed'] as const)(
    '%s: without a terminal, a change needs --yes',
    async (name) => {
      const { file, ids } = requests(2);
      const refused = await run(name, 'start', file);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toMatch(/^About to pay 2 payouts \(200\.00 CNY\) in .*: add --yes\n$/);
      expect(await isStarted(ids[0])).toBe(false);
      expect((await run(name, 'start', file, '--yes', '--json')).code).toBe(0);
      expect(await isStarted(ids[1])).toBe(true);
    },
  );

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
      const { code, ...answer } = await run('production', ...change, '--json');
      expect(code).toBe(2);
      expect(answer.json()).toMatchObject({
        error: { code: 'USAGE', message: expect.stringContaining('add --yes') },
      });
    },
  );

  test('batch and account open need a confirmation, too', async () => {
    const { file } = requests(2);
    expect((await run('production', 'batch', file)).stderr).toContain('pay 2 payouts');
    const opening = secretFile(JSON.stringify({ requestId: 'r-1', payerId: 'payer-1', currency: 'USD' }));
    expect((await run('production', 'account', 'open', opening)).stderr).toContain('add --yes');
  });

  test('reads and a dry run need no confirmation, and neither does the sandbox', async () => {
    expect((await run('production', 'list')).code).toBe(0);
    expect((await run('production', 'status', 'unknown')).code).toBe(3);
    const { file } = requests(1);
    expect((await run('sandbox', 'start', file)).code).toBe(0);
  });

  test.skipIf(!CAN_HAVE_TERMINAL)(
    'on a terminal, the answer decides; standard output has JSON only',
    async () => {
      const { file, ids } = requests(1);
      const start = ['start', file, '--json'];
      const refused = await cliOnTerminal(environments.production, start, { typed: 'n\n' });
      expect(refused.code).toBe(4);
      expect(refused.stdout).toContain('Continue? [y/N]');
      expect(refused.stdout).toContain('NOT_CONFIRMED');
      expect(await isStarted(ids[0])).toBe(false);
      const outputFile = secretFile('');
      const agreed = await cliOnTerminal(environments.production, start, { typed: 'y\n', outputFile });
      expect(agreed.code).toBe(0);
      expect(JSON.parse(readFileSync(outputFile, 'utf8'))).toMatchObject([{ partnerOrderId: ids[0] }]);
    },
  );
});
