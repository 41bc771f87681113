import { describe, expect, test } from 'vitest';
import { UnmatchedNotifications } from '../../src/starters/api/receiver.ts';

describe('H30 notifications for unknown orders are kept in bounded memory', () => {
  test('each is looked up again after its rest, and dropped after two minutes', () => {
    const unmatched = new UnmatchedNotifications<string>();
    unmatched.keep('a', 'content', 0);
    expect(unmatched.due(4_999)).toBeUndefined();
    expect(unmatched.due(5_000)?.content).toBe('content');
    expect(unmatched.due(5_001), 'it rests after a look').toBeUndefined();
    expect(unmatched.due(119_999)?.key).toBe('a');
    expect(unmatched.due(125_000)).toBeUndefined();
    expect(unmatched.size).toBe(0);
  });

  test('a repeat does not lengthen its stay', () => {
    const unmatched = new UnmatchedNotifications<string>();
    unmatched.keep('a', 'first', 0);
    unmatched.keep('a', 'again', 119_000);
    expect(unmatched.due(124_001)).toBeUndefined();
    expect(unmatched.size).toBe(0);
  });

  test('everybody gets a turn', () => {
    const unmatched = new UnmatchedNotifications<string>();
    for (const key of ['a', 'b', 'c']) unmatched.keep(key, key, 0);
    expect([1, 2, 3].map(() => unmatched.due(5_000)?.key)).toEqual(['a', 'b', 'c']);
  });

  test('a flood never holds more than 10,000', () => {
    const unmatched = new UnmatchedNotifications<number>();
    for (let i = 0; i < 25_000; i += 1) unmatched.keep(`${i}`, i, i);
    expect(unmatched.size).toBe(10_000);
    expect(unmatched.has('24999')).toBe(true);
    expect(unmatched.has('0')).toBe(false);
  });
});
