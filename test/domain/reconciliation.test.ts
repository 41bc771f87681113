import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OUTCOMES, PHASES, RECEIVING_ACCOUNT_PHASES, ROW_OUTCOMES } from '../../src/contract/codes.ts';
import type { Money } from '../../src/contract/money.ts';
import { payoutResultSchema, type Split } from '../../src/contract/payout.ts';
import { receivingAccountStateSchema } from '../../src/contract/receiving-account.ts';
import {
  type AppReport,
  dailyReportSchema,
  type FollowUpRequest,
  followUpResultSchema,
} from '../../src/contract/reconciliation.ts';
import { BatchRecord, batchState, emptyTally, isPartReport, sumTallies } from '../../src/domain/batch.ts';
import {
  accountIdOf,
  accountMismatch,
  candidateAccounts,
  ReceivingAccountRecord,
  receivingAccountState,
  unsentBackoff,
} from '../../src/domain/receiving-account.ts';
import {
  emptyAppReport,
  emptyReportPart,
  mergeReportParts,
  movedMoney,
  restartDelayMs,
} from '../../src/domain/reconciliation.ts';
import {
  checkTimeoutMs,
  differencesSince,
  FollowUpRecord,
  followUpReasons,
  followUpResult,
  hintPauseMs,
  nextCheckMs,
  notChecked,
  returnedPayments,
} from '../../src/domain/reconciliation-follow-up.ts';
import { opaqueResponse } from '../../src/payments/wire/responses.ts';
import { tradeDetails } from '../support/wire-trades.ts';

const times = fc.integer({ min: 0, max: 253_402_300_799_999 });
const splitsOf = (detail: { splits: { status: string }[] }) =>
  payoutResultSchema.shape.splits.parse(
    detail.splits.filter(({ status }) => status === 'SUCCESS' || status === 'FAILED'),
  );
const requests: fc.Arbitrary<FollowUpRequest> = fc
  .record({ detail: tradeDetails, outcome: fc.constantFrom(...OUTCOMES), endedAtMs: times })
  .map(({ detail, outcome, endedAtMs }) => ({
    ...{ app: 'default', clientId: 'c', payerId: 'y', partnerOrderId: 'p', outcome, endedAtMs },
    splits: splitsOf(detail),
  }));

/** In one currency, exact. */
function sum(amounts: readonly Money[], currency: string): bigint {
  const ofIt = amounts.filter((one) => one.currency === currency);
  return ofIt.reduce((all, { amount }) => all + BigInt(amount.replace('.', '')), 0n);
}
const currenciesOf = (...lists: Money[][]) => new Set(lists.flat().map(({ currency }) => currency));
function expectSameSums(left: Money[], right: Money[]): void {
  for (const currency of currenciesOf(left, right)) expect(sum(left, currency)).toBe(sum(right, currency));
}

describe('H57 no answer of the provider makes a follow-up throw', () => {
  test('lists and sums every returned payment exactly', () => {
    fc.assert(
      fc.property(requests, tradeDetails, times, (request, detail, nowMs) => {
        const returned = returnedPayments(request, detail, [], nowMs);
        const differences = differencesSince(request, detail, [], nowMs);
        const record = { ...new FollowUpRecord(), checks: 1, confirmedAtMs: nowMs, returned, differences };
        const result = followUpResult(request, record);
        expect(followUpResultSchema.parse(JSON.parse(JSON.stringify(result)))).toBeTruthy();
        const back = detail.splits.filter(({ refunded }) => refunded).map(({ target }) => target);
        expectSameSums(result.returnedSums, back);
        expect(followUpReasons(result).length > 0).toBe(back.length > 0 || differences.length > 0);
        expect(result.changed).toBe(returned.some((one) => !one.inResult) || differences.length > 0);
        // The same answer again reports nothing new.
        expect(returnedPayments(request, detail, returned, nowMs + 1)).toEqual(returned);
      }),
    );
  });

  test('the same answer as at the end reports no change except earlier returns', () => {
    fc.assert(
      fc.property(tradeDetails, times, (detail, nowMs) => {
        const splits = splitsOf(detail);
        const ids = new Set(detail.splits.map(({ distributeId }) => distributeId));
        fc.pre(ids.size === detail.splits.length && splits.length === detail.splits.length);
        const outcome = OUTCOMES.find((known) => known === detail.status);
        fc.pre(outcome !== undefined && outcome !== 'NOT_CREATED');
        const request = {
          ...{ app: 'a', clientId: 'c', payerId: 'y', partnerOrderId: 'p' },
          ...{ outcome, splits, endedAtMs: 0 },
        };
        expect(differencesSince(request, detail, [], nowMs)).toEqual([]);
        expect(returnedPayments(request, detail, [], nowMs).every(({ inResult }) => inResult)).toBe(true);
      }),
    );
  });

  test('a payment that is no longer marked as returned is a difference', () => {
    const payment: Split = {
      ...{ distributeId: 'S-1', status: 'SUCCESS', refunded: true },
      target: { currency: 'CNY', amount: '1.00' },
    };
    const request: FollowUpRequest = {
      ...{ app: 'a', clientId: 'c', payerId: 'y', partnerOrderId: 'p', outcome: 'SUCCESS', endedAtMs: 0 },
      splits: [payment],
    };
    const detail = {
      ...{ orderId: 'o', clientId: 'c', partnerOrderId: 'p', complete: true, status: 'SUCCESS' },
      ...{ targetCurrency: 'CNY', debits: [], splits: [{ ...payment, refunded: false }] },
    };
    expect(differencesSince(request, detail, [], 0)).toMatchObject([{ code: 'SPLITS_CHANGED' }]);
    const failed = { ...detail, splits: [{ ...payment, status: 'FAILED', refunded: false }] };
    expect(differencesSince(request, failed, [], 0)).toMatchObject([
      { message: 'split S-1 was SUCCESS and is now FAILED' },
    ]);
  });

  test('a check without an answer keeps the time of the first such check', () => {
    const first = notChecked('900002', undefined, 1_000);
    expect(notChecked('no answer', first, 2_000)).toMatchObject({
      seenAt: '1970-01-01T00:00:01.000Z',
      message: expect.stringContaining('no answer'),
    });
  });

  test('every pause is a valid duration', () => {
    const waits = fc.array(fc.integer({ min: 0, max: 3_155_760_000_000 }), { maxLength: 4 });
    fc.assert(
      fc.property(
        times,
        waits,
        times,
        fc.integer({ min: 1, max: 2 ** 31 }),
        (endedAtMs, looks, nowMs, count) => {
          const plan = { checksAfterMs: looks };
          const next = nextCheckMs({ endedAtMs }, plan, nowMs);
          expect(next === undefined || next > nowMs).toBe(true);
          const step = unsentBackoff(count);
          const all = [
            checkTimeoutMs({ endedAtMs }, plan, nowMs),
            hintPauseMs(60_000, count),
            restartDelayMs(count, 900_000),
            step === 'review' ? 0 : step.pauseMs,
          ];
          expect(all.every((ms) => Number.isSafeInteger(ms) && ms >= 0)).toBe(true);
        },
      ),
    );
  });
});

describe('H57 the daily report adds up for every possible payout', () => {
  test('received and returned cover every successful payment exactly once', () => {
    fc.assert(
      fc.property(tradeDetails, (detail) => {
        const splits = splitsOf(detail);
        const { received, returned } = movedMoney({ ...detail, splits });
        const succeeded = splits.filter(({ status }) => status === 'SUCCESS').map(({ target }) => target);
        if (splits.length > 0) expectSameSums([...received, ...returned], succeeded);
        expectSameSums(
          returned,
          splits
            .filter(({ status, refunded }) => status === 'SUCCESS' && refunded)
            .map(({ target }) => target),
        );
      }),
    );
  });

  test('a returned payment does not count as received', () => {
    const target = { currency: 'CNY', amount: '9999999999999999.99' };
    const split = { distributeId: 'S-1', target, status: 'SUCCESS', refunded: false } as const;
    const splits = [split, { ...split, distributeId: 'S-2', refunded: true }];
    const received = { currency: 'CNY', amount: '19999999999999999.98' };
    expect(movedMoney({ received, splits })).toEqual({ received: [target], failed: [], returned: [target] });
  });

  test('partial reports add up in any order, beyond the digits of a single amount', () => {
    const amounts = fc.array(
      fc.record({
        currency: fc.constantFrom('CNY', 'USD'),
        amount: fc.stringMatching(/^\d{1,40}\.\d{2}$/),
      }),
      { maxLength: 4 },
    );
    const reports: fc.Arbitrary<AppReport> = fc
      .record({ app: fc.constantFrom('one', 'two'), received: amounts, failed: amounts, returned: amounts })
      .map(({ app, ...money }) => ({ ...emptyAppReport(app), ...money, changed: 1, notChecked: 1 }));
    fc.assert(
      fc.property(fc.array(reports, { maxLength: 6 }), (apps) => {
        const parts = apps.map((one) => ({ ...emptyReportPart(), apps: [one] }));
        const added = mergeReportParts(parts);
        expect(mergeReportParts([...parts].reverse())).toEqual(added);
        for (const { app, received } of added.apps) {
          const own = apps.filter((one) => one.app === app);
          expectSameSums(
            received,
            own.flatMap((one) => one.received),
          );
        }
        expect(dailyReportSchema.shape.apps.parse(added.apps)).toEqual(added.apps);
      }),
    );
  });
});

describe('H263 a report never exceeds the size of a payload', () => {
  const LARGEST = 1_100_000;
  const appReports = (count: number) =>
    Array.from({ length: count }, (_, at) => {
      const sums = Array.from({ length: 5 }, (_x, n) => ({ currency: `C${n}`, amount: '12345678901.00' }));
      const app = `app-${String(at).padStart(6, '0')}`;
      return { ...emptyAppReport(app), received: sums, failed: sums, changed: 1 };
    });
  const change = (app: string, at: number) => ({
    ...{ app, partnerOrderId: `${at}`.padStart(64, 'x'), differences: ['OUTCOME_CHANGED', 'SPLITS_CHANGED'] },
    returned: Array.from({ length: 40 }, (_, n) => ({ currency: `C${n}`, amount: '1.00' })),
  });

  test('with more applications and changes than fit, it says which are missing', () => {
    const apps = appReports(20_000);
    const changes = apps.map(({ app }, at) => change(app, at));
    const merged = mergeReportParts([{ apps, changes, totalChanges: changes.length }]);
    expect(JSON.stringify(merged).length).toBeLessThan(LARGEST);
    expect(merged.totalChanges).toBe(20_000);
    expect(merged.changes.length).toBeGreaterThan(100);
    expect(merged.apps.length).toBeGreaterThan(500);
    expect(merged.appsMissingFrom).toBe(`app-${String(merged.apps.length).padStart(6, '0')}`);
  });

  test('an application that was left out once is never reported with a part of its sums', () => {
    const first = mergeReportParts([{ ...emptyReportPart(), apps: appReports(5_000) }]);
    const { appsMissingFrom = '' } = first;
    const later = { ...emptyAppReport('app-004999'), changed: 1 };
    const merged = mergeReportParts([first, { ...emptyReportPart(), apps: [later] }]);
    expect(merged).toEqual(first);
    expect(merged.apps.every(({ app }) => app < appsMissingFrom)).toBe(true);
    expect(mergeReportParts([{ ...emptyReportPart(), apps: [later] }, first])).toEqual(first);
  });
});

describe('H57 no answer of the provider makes an opening throw', () => {
  const opaque = fc
    .dictionary(
      fc.oneof(fc.constantFrom('id', 'account_id', 'payer_id', 'payerId', 'currency'), fc.string()),
      fc.anything(),
      { minKeys: 1 },
    )
    .map((wire) => opaqueResponse.safeParse(wire))
    .filter(({ success }) => success)
    .map(({ data }) => data ?? {});
  const lists = fc.option(fc.array(fc.string({ minLength: 1, maxLength: 64 })), { nil: undefined });

  test('reads, compares and shows the records', () => {
    const order = { app: 'default', requestId: 'r', payerId: 'p', currency: 'USD' };
    fc.assert(
      fc.property(opaque, lists, lists, fc.string(), (record, listed, before, accountId) => {
        const id = accountIdOf(record);
        expect(id === undefined || id.length <= 64).toBe(true);
        const problem = accountMismatch(order, { accountId, record, listed, before });
        expect(problem === undefined || problem.length > 0).toBe(true);
      }),
    );
  });

  test('has a state in every phase', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...RECEIVING_ACCOUNT_PHASES),
        lists,
        lists,
        times,
        (phase, listed, before, atMs) => {
          const record = {
            ...new ReceivingAccountRecord(0),
            phase,
            listed,
            before,
            lastAskedAtMs: atMs,
            confirmUntilMs: atMs,
          };
          const state = receivingAccountState(record, 'r');
          expect(receivingAccountStateSchema.parse(JSON.parse(JSON.stringify(state)))).toBeTruthy();
          expect(candidateAccounts(record).every((id) => !before?.includes(id))).toBe(true);
        },
      ),
    );
  });
});

describe('H57 no report of a part makes a batch throw', () => {
  const counts = fc.oneof(fc.nat(), fc.anything());
  const some = <T>(keys: readonly string[], values: fc.Arbitrary<T>) =>
    fc.dictionary(fc.constantFrom(...keys), values);
  const reports = fc.oneof(
    fc.anything(),
    fc.record(
      {
        ...{ started: counts, joined: counts, needingAttention: counts, offset: fc.constant(0) },
        ...{ digest: fc.constant('d'), allStarted: fc.boolean(), ended: fc.boolean() },
        phases: some(PHASES, counts),
        outcomes: some(ROW_OUTCOMES, counts),
        rows: some(['conflict', 'invalid', 'stopped'], fc.array(counts)),
      },
      { requiredKeys: [] },
    ),
  );

  test('an accepted report can be summed and shown', () => {
    fc.assert(
      fc.property(reports, fc.boolean(), (report, canceled) => {
        if (!isPartReport(report)) return;
        const part = { offset: 0, count: 2, digest: 'd', keys: '', held: true, report };
        const request = { app: 'default', batchId: 'b', count: 3 };
        const record = {
          ...new BatchRecord(request),
          parts: [{ ...part, hasTurn: false, isStopping: false }],
          canceled,
        };
        expect(batchState(record, false).sentence).not.toBe('');
        expect(Number.isNaN(sumTallies([report, emptyTally()]).started)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  test('accepts the report of a part, and rejects malformed ones', () => {
    const report = { ...emptyTally(), offset: 0, digest: 'd', allStarted: true, ended: false };
    expect(isPartReport(report)).toBe(true);
    expect(
      isPartReport({ ...report, phases: { PROCESSING: 2 }, rows: { ...report.rows, conflict: [1] } }),
    ).toBe(true);
    for (const odd of [
      { rows: {} },
      { rows: { ...report.rows, conflict: [{}] } },
      { outcomes: { SUCCESS: 1 } },
      { phases: { PROCESSING: 'two' } },
      { started: Number.NaN },
      { offset: '0' },
    ])
      expect(isPartReport({ ...report, ...odd })).toBe(false);
  });
});
