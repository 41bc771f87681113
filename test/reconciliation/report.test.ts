import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dailyReport } from '../../src/client/reads.ts';
import {
  dayBounds,
  emptyAppReport,
  emptyReportPart,
  mergeReportParts,
  restartDelayMs,
} from '../../src/domain/reconciliation.ts';
import { DAY_MS, dayOf } from '../../src/domain/time.ts';
import { eventually } from '../support/eventually.ts';
import { reconcile } from '../support/reconciliation.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const TIME_FOR_ONE_TEST_MS = 5 * 60_000;

let world: VirtualWorld;
beforeAll(async () => {
  world = await VirtualWorld.start({ env: { PAYOUTS_FOLLOW_UP: '1s' } });
});
afterAll(() => world.stop());

/** A day that ends during the test would split its payouts over two days. */
async function dayWithTimeLeft(): Promise<string> {
  const left = DAY_MS - (world.clock.wallMs() % DAY_MS);
  if (left < TIME_FOR_ONE_TEST_MS) await world.pass(left + 1_000);
  return new Date(world.clock.wallMs()).toISOString().slice(0, 10);
}

describe('the daily report', () => {
  test('counts and sums exactly the ended, open and returned payouts', async () => {
    const day = await dayWithTimeLeft();
    const whole = { instructedAmount: { currency: 'CNY', amount: '9999999999999999.99' } };
    const refs = [
      await world.pay('success', whole),
      await world.pay('success', { instructedAmount: { currency: 'CNY', amount: '0.01' } }),
      await world.pay('partial splits=2 failed=1'),
      await world.pay('failure'),
      await world.pay('success', { limits: { minRate: '99' } }),
    ];
    const open = await world.pay('returned');
    const backAtOnce = await world.pay('split splits=2 final=1h');
    refs.push(backAtOnce);
    await world.until(backAtOnce, ({ phase }) => phase === 'PROCESSING');
    const { control } = world.simulator;
    control.changeOrder(backAtOnce.partnerOrderId, { status: 'SUCCESS' });
    control.changeOrder(backAtOnce.partnerOrderId, { splits: [{ index: 0, refund: true }] });
    await Promise.all(refs.map((ref) => world.payouts.result(ref)));
    await world.until(open, ({ needsAttention }) => needsAttention);
    const [returned] = refs.slice(1);
    if (!returned) throw new Error('five payouts');
    world.simulator.control.changeOrder(returned.partnerOrderId, { splits: [{ index: 0, refund: true }] });
    const made = await eventually(async () => {
      await reconcile(world);
      const seen = await dailyReport(world.client, 'test', day);
      const [app] = seen.apps;
      const ended = Object.values(app?.outcomes ?? {}).reduce((sum, count) => sum + count, 0);
      return ended === refs.length && seen.totalChanges > 0 && app?.open.needingAttention ? seen : undefined;
    });
    expect(made).toMatchObject({
      environment: 'test',
      day,
      apps: [
        {
          app: 'default',
          outcomes: { SUCCESS: 3, PARTIAL_SUCCESS: 1, FAILED: 1, NOT_CREATED: 1 },
          unreadable: 0,
          // A hundred in two payments, one of which was returned before the end: 50.00 more, and not 100.00.
          received: [{ currency: 'CNY', amount: '10000000000000100.00' }],
          failed: [{ currency: 'CNY', amount: '150.00' }],
          returned: [{ currency: 'CNY', amount: '50.01' }],
          changed: 1,
          notChecked: 0,
          open: { underAnHour: 1, underADay: 0, underAWeek: 0, older: 0, needingAttention: 1 },
        },
      ],
      changes: [
        {
          app: 'default',
          partnerOrderId: returned.partnerOrderId,
          returned: [{ currency: 'CNY', amount: '0.01' }],
          differences: [],
        },
      ],
      totalChanges: 1,
    });
  });

  test('is empty for another day', async () => {
    const [app] = (await dailyReport(world.client, 'test', '2020-02-29')).apps;
    expect(app?.outcomes).toEqual({ SUCCESS: 0, PARTIAL_SUCCESS: 0, FAILED: 0, NOT_CREATED: 0 });
  });
});

describe('arithmetic of reports and pauses', () => {
  test('partial reports add up by application and currency, in any order', () => {
    const one = { ...emptyAppReport('one'), received: [{ currency: 'CNY', amount: '0.10' }] };
    const other = { ...emptyAppReport('one'), received: [{ currency: 'USD', amount: '1.00' }] };
    const both = mergeReportParts([
      { ...emptyReportPart(), apps: [other, emptyAppReport('another')] },
      { ...emptyReportPart(), apps: [one, one] },
    ]);
    expect(both.apps.map(({ app }) => app)).toEqual(['another', 'one']);
    expect(both.apps[1]?.received).toEqual([
      { currency: 'CNY', amount: '0.20' },
      { currency: 'USD', amount: '1.00' },
    ]);
  });

  test('days are UTC days', () => {
    expect(dayOf(Date.parse('2026-03-01T00:10:00Z') - DAY_MS)).toBe('2026-02-28');
    expect(dayBounds('2026-03-01')).toEqual({
      from: '2026-03-01T00:00:00.000Z',
      until: '2026-03-01T23:59:59.999Z',
      next: '2026-03-02T00:00:00.000Z',
    });
    expect(dayBounds('2026-02-30')).toBeUndefined();
  });

  test('the first three stops cause no pause, later ones a doubling pause of at most six hours', () => {
    expect([1, 3, 4, 5, 40].map((stops) => restartDelayMs(stops, 900_000) / 60_000)).toEqual([
      0, 0, 30, 60, 360,
    ]);
  });
});
