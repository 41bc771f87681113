/** A version of our workflows with one additional command: no other version can continue what it started. */
import { sleep, type WorkflowInterceptorsFactory, workflowInfo } from '@temporalio/workflow';

const MODIFIED_TYPES: readonly string[] = ['payout', 'tokenRenewal'];

export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [
    {
      async execute(input, next) {
        if (MODIFIED_TYPES.includes(workflowInfo().workflowType)) await sleep(1);
        return next(input);
      },
    },
  ],
});
