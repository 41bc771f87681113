/** Metadata of payouts on the command line. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli } from '../support/cli.ts';
import { newKey } from '../support/keys.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const VALUE = 'INVOICE-metadata-4711';
const metadata = { orderRef: VALUE, constructor: 'cost center 7', empty: '' };

let world: VirtualWorld;
beforeAll(async () => {
  world = await VirtualWorld.start({ env: { PAYOUTS_ENCRYPTION_KEYS: newKey('k1') } });
});
afterAll(() => world.stop());

const run = (...args: string[]) => cli(world.workerEnvironment, args);

test('metadata is in state and result on the command line', async () => {
  const ref = await world.pay('success', { metadata });
  await world.payouts.result(ref);
  expect((await run('status', ref.partnerOrderId, '--json')).json()).toMatchObject({ metadata });
  expect((await run('result', ref.partnerOrderId)).stdout).toMatch(new RegExp(`metadata.orderRef +${VALUE}`));
});

test('metadata in a file of the command line is checked like every field', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'payouts-metadata-')), 'payout.json');
  const metadata = { orderRef: 'x'.repeat(501) };
  writeFileSync(file, JSON.stringify(payoutRequest(newPartnerOrderId(), { metadata })));
  const { code, stderr } = await run('start', file);
  expect(code).toBe(2);
  expect(stderr).toContain('metadata.orderRef');
});
