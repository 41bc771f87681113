/** The promise of a start that its id is new. */
import { expect, test } from 'vitest';
import { provesNewId } from '../../src/domain/new-id.ts';

test('H330 a start proves a new id only for a minute', () => {
  const promise = '2026-11-28T00:00:00.000Z';
  const later = (ms: number) => provesNewId(promise, Date.parse(promise) + ms);
  expect([later(0), later(59_000), later(61_000), later(-61_000)]).toEqual([true, true, false, false]);
  expect([provesNewId(true, 0), provesNewId(false, 0), provesNewId('x', 0)]).toEqual([true, false, false]);
});
