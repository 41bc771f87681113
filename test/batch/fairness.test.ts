import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DevServer, startDevServer } from '../../scripts/dev-server.ts';
import { fairnessKey } from '../../src/domain/fairness.ts';
import { batchesOf } from '../support/batches.ts';
import { eventually, freshNumber, PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';

const CALLS_PER_SECOND = 10;
const BATCH = 60;

/** How many calls were made for the batch between another seller's start and its first call. */
async function callsBefore(address: string): Promise<number> {
  const world = await PayoutWorld.start({
    address,
    env: { PAYMENTS_CALLS_PER_SECOND: String(CALLS_PER_SECOND), PAYOUTS_BATCH_WINDOW: '1000' },
    settings: { callsPerSecond: CALLS_PER_SECOND },
  });
  try {
    const { control } = world.simulator;
    const rows = Array.from({ length: BATCH }, () =>
      payoutRequest(freshNumber(), { platform: 'sim:slow final=1h', clientId: 'many' }),
    );
    const batches = batchesOf(world);
    const ref = { batchId: freshNumber() };
    await batches.start({ ...ref, payouts: rows });
    await eventually(async () => ((await batches.state(ref)).started === BATCH ? true : undefined));
    const before = control.calls().length;
    const single = payoutRequest(freshNumber(), { platform: 'sim:slow final=1h', clientId: 'one' });
    await world.payouts.start(single);
    await world.until(single, ({ phase }) => phase === 'CREATING' || phase === 'PROCESSING');
    return control.calls().length - before;
  } finally {
    await world.stop();
  }
}

describe('H105 a seller with a big batch does not hold up the payout of another', () => {
  let folder: string;
  let fair: DevServer;
  let plain: DevServer;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'payouts-fair-engine-'));
    const options = (name: string) => ({ always: true, ui: false, logFile: join(folder, `${name}.log`) });
    fair = await startDevServer({ ...options('fair'), dynamicConfig: { 'matching.enableFairness': true } });
    plain = await startDevServer(options('plain'));
  });
  afterAll(async () => {
    await Promise.all([fair?.stop(), plain?.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  test('where the engine knows fairness it is served in turn; elsewhere after the calls that came first', async () => {
    const [withFairness, without] = [await callsBefore(fair.address), await callsBefore(plain.address)];
    console.log(`calls until the single payout created: ${withFairness} with fairness, ${without} without`);
    expect(withFairness).toBeLessThan(without);
  });
});

test('the key is a fingerprint that the engine takes, whatever the seller is called', () => {
  expect(fairnessKey('client-1')).toMatch(/^[0-9a-f]{16}$/);
  expect(fairnessKey('client-1')).not.toBe(fairnessKey('client-2'));
  expect(Buffer.byteLength(fairnessKey('卖家'.repeat(32)))).toBe(16);
});
