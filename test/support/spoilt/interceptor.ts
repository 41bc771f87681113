/** A version of our workflows that does one thing more: what it began, the other versions cannot go on with. */
import { sleep, type WorkflowInterceptorsFactory, workflowInfo } from '@temporalio/workflow';

const SPOILT: readonly string[] = ['payout', 'tokenRenewal'];

export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [
    {
      async execute(input, next) {
        if (SPOILT.includes(workflowInfo().workflowType)) await sleep(1);
        return next(input);
      },
    },
  ],
});
