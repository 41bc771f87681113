import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Leases } from '../../src/client/leases.ts';
import { eventually } from '../support/eventually.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { appsOf, STRANGE_APP_IDS } from '../support/rate-limit.ts';

test('H37 the real server accepts every app_id in the names of a lease', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-apps-'));
  const file = join(folder, 'apps.json');
  writeFileSync(file, JSON.stringify(appsOf(STRANGE_APP_IDS)));
  const world = await PayoutWorld.start({ env: { PAYOUTS_APPS_FILE: file } });
  try {
    const rateLimits = new Leases(world.client, 'test');
    for (const app of Object.keys(STRANGE_APP_IDS)) {
      const state = () => rateLimits.rateLimit(app).catch(() => undefined);
      const owner = await eventually(async () => (await state())?.owner ?? undefined);
      expect(owner).toContain('@');
    }
  } finally {
    await world.stop();
    rmSync(folder, { recursive: true });
  }
});
