import type { RunHistories } from '../../src/activities/payout/earlier-runs.ts';

/** A workflow id without other runs. */
export const NO_HISTORIES: RunHistories = {
  othersOf: async () => [],
  basesOf: async () => [],
  begunAt: async () => Date.now(),
  mayHaveOthers: async () => false,
  evidenceOf: async () => ({ deadlineMs: undefined, isCompleted: false, sent: [] }),
  argumentOf: async () => undefined,
};
