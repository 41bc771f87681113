/** Daily limits of callers, against the limits of the real Temporal server for one message, and on the command line. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Allowances, DailyLimitError } from '../../src/client/allowances.ts';
import type { CheckedPayoutRequest } from '../../src/contract/payout-request.ts';
import type { DailyLimits } from '../../src/contract/workflows.ts';
import { MAX_PAYOUTS_PER_DAY } from '../../src/domain/daily-limits.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { post, startApiServer, type TestApiServer } from '../support/http.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let world: PayoutWorld;
let server: TestApiServer;
let allowances: Allowances;

beforeAll(async () => {
  world = await PayoutWorld.start();
  server = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shown', { dailyCount: 9 })]),
  });
  allowances = new Allowances(world.client, 'test', PROCESS_RUNTIME.clock);
});

afterAll(async () => {
  await server.close();
  await world.stop();
});

const body = (amount: string) =>
  payoutRequest(newPartnerOrderId(), { instructedAmount: { currency: 'CNY', amount } });

test('H176 daily limits of a caller are shown by the command line', async () => {
  const run = (...args: string[]) => cli(world.workerEnvironment, ['allowance', ...args]);
  expect((await run('shown')).code).toBe(3);
  await post(`${server.url}/v1/payouts`, body('12.50'), as('shown'));
  const shown = await run('shown', '--json');
  const day = new Date().toISOString().slice(0, 10);
  expect(shown.json()).toEqual({
    ...{ caller: 'shown', day, count: 1 },
    sums: [{ currency: 'CNY', amount: '12.50' }],
  });
  expect((await run('shown')).stdout).toContain('12.50 CNY');
});

test('H178 the largest batch of the largest amounts is reserved as a whole, and leaves no room', async () => {
  const limits = { dailyAmount: { CNY: '9999999999999999.99' } };
  const row = { ...body('0.01'), app: 'default', approval: 'none' as const };
  const rows = Array.from({ length: MAX_PAYOUTS_PER_DAY }, (_, at) => ({
    ...row,
    partnerOrderId: `row-${at}`,
  }));
  const largest = { currency: 'CNY', amount: '9999999999999999.99' };
  await expect(
    reserveLargest(
      limits,
      rows.map((one) => ({ ...one, instructedAmount: largest })),
    ),
  ).rejects.toThrow('499999999999999999500.00 CNY more are requested');
  await reserveLargest(limits, rows);
  await expect(reserveLargest(limits, [{ ...row, partnerOrderId: 'one more' }])).rejects.toThrow(
    'at most 50000 payouts per day (UTC): 50000 are reserved, and 1 more are requested',
  );
  await reserveLargest(limits, rows.slice(-1));
  expect(await allowances.state('largest')).toMatchObject({ count: 50_000, sums: [{ amount: '500.00' }] });
});

/** A busy machine may take longer than the deadline of the update. A repeated call reserves nothing twice. */
async function reserveLargest(limits: DailyLimits, requests: readonly CheckedPayoutRequest[]): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await allowances.reserve('largest', limits, requests);
    } catch (error) {
      if (error instanceof DailyLimitError || tries === 5) throw error;
    }
  }
}
