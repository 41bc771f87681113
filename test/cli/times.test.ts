import { expect, test } from 'vitest';
import { time } from '../../src/starters/cli/command.ts';

test.each([
  ['2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ['2026-01-31T12:00:00+08:00', '2026-01-31T04:00:00.000Z'],
])('reads %s', (text, iso) => expect(time(text)).toBe(iso));

test.each(['2026-02-31', '2026-02-29', '2026-02-31T00:00:00Z', '2026-13-01', '31.1.2026', 'now'])(
  'refuses %s',
  (text) => expect(() => time(text)).toThrow('must be a time such as'),
);
