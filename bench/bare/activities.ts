/** What the bare workflows call. */

import { activityInfo } from '@temporalio/activity';
import type { Client } from '@temporalio/client';

/** As long as a notification takes in the bench. */
const SIGNAL_AFTER_MS = 1_000;

export function bareActivities(client: Client) {
  return {
    async nothing(): Promise<void> {},
    /** Signals its workflow some time later. */
    async nothingThenSignal(): Promise<void> {
      const { workflowExecution } = activityInfo();
      if (!workflowExecution) throw new Error('called by a workflow only');
      const { workflowId, runId } = workflowExecution;
      setTimeout(() => void client.workflow.getHandle(workflowId, runId).signal('go'), SIGNAL_AFTER_MS);
    },
  };
}

export type BareActivities = ReturnType<typeof bareActivities>;
