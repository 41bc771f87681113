/** History events as the server writes them. */
import { type Api, Long, temporal } from '../sdk.ts';
import { toStamp } from './time.ts';

export type EventType = Api.api.enums.v1.EventType;
export const { EventType } = temporal.api.enums.v1;
export type HistoryEvent = Api.api.history.v1.IHistoryEvent;
/** All fields of an event except its id, time and type. */
export type Attributes = Omit<HistoryEvent, 'eventId' | 'eventTime' | 'eventType' | 'taskId'>;

export interface Entry {
  readonly id: number;
  readonly type: EventType;
  readonly at: number;
  readonly event: HistoryEvent;
  /** For an event that a command caused. */
  readonly fingerprint: Fingerprint | undefined;
}

/** A command byte for byte, and the workflow code that issued it. */
export interface Fingerprint {
  readonly bytes: string;
  readonly codeVersion: string;
}

export function newEntry(
  id: number,
  at: number,
  type: EventType,
  attributes: Attributes,
  fingerprint?: Fingerprint,
): Entry {
  const event = { ...attributes, eventId: Long.fromNumber(id), eventTime: toStamp(at), eventType: type };
  return { id, type, at, event: { ...event, taskId: Long.fromNumber(id + 1_000_000) }, fingerprint };
}

const COMMAND_EVENTS: ReadonlySet<EventType> = new Set([
  EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
  EventType.EVENT_TYPE_MARKER_RECORDED,
  EventType.EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
  EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
  EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
  EventType.EVENT_TYPE_TIMER_CANCELED,
  EventType.EVENT_TYPE_TIMER_STARTED,
  EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
  EventType.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED,
]);

const FINAL_EVENTS: ReadonlySet<EventType> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
]);

export function isCommandEvent({ type }: Entry): boolean {
  return COMMAND_EVENTS.has(type);
}

export function isFinal({ type }: Entry): boolean {
  return FINAL_EVENTS.has(type);
}

/** The id of the event that started the timer, activity, child or workflow task that this event belongs to. */
export function initiatingEventId({ event }: Entry): number | undefined {
  const scheduled =
    event.activityTaskStartedEventAttributes ??
    event.activityTaskCompletedEventAttributes ??
    event.activityTaskFailedEventAttributes ??
    event.activityTaskTimedOutEventAttributes ??
    event.activityTaskCanceledEventAttributes ??
    event.workflowTaskStartedEventAttributes ??
    event.workflowTaskCompletedEventAttributes ??
    event.workflowTaskTimedOutEventAttributes ??
    event.workflowTaskFailedEventAttributes;
  if (scheduled) return Number(scheduled.scheduledEventId);
  const initiated =
    event.requestCancelExternalWorkflowExecutionFailedEventAttributes ??
    event.externalWorkflowExecutionCancelRequestedEventAttributes ??
    event.startChildWorkflowExecutionFailedEventAttributes ??
    event.childWorkflowExecutionStartedEventAttributes ??
    childEnd(event) ??
    event.signalExternalWorkflowExecutionFailedEventAttributes ??
    event.externalWorkflowExecutionSignaledEventAttributes;
  if (initiated) return Number(initiated.initiatedEventId);
  const { timerFiredEventAttributes: fired } = event;
  return fired ? Number(fired.startedEventId) : undefined;
}

export function childEnd(event: HistoryEvent) {
  return (
    event.childWorkflowExecutionCompletedEventAttributes ??
    event.childWorkflowExecutionFailedEventAttributes ??
    event.childWorkflowExecutionCanceledEventAttributes ??
    event.childWorkflowExecutionTimedOutEventAttributes ??
    event.childWorkflowExecutionTerminatedEventAttributes
  );
}

const { HistoryEvent: EventMessage, History } = temporal.api.history.v1;
/** Caches: events never change, and clients read them often. */
const encodings = new WeakMap<Entry, Uint8Array>();
const messages = new WeakMap<Entry, Api.api.history.v1.HistoryEvent>();

/** As the server stores it: ids, types, memos, search attributes, failures and payloads. */
export function encodingOf(entry: Entry): Uint8Array {
  const cached = encodings.get(entry);
  if (cached) return cached;
  const bytes = EventMessage.encode(entry.event).finish();
  encodings.set(entry, bytes);
  return bytes;
}

function messageOf(entry: Entry): Api.api.history.v1.HistoryEvent {
  const cached = messages.get(entry);
  if (cached) return cached;
  const message = EventMessage.decode(encodingOf(entry));
  messages.set(entry, message);
  return message;
}

/** For `Worker.runReplayHistory`, the UI and the tests. */
export function exported(entries: readonly Entry[]): Api.api.history.v1.History {
  return History.create({ events: entries.map(messageOf) });
}

/** The request of an update that a reset applied again. The event that accepts it doesn't repeat the request. */
export function admittedRequest({ event }: Entry): Api.api.update.v1.IRequest | undefined {
  return event.workflowExecutionUpdateAdmittedEventAttributes?.request ?? undefined;
}

export interface ActivityRun {
  type: string;
  atMs: number;
  endedAtMs: number;
  ended: 'completed' | 'failed' | 'timed-out' | 'open';
}

/** In the order in which they were scheduled. */
export function activitiesIn(entries: readonly Entry[]): ActivityRun[] {
  const byId = new Map<number, ActivityRun>();
  const end = (scheduledId: unknown, atMs: number, ended: ActivityRun['ended']) => {
    const activity = byId.get(Number(scheduledId));
    if (activity) Object.assign(activity, { ended, endedAtMs: atMs });
  };
  for (const { id, type, at, event } of entries) {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled)
      byId.set(id, {
        type: scheduled.activityType?.name ?? '',
        ...{ atMs: at, endedAtMs: Number.POSITIVE_INFINITY, ended: 'open' },
      });
    else if (type === EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED)
      end(event.activityTaskCompletedEventAttributes?.scheduledEventId, at, 'completed');
    else if (type === EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED)
      end(event.activityTaskFailedEventAttributes?.scheduledEventId, at, 'failed');
    else if (type === EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT)
      end(event.activityTaskTimedOutEventAttributes?.scheduledEventId, at, 'timed-out');
  }
  return [...byId.values()];
}
