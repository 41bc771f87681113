import type { WorkflowHandle } from '@temporalio/client';
import { newPartnerOrderId, type TestWorld } from './test-world.ts';

/** Resets the workflow, as an operator can, to right before it scheduled the first (or nth) activity of this type. */
export async function resetBefore(
  world: TestWorld,
  handle: Pick<WorkflowHandle, 'workflowId' | 'fetchHistory' | 'describe'>,
  activityType: string,
  nth = 1,
): Promise<void> {
  const { events } = await handle.fetchHistory();
  const scheduled = (events ?? []).filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === activityType,
  )[nth - 1];
  if (!scheduled) throw new Error(`${activityType} was not scheduled ${nth} times`);
  const task = events
    ?.slice(0, events.indexOf(scheduled))
    .findLast((event) => event.workflowTaskCompletedEventAttributes);
  const { runId } = await handle.describe();
  await world.client.workflowService.resetWorkflowExecution({
    namespace: world.namespace,
    workflowExecution: { workflowId: handle.workflowId, runId },
    workflowTaskFinishEventId: task?.eventId ?? null,
    requestId: newPartnerOrderId(),
    reason: 'test',
  });
}
