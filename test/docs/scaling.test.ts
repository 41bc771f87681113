import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { historyCosts, SCALING_PAGE, scalingPage } from '../../scripts/write-scaling.ts';

test('docs/scaling.md equals the output of npm run generate', () => {
  expect(readFileSync(SCALING_PAGE, 'utf8')).toBe(scalingPage());
});

/** The claim of the create call is one more action, without a history event. New generations are added beside the old ones, so growth shows as a larger figure of the same payout. */
test.each([
  ['notified', 30, 8, 13_000],
  ['polled', 30, 7, 13_000],
])('a payout that is %s costs at most %i events, %i actions and %i bytes', (name, events, actions, bytes) => {
  const recorded = historyCosts().filter((cost) => cost.name.endsWith(`-${name}`));
  expect(recorded.length).toBeGreaterThan(0);
  for (const cost of recorded) {
    expect(cost.events).toBeLessThanOrEqual(events);
    expect(cost.actions).toBeLessThanOrEqual(actions);
    expect(cost.bytes).toBeLessThanOrEqual(bytes);
  }
});
