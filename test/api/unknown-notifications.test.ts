import { describe, expect, test } from 'vitest';
import { UnknownNotifications } from '../../src/starters/api/unknown-notifications.ts';

describe('H30 notifications for unknown orders use bounded memory', () => {
  test('looks each up again after a pause, and drops it after two minutes', () => {
    const unknown = new UnknownNotifications<string>();
    unknown.keep('a', 'content', 0);
    expect(unknown.due(4_999)).toBeUndefined();
    expect(unknown.due(5_000)?.content).toBe('content');
    expect(unknown.due(5_001), 'it rests after a look').toBeUndefined();
    expect(unknown.due(119_999)?.key).toBe('a');
    expect(unknown.due(125_000)).toBeUndefined();
    expect(unknown.size).toBe(0);
  });

  test('a repeated notification does not extend its retention', () => {
    const unknown = new UnknownNotifications<string>();
    unknown.keep('a', 'first', 0);
    unknown.keep('a', 'again', 119_000);
    expect(unknown.due(124_001)).toBeUndefined();
    expect(unknown.size).toBe(0);
  });

  test('looks up all entries in turn', () => {
    const unknown = new UnknownNotifications<string>();
    for (const key of ['a', 'b', 'c']) unknown.keep(key, key, 0);
    expect([1, 2, 3].map(() => unknown.due(5_000)?.key)).toEqual(['a', 'b', 'c']);
  });

  test('holds at most 10,000 notifications', () => {
    const unknown = new UnknownNotifications<number>();
    for (let i = 0; i < 25_000; i += 1) unknown.keep(`${i}`, i, i);
    expect(unknown.size).toBe(10_000);
    expect(unknown.has('24999')).toBe(true);
    expect(unknown.has('0')).toBe(false);
  });
});
