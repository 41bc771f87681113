/** The daily report, and follow-ups that flag a payout, as the command line shows them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { dailyReport } from '../../src/client/reads.ts';
import { dailyReportSchema } from '../../src/contract/reconciliation.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { reconcile } from '../support/reconciliation.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
beforeAll(async () => {
  world = await VirtualWorld.start({ env: { PAYOUTS_FOLLOW_UP: '1s,1h' } });
  // Each report has the applications with open payouts.
  await world.until(await world.pay('slow final=1h'), ({ phase }) => phase === 'PROCESSING');
});
afterAll(() => world.stop());

const run = (...args: string[]) => cli(world.workerEnvironment, args);
const yuan = (amount: string) => ({ instructedAmount: { currency: 'CNY', amount } });

async function paid(amount: string): Promise<PayoutRef> {
  const ref = await world.pay('success notify=none', yuan(amount));
  await world.payouts.result(ref);
  return ref;
}

/** Resolves when the list of flagged payouts shows this follow-up. */
async function flagged({ partnerOrderId }: PayoutRef): Promise<void> {
  const query = `WorkflowId = 'payout-follow-up:default:${partnerOrderId}' AND PayoutNeedsAttention = true`;
  await eventually(async () => {
    await reconcile(world);
    return (await world.client.workflow.count(query)).count > 0 || undefined;
  });
}

test('money that was returned: the daily report, the list and the status of the payout show it', async () => {
  const day = new Date(world.clock.wallMs()).toISOString().slice(0, 10);
  await paid('9999999999999999.99');
  const returned = await paid('0.01');
  world.simulator.control.changeOrder(returned.partnerOrderId, { splits: [{ index: 0, refund: true }] });
  await flagged(returned);
  const answer = await run('report', '--json', '--day', day);
  const made = await dailyReport(world.client, 'test', day);
  expect(made.apps).toMatchObject([
    { outcomes: { SUCCESS: 2 }, returned: [{ currency: 'CNY', amount: '0.01' }] },
  ]);
  expect(dailyReportSchema.parse(answer.json())).toEqual({ ...made, generatedAt: expect.any(String) });
  const { stdout } = await run('report', '--day', day);
  expect(stdout).toContain('10000000000000000.00 CNY');
  expect(stdout).toContain(returned.partnerOrderId);
  expect((await run('list', '--attention')).stdout).toContain(returned.partnerOrderId);
  const status = await run('status', returned.partnerOrderId);
  expect(status.stdout).toMatch(/SUCCESS.*! MONEY_RETURNED: 0\.01 CNY was returned.*last follow-up/s);
});

test('the report of another day is empty; an invalid day is bad input', async () => {
  const other = await run('report', '--json', '--day', '2020-02-29');
  const [app] = dailyReportSchema.parse(other.json()).apps;
  expect(app?.outcomes).toEqual({ SUCCESS: 0, PARTIAL_SUCCESS: 0, FAILED: 0, NOT_CREATED: 0 });
  expect((await run('report', '--day', '2021-02-29')).code).toBe(2);
});

test('a rejected check is listed with its reason, and notify asks the follow-up to check again', async () => {
  const ref = await paid('1.00');
  const { partnerOrderId } = ref;
  const fault = { kind: 'envelope', code: 900_002 } as const;
  world.simulator.control.addFault({ operation: 'queryPayDetail', partnerOrderId, fault });
  await flagged(ref);
  expect((await run('list', '--attention')).stdout).toContain('COULD_NOT_CHECK');
  const asked = await run('notify', partnerOrderId);
  expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('follow-up') });
});
