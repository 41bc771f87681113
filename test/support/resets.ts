/** A Workflow Reset as a person does it in the Temporal UI. */
import { freshNumber, type PayoutWorld } from './payout-world.ts';

/** To just before the workflow first scheduled this activity. */
export async function resetBefore(
  world: PayoutWorld,
  partnerOrderId: string,
  activity: string,
): Promise<void> {
  const handle = world.payouts.handle({ partnerOrderId });
  const { events } = await handle.fetchHistory();
  const scheduled = events?.findIndex(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === activity,
  );
  const task = events?.slice(0, scheduled).findLast((event) => event.workflowTaskCompletedEventAttributes);
  const { runId } = await handle.describe();
  await world.client.workflowService.resetWorkflowExecution({
    namespace: world.namespace,
    workflowExecution: { workflowId: handle.workflowId, runId },
    workflowTaskFinishEventId: task?.eventId ?? null,
    requestId: freshNumber(),
    reason: 'test',
  });
}
