/** A report whose workflow is stuck, because no worker has the key of the command line. */
import { expect, test } from 'vitest';
import { cli } from '../support/cli.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';

test('report names the stuck workflow instead of waiting for it', async () => {
  const world = await PayoutWorld.start({ env: { PAYOUTS_ENCRYPTION_KEYS: newKey('k1') } });
  try {
    const there = { ...world.workerEnvironment, PAYOUTS_ENCRYPTION_KEYS: newKey('k2') };
    const { code, stderr } = await cli(there, ['report', '--day', '2026-01-31']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^the workflow payout-report:test:2026-01-31 is stuck: .*encryption key/);
  } finally {
    await world.stop();
  }
});
