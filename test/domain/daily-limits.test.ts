import { describe, expect, test } from 'vitest';
import type { DailyLimits, Reservation } from '../../src/contract/workflows.ts';
import {
  Allowance,
  MAX_PAYOUTS_PER_DAY,
  PAYOUT_KEY_LENGTH,
  reserveProblem,
} from '../../src/domain/daily-limits.ts';

const NOON = Date.parse('2026-01-31T12:00:00Z');
const DAY = 86_400_000;
const key = (name: string) => name.padEnd(PAYOUT_KEY_LENGTH, '.');

/** Rows such as `['a', 10_00]`, in CNY. */
function of(
  limits: DailyLimits,
  ...rows: [name: string, hundredths: number, currency?: string][]
): Reservation {
  const currencies = [...new Set(rows.map(([, , currency = 'CNY']) => currency))];
  const payouts = currencies.map((currency) => {
    const own = rows.filter(([, , named = 'CNY']) => named === currency);
    return {
      ...{ currency, keys: own.map(([name]) => key(name)).join('') },
      hundredths: own.map(([, amount]) => amount).join(','),
    };
  });
  return { limits, payouts };
}

describe('daily limits', () => {
  test('a sum up to the limit is free, one hundredth more is not, and the refusal has the sums', () => {
    const limits = { dailyAmount: { CNY: '100.00' } };
    const allowance = new Allowance(NOON);
    expect(allowance.refusal(of(limits, ['a', 99_99]), NOON)).toBeUndefined();
    allowance.reserve(of(limits, ['a', 99_99]), NOON);
    expect(allowance.refusal(of(limits, ['b', 1]), NOON)).toBeUndefined();
    expect(allowance.refusal(of(limits, ['b', 2]), NOON)).toEqual({
      message:
        'allows at most 100.00 CNY per day (UTC): 99.99 CNY are reserved, and 0.02 CNY more are requested',
      retryAfterMs: DAY / 2,
    });
    // Alone, it exceeds the limit on any day.
    expect(allowance.refusal(of(limits, ['b', 100_01]), NOON)).not.toHaveProperty('retryAfterMs');
  });

  test('a currency that is not listed is refused; names of members of every object are not listed', () => {
    const allowance = new Allowance(NOON);
    expect(allowance.refusal(of({ dailyAmount: { CNY: '1.00' } }, ['a', 1, 'USD']), NOON)?.message).toContain(
      'at most 0.00 USD',
    );
    expect(allowance.refusal(of({ dailyCount: 1 }, ['a', 1, 'USD']), NOON)).toBeUndefined();
  });

  test('counts payouts; a repeated one counts once, also when the limit is exhausted or was lowered', () => {
    const allowance = new Allowance(NOON);
    const both = of({ dailyCount: 2 }, ['a', 1], ['b', 2, 'USD']);
    expect(allowance.reserve(both, NOON)).toEqual({
      ...{ day: '2026-01-31', count: 2 },
      sums: [
        { currency: 'CNY', amount: '0.01' },
        { currency: 'USD', amount: '0.02' },
      ],
    });
    expect(allowance.refusal(of({ dailyCount: 1, dailyAmount: {} }, ['a', 1]), NOON)).toBeUndefined();
    expect(allowance.reserve(both, NOON).count).toBe(2);
    expect(allowance.refusal(of({ dailyCount: 2 }, ['a', 1], ['c', 1]), NOON)?.message).toBe(
      'allows at most 2 payouts per day (UTC): 2 are reserved, and 1 more are requested',
    );
    expect(allowance.reserve(of({}, ['d', 5], ['d', 5]), NOON).count).toBe(3);
  });

  test('H178 the bound refuses without a count, and 50,000 payouts survive continue-as-new', () => {
    const rows = Array.from({ length: MAX_PAYOUTS_PER_DAY }, (_, at) => [`${at}`, 100] as [string, number]);
    const all = of({ dailyAmount: { CNY: '9999999.00' } }, ...rows);
    const allowance = new Allowance(NOON);
    expect(reserveProblem({ reservations: [all] })).toBeUndefined();
    expect(allowance.refusal(all, NOON)).toBeUndefined();
    allowance.reserve(all, NOON);
    const carried = new Allowance(NOON, allowance.record());
    expect(carried.state()).toEqual(allowance.state());
    expect(carried.state()).toMatchObject({ count: 50_000, sums: [{ amount: '50000.00' }] });
    expect(carried.refusal(all, NOON)).toBeUndefined();
    expect(carried.refusal(of({ dailyAmount: { CNY: '9999999.00' } }, ['x', 1]), NOON)?.message).toContain(
      'at most 50000 payouts',
    );
    // Temporal accepts 2 MB per payload.
    const widest = { currency: 'CNY', keys: all.payouts[0]?.keys, hundredths: '9'.repeat(18) };
    const hundredths = Array.from({ length: MAX_PAYOUTS_PER_DAY }, () => widest.hundredths).join(',');
    expect(JSON.stringify({ limits: {}, payouts: [{ ...widest, hundredths }] }).length).toBeLessThan(
      2_090_000,
    );
    expect(JSON.stringify(allowance.record()).length).toBeLessThan(1_200_000);
  });

  test('H177 the next day begins at zero, and a clock that is set back does not return to an earlier day', () => {
    const limits = { dailyCount: 1 };
    const allowance = new Allowance(NOON);
    allowance.reserve(of(limits, ['a', 1]), NOON);
    const midnight = NOON + DAY / 2;
    expect(allowance.refusal(of(limits, ['b', 1]), midnight - 1)).toMatchObject({ retryAfterMs: 1 });
    expect(allowance.refusal(of(limits, ['b', 1]), midnight)).toBeUndefined();
    expect(allowance.reserve(of(limits, ['b', 1]), midnight)).toMatchObject({ day: '2026-02-01', count: 1 });
    expect(allowance.refusal(of(limits, ['c', 1]), midnight - 1)).toMatchObject({ retryAfterMs: DAY + 1 });
    expect(allowance.reserve(of({}, ['c', 1]), midnight - 1)).toMatchObject({ day: '2026-02-01', count: 2 });
    expect(allowance.unusedAtMs).toBe(Date.parse('2026-02-03T00:00:00Z'));
  });

  test('several reservations at once count one after another, each for itself', () => {
    const limits = { dailyCount: 3 };
    const [two, three, one] = [
      of(limits, ['a', 1], ['b', 1]),
      of(limits, ['c', 1], ['d', 1], ['e', 1]),
      of(limits, ['f', 1]),
    ];
    const request = { reservations: [two, three, one, two, of(limits, ['g', 1])] };
    const allowance = new Allowance(NOON);
    expect(allowance.refusals(request, NOON)).toBeUndefined();
    const { refusals } = allowance.reserveEach(request, NOON);
    expect(refusals.map((refusal) => refusal === null)).toEqual([true, false, true, true, false]);
    expect(allowance.state().count).toBe(3);
    expect(allowance.refusals({ reservations: [three, of(limits, ['g', 1])] }, NOON)?.refusals).toHaveLength(
      2,
    );
    expect(allowance.refusals({ reservations: [three, two] }, NOON)).toBeUndefined();
  });

  test.each([
    ['nothing', undefined],
    ['no payouts', { limits: {} }],
    ['a number', { limits: { dailyAmount: { CNY: 1 } }, payouts: [] }],
    ['a fraction', { limits: { dailyCount: 1.5 }, payouts: [] }],
    ['too few keys', { limits: {}, payouts: [{ currency: 'CNY', keys: key('a'), hundredths: '1,2' }] }],
    ['half a key', { limits: {}, payouts: [{ currency: 'CNY', keys: 'a', hundredths: '1' }] }],
    ['a negative amount', { limits: {}, payouts: [{ currency: 'CNY', keys: key('a'), hundredths: '-1' }] }],
    ['a currency', { limits: {}, payouts: [{ currency: 'yuan', keys: key('a'), hundredths: '1' }] }],
  ])('%s is not a reservation', (_what, value) => {
    expect(reserveProblem({ reservations: [value] })).toMatch(/must be/);
    expect(reserveProblem(value)).toMatch(/must be/);
  });
});
