import { describe, expect, test } from 'vitest';
import type { DeliveryOutcome, DeliveryRecord } from '../../src/contract/events.ts';
import {
  applyReport,
  DELIVERY_LIMITS,
  endpointState,
  enqueue,
  newDeliveryRecord,
  nextBatch,
  nextTryMs,
  orderKey,
} from '../../src/domain/events-delivery.ts';
import { DAY_MS, HOUR_MS } from '../../src/domain/time.ts';

const NOW = 1_000_000_000;
const KEY = { environment: 'test', app: 'default', endpoint: 'shop' };

function queue(record: DeliveryRecord, ...sources: string[]): void {
  const from = record.waiting.length;
  const events = sources.map((source, at) => ({
    ...{ id: `e${from + at}`, source: `payout:default:${source}` },
    ...{ type: 'payout.completed' as const, body: '{}' },
  }));
  enqueue(record, { events, atMs: NOW });
}

function apply(record: DeliveryRecord, nowMs: number, outcomes: DeliveryOutcome[], workerAheadMs = 0): void {
  applyReport(record, { outcomes, atMs: nowMs + workerAheadMs }, { nowMs, chance: 0.5 });
}

const failed = (id: string): DeliveryOutcome => ({ id, kind: 'failed', reason: 'HTTP_500' });
const idsOf = (events: readonly { id: string }[]) => events.map(({ id }) => id);

describe('the queue of an endpoint', () => {
  test('a payout and its follow-up share one order', () => {
    expect(orderKey('payout-follow-up:default:p-1')).toBe(orderKey('payout:default:p-1'));
    expect(orderKey('payout:default:p-1')).not.toBe(orderKey('payout:other:p-1'));
  });

  test('pauses triple up to two hours, and each probe has one event of an order', () => {
    const record = newDeliveryRecord();
    queue(record, 'a', 'a', 'b');
    const pauses: number[] = [];
    for (let nowMs = NOW, tries = 0; tries < 9; tries += 1) {
      const batch = nextBatch(record, nowMs);
      if (tries > 0) expect(idsOf(batch)).not.toContain('e1');
      apply(record, nowMs, [failed('e0')]);
      const nextMs = nextTryMs(record) ?? 0;
      pauses.push(nextMs - nowMs);
      nowMs = nextMs;
    }
    expect(pauses.slice(0, 4)).toEqual([5_000, 15_000, 45_000, 135_000]);
    expect(pauses.at(-1)).toBe(2 * HOUR_MS);
  });

  test('a worker whose clock is a day ahead does not lengthen a pause, or disable the endpoint', () => {
    const record = newDeliveryRecord();
    queue(record, 'a');
    apply(record, NOW, [failed('e0')], DAY_MS);
    apply(record, NOW + 5_000, [failed('e0')], 4 * DAY_MS);
    expect(record.disabled).toBeUndefined();
    expect(nextTryMs(record)).toBe(NOW + 20_000);
  });

  test('an endpoint that has only failed is flagged after an hour, and disabled after three days', () => {
    const record = newDeliveryRecord();
    queue(record, 'a');
    const codes = (afterMs: number) => {
      apply(record, NOW + afterMs, [failed('e0')]);
      return record.attention.map(({ code }) => code);
    };
    expect(codes(0)).toEqual([]);
    expect(codes(HOUR_MS)).toEqual(['ENDPOINT_FAILS']);
    expect(codes(3 * DAY_MS - 1)).toEqual(['ENDPOINT_FAILS']);
    expect(codes(3 * DAY_MS)).toEqual(['ENDPOINT_DISABLED']);
    expect(nextBatch(record, NOW + 4 * DAY_MS)).toEqual([]);
    expect(record.waiting).toEqual([
      { id: 'e0', source: 'payout:default:a', type: 'payout.completed', body: '{}' },
    ]);
    expect(endpointState(KEY, record)).toMatchObject({ isEnabled: false, waiting: 1 });
  });

  test('a workflow that cannot be read now is not a failure of the endpoint', () => {
    const record = newDeliveryRecord();
    queue(record, 'a');
    apply(record, NOW, [{ id: 'e0', kind: 'unread', reason: 'NO_WORKER' }]);
    expect(record).toMatchObject({ failures: 0, waiting: [{ id: 'e0', attempts: 1 }] });
  });

  test.each([
    ['plain', 'x', 5_000],
    ['full of quotes', '"', 4_000],
  ])('a full queue fits into one argument of Temporal: bodies are %s', (_what, char, atLeast) => {
    const record = newDeliveryRecord();
    const source = `payout:${'a'.repeat(32)}:${'b'.repeat(64)}`;
    const body = JSON.stringify({ text: char.repeat(4_000) });
    const events = Array.from({ length: 12_000 }, (_, at) => ({
      ...{ id: `evt_${`${at}`.padStart(32, '0')}`, source, type: 'payout.completed' as const, body },
    }));
    for (let from = 0; from < events.length; from += 500)
      enqueue(record, { events: events.slice(from, from + 500), atMs: NOW });
    expect(record.disabled?.code).toBe('BACKLOG');
    expect(record.lost + record.waiting.length).toBe(12_000);
    expect(record.waiting.length).toBeGreaterThan(atLeast);
    expect(JSON.stringify(record).length).toBeLessThan(2_000_000);
    expect(DELIVERY_LIMITS.waiting).toBe(10_000);
  });
});
