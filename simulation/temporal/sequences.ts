/**
 * Which events of a history one activation sees: core's `find_end_index_of_next_wft_seq`. A replay must form the same
 * groups as the first run did, although it has nothing but the events.
 */
import { type Entry, EventType, isCommandEvent, isFinal } from './history.ts';

const UNFINISHED: ReadonlySet<EventType> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
]);

/** The events up to the start of the next workflow task that did something. All events where none ends the sequence. */
export function nextSequence(events: readonly Entry[], afterId: number): readonly Entry[] {
  return events.slice(0, endOfSequence(events, afterId) + 1);
}

interface Seen {
  commands: boolean;
  begun: boolean;
  /** The starts of workflow tasks that count. */
  starts: { id: number; index: number }[];
}

function endOfSequence(events: readonly Entry[], afterId: number): number {
  const seen: Seen = { commands: false, begun: false, starts: [] };
  for (const [index, entry] of events.entries()) {
    if (entry.id <= afterId) continue;
    seen.commands ||= isCommandEvent(entry);
    seen.begun ||= entry.type === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED;
    if (isFinal(entry)) return index;
    if (entry.type !== EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED) continue;
    const end = endAtStart(events, index, entry.id, seen);
    if (end !== undefined) return end;
  }
  return events.length - 1;
}

/** What follows the start of a workflow task says whether the sequence ends there. */
function endAtStart(events: readonly Entry[], index: number, id: number, seen: Seen): number | undefined {
  const [next, afterNext] = [events[index + 1], events[index + 2]];
  if (next && UNFINISHED.has(next.type)) return undefined;
  seen.starts.push({ id, index });
  if (next?.type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED && afterNext) {
    // A task that only kept a local activity alive.
    if (!seen.commands && afterNext.type === EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED) return undefined;
    const accepted = afterNext.event.workflowExecutionUpdateAcceptedEventAttributes;
    if (!accepted) return index;
    // An update is handled in the task that it came with, which may be an earlier one.
    const before = seen.starts.findLast(
      (start) => start.id < Number(accepted.acceptedRequestSequencingEventId),
    );
    return before?.index ?? index;
  }
  return seen.commands || seen.begun ? index : undefined;
}
