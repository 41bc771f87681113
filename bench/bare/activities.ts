/** The activities of the bare workflows. */

import { activityInfo } from '@temporalio/activity';
import type { Client } from '@temporalio/client';

/** The delay of a notification in the benchmarks. */
const SIGNAL_AFTER_MS = 1_000;

export function bareActivities(client: Client) {
  return {
    async nothing(): Promise<void> {},
    /** Signals its workflow after the delay. */
    async nothingThenSignal(): Promise<void> {
      const { workflowExecution } = activityInfo();
      if (!workflowExecution) throw new Error('only a workflow can call it');
      const { workflowId, runId } = workflowExecution;
      setTimeout(() => void client.workflow.getHandle(workflowId, runId).signal('go'), SIGNAL_AFTER_MS);
    },
  };
}

export type BareActivities = ReturnType<typeof bareActivities>;
