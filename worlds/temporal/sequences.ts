/**
 * Which events one activation processes: core's `find_end_index_of_next_wft_seq`. A replay must form the same groups
 * as the original execution, from the events alone.
 */
import { type Entry, EventType, isCommandEvent, isFinal } from './history.ts';

const UNFINISHED: ReadonlySet<EventType> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
]);

/** The events up to the start of the next relevant workflow task, or all events if there is none. */
export function nextSequence(events: readonly Entry[], afterId: number): readonly Entry[] {
  return events.slice(0, endOfSequence(events, afterId) + 1);
}

interface Seen {
  commands: boolean;
  started: boolean;
  /** The start events of relevant workflow tasks. */
  starts: { id: number; index: number }[];
}

function endOfSequence(events: readonly Entry[], afterId: number): number {
  const seen: Seen = { commands: false, started: false, starts: [] };
  for (const [index, entry] of events.entries()) {
    if (entry.id <= afterId) continue;
    seen.commands ||= isCommandEvent(entry);
    seen.started ||= entry.type === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED;
    if (isFinal(entry)) return index;
    if (entry.type !== EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED) continue;
    const end = endAtStart(events, index, entry.id, seen);
    if (end !== undefined) return end;
  }
  return events.length - 1;
}

/** The events after the start of a workflow task decide whether the sequence ends there. */
function endAtStart(events: readonly Entry[], index: number, id: number, seen: Seen): number | undefined {
  const [next, afterNext] = [events[index + 1], events[index + 2]];
  if (next && UNFINISHED.has(next.type)) return undefined;
  seen.starts.push({ id, index });
  if (next?.type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED && afterNext) {
    // A task without a result, followed by another one.
    if (!seen.commands && afterNext.type === EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED) return undefined;
    const accepted = afterNext.event.workflowExecutionUpdateAcceptedEventAttributes;
    if (!accepted) return index;
    // An update is handled in the task that delivered it, which may be an earlier one.
    const before = seen.starts.findLast(
      (start) => start.id < Number(accepted.acceptedRequestSequencingEventId),
    );
    return before?.index ?? index;
  }
  return seen.commands || seen.started ? index : undefined;
}
