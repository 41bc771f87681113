/**
 * What a replay compares if other code recorded an event: other code may give the same command other attributes. Core
 * compares the ids and types of activities and child workflows, and the id of a timer when it fires.
 * The server rejects the cancellation of a timer by another id.
 */
import type { Command } from './commands.ts';
import type { Entry } from './history.ts';

/** Empty for events without an identity. */
export function identityIn(entry: Entry): string {
  const { event } = entry;
  const activity = event.activityTaskScheduledEventAttributes;
  const child = event.startChildWorkflowExecutionInitiatedEventAttributes;
  const timer = event.timerStartedEventAttributes;
  if (activity) return nameOf(activity.activityType?.name, activity.activityId);
  if (child) return nameOf(child.workflowType?.name, child.workflowId);
  return timer ? nameOf('timer', timer.timerId) : '';
}

export function identityOf({ type, attributes }: Command): string {
  switch (type) {
    case 'scheduleActivity':
      return nameOf(attributes.activityType, attributes.activityId);
    case 'startChild':
      return nameOf(attributes.workflowType, attributes.workflowId);
    case 'startTimer':
      return nameOf('timer', `${attributes.seq}`);
    default:
      return '';
  }
}

function nameOf(type: string | null | undefined, id: string | null | undefined): string {
  return `${type} ${id}`;
}
