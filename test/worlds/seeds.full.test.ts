import { expect, test } from 'vitest';
import { simulate } from '../support/simulate.ts';

test.each([
  ['worlds', 1_015, 10, []],
  // They take less than half of the time.
  ['worlds of one payout, without batches', 2_001, 100, ['--max-payouts', '1']],
])('%s from seed %i: %i hold every invariant', async (_what, from, seeds, options) => {
  const { stdout } = await simulate('--from', `${from}`, '--seeds', `${seeds}`, ...options);
  expect(stdout).toContain(`${seeds} of ${seeds} seeds without a violation`);
});
