/** The subjects of part 6: a payout, and the steps up to it from a bare workflow of four empty activities. */
import type * as bareWorkflows from '../bare/workflow.ts';
import { benchRequest } from '../pay.ts';
import type { BenchStage, StageOptions } from '../stage.ts';
import { SOON_FINAL, UNLIMITED, WORKERS } from './settings.ts';

export interface Subject {
  workflowType: string;
  stage: StageOptions;
  start(stage: BenchStage, number: number): Promise<void>;
}

export const SUBJECTS = {
  ours: {
    workflowType: 'payout',
    stage: { workers: WORKERS, ...UNLIMITED },
    start: async ({ payouts }, number) => {
      await payouts.start(benchRequest(number, 'default', SOON_FINAL));
    },
  },
  baseline: bare('bareFour'),
  queued: bare('bareQueued'),
  waiting: bare('bareWaiting'),
} satisfies Record<string, Subject>;

function bare(workflowType: keyof typeof bareWorkflows): Subject {
  return {
    workflowType,
    stage: { workers: WORKERS, program: 'bench/bare/worker.ts' },
    start: async ({ client }, number) => {
      await client.workflow.start(workflowType, { workflowId: `bare-${number}`, taskQueue: 'bare' });
    },
  };
}
