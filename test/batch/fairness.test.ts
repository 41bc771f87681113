import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DevServer, startDevServer } from '../../scripts/dev-server.ts';
import type { CallRecord } from '../../simulator/index.ts';
import { RateLimits } from '../../src/client/rate-limits.ts';
import { fairnessKey } from '../../src/domain/fairness.ts';
import type { PayoutRequest } from '../../src/domain/payout.ts';
import { batchesOf } from '../support/batches.ts';
import { createsOf } from '../support/ledger.ts';
import { eventually, freshNumber, NO_POLLS, PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';

/** So slow until everybody stands in the queue, then at a pace that ends. */
const WHILE_THEY_COME = 1;
const CALLS_PER_SECOND = 5;
const BATCH = 60;

interface Wait {
  /** Calls between the arrival of another seller's payout in the queue and its creation. */
  calls: number;
  /** Payouts of the batch that were not created yet when it arrived. */
  before: number;
}

async function waitOfASingle(address: string): Promise<Wait> {
  const world = await PayoutWorld.start({
    address,
    env: { ...NO_POLLS, PAYMENTS_CALLS_PER_SECOND: `${WHILE_THEY_COME}`, PAYOUTS_BATCH_WINDOW: '1000' },
    settings: { callsPerSecond: CALLS_PER_SECOND },
  });
  try {
    const { control } = world.simulator;
    const rows = Array.from({ length: BATCH }, () => openPayout('many'));
    const batches = batchesOf(world);
    const ref = { batchId: freshNumber() };
    await batches.start({ ...ref, payouts: rows });
    await eventually(async () => ((await batches.state(ref)).started === BATCH ? true : undefined));
    await eventually(
      async () => (await Promise.all(rows.map((row) => asks(world, row)))).every(Boolean) || undefined,
    );
    const single = openPayout('one');
    await world.payouts.start(single);
    await eventually(async () => (await asks(world, single)) || undefined);
    const earlier = control.calls().length;
    const before = rows.filter((row) => createsOf(world, row).length === 0).length;
    await new RateLimits(world.client, 'test').setCallsPerSecond('default', CALLS_PER_SECOND, 'test');
    const isCreated = (call: CallRecord) =>
      call.operation === 'createCnyOrder' && call.partnerOrderId === single.partnerOrderId;
    const created = await eventually(() => {
      const at = control.calls().findIndex(isCreated);
      return at < 0 ? undefined : at;
    });
    return { calls: created - earlier, before };
  } finally {
    await world.stop();
  }
}

function openPayout(clientId: string): PayoutRequest {
  return payoutRequest(freshNumber(), { platform: 'sim:slow final=1h', clientId });
}

/** Whether its first call stands in the queue. */
async function asks(world: PayoutWorld, payout: PayoutRequest): Promise<boolean> {
  const { events } = await world.history(payout);
  return (events ?? []).some(({ activityTaskScheduledEventAttributes: scheduled }) => scheduled != null);
}

describe('H105 a seller with a big batch does not hold up the payout of another', () => {
  let folder: string;
  let fair: DevServer;
  let plain: DevServer;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'payouts-fair-engine-'));
    const options = (name: string) => ({ always: true, ui: false, logFile: join(folder, `${name}.log`) });
    fair = await startDevServer(options('fair'));
    plain = await startDevServer({
      ...options('plain'),
      dynamicConfig: { 'matching.enableFairness': false },
    });
  });
  afterAll(async () => {
    await Promise.all([fair?.stop(), plain?.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  test('where the engine knows fairness it is served in turn; elsewhere after the calls that came first', async () => {
    const [taken, queued] = [await waitOfASingle(fair.address), await waitOfASingle(plain.address)];
    console.log(
      `calls until a single payout was created: ${taken.calls} in turn with ${taken.before} payouts`,
    );
    console.log(`before it, ${queued.calls} behind ${queued.before} where the engine knows no fairness`);
    // By turns it waits for a few of them; in line for all of them, each of which needs a quote and a create.
    expect(taken.calls).toBeLessThan(taken.before);
    expect(queued.calls).toBeGreaterThan(queued.before);
  });
});

test('the key is a fingerprint that the engine takes, whatever the seller is called', () => {
  expect(fairnessKey('client-1')).toMatch(/^[0-9a-f]{16}$/);
  expect(fairnessKey('client-1')).not.toBe(fairnessKey('client-2'));
  expect(Buffer.byteLength(fairnessKey('卖家'.repeat(32)))).toBe(16);
});
