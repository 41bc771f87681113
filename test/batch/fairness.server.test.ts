import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DevServer, startDevServer } from '../../scripts/dev-server.ts';
import type { CallRecord } from '../../simulator/index.ts';
import { Leases } from '../../src/client/leases.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { batchesOf } from '../support/batches.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { NO_POLLS, newPartnerOrderId } from '../support/test-world.ts';

/** The rate while the queue fills; `CALLS_PER_SECOND` is the rate afterwards. */
const RATE_WHILE_QUEUING = 1;
const CALLS_PER_SECOND = 5;
const BATCH = 40;

interface Wait {
  /** Calls between the arrival of the other client's payout in the queue and its create. */
  calls: number;
  /** Payouts of the batch that were not created yet at that time. */
  before: number;
}

async function waitOfASingle(address: string): Promise<Wait> {
  const world = await PayoutWorld.start({
    address,
    env: { ...NO_POLLS, PAYMENTS_CALLS_PER_SECOND: `${RATE_WHILE_QUEUING}`, PAYOUTS_BATCH_WINDOW: '1000' },
    settings: { callsPerSecond: CALLS_PER_SECOND },
  });
  try {
    const { control } = world.simulator;
    const rows = Array.from({ length: BATCH }, () => openPayout('many'));
    const batches = batchesOf(world);
    const ref = { batchId: newPartnerOrderId() };
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
    await new Leases(world.client, 'test').setCallsPerSecond('default', CALLS_PER_SECOND, 'test');
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
  return payoutRequest(newPartnerOrderId(), { platform: 'sim:slow final=1h', clientId });
}

/** Whether its first call is queued. */
async function asks(world: PayoutWorld, payout: PayoutRequest): Promise<boolean> {
  const { events } = await world.history(payout);
  return (events ?? []).some(({ activityTaskScheduledEventAttributes: scheduled }) => scheduled != null);
}

describe("H105 a large batch of one client does not delay another client's payout", () => {
  let folder: string;
  let fair: DevServer;
  let plain: DevServer;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'payouts-fair-temporal-'));
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

  test('with fairness the payout is served in turn; without it, after the calls queued before', async () => {
    const [taken, queued] = await Promise.all([fair, plain].map(({ address }) => waitOfASingle(address)));
    if (!taken || !queued) throw new Error('two servers');
    console.log(`with fairness: ${taken.calls} calls and ${taken.before} payouts before the single payout`);
    console.log(`without fairness: ${queued.calls} calls and ${queued.before} payouts`);
    // In turn, it waits for a few of them; in a single queue for all of them, each with a quote and a create.
    expect(taken.calls).toBeLessThan(taken.before);
    expect(queued.calls).toBeGreaterThan(queued.before);
  });
});
