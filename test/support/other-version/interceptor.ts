/** A version of our workflows in which a payout begins with another command, so that no other version can continue its run. */
import { sleep, type WorkflowInterceptorsFactory, workflowInfo } from '@temporalio/workflow';

export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [
    {
      async execute(input, next) {
        if (workflowInfo().workflowType === 'payout') sleep(1).catch(() => undefined);
        return next(input);
      },
    },
  ],
});
