/** A snapshot of Temporal's database, and its restore (H53), which loses everything that happened since. */

import { temporal } from '../sdk.ts';
import { type Attributes, EventType } from './history.ts';
import { restoreState } from './reset.ts';
import { id, type Run } from './run.ts';
import type { Temporal } from './temporal.ts';

const { TimeoutType } = temporal.api.enums.v1;

type RunSnapshot = Pick<
  Run,
  'workflowId' | 'runId' | 'started' | 'entries' | 'status' | 'closedAt' | 'nextRunId' | 'failedTasks'
>;
export type Snapshot = readonly RunSnapshot[];

export function snapshotOf({ runs }: Temporal): Snapshot {
  return runs.map(({ workflowId, runId, started, entries, status, closedAt, nextRunId, failedTasks }) => ({
    ...{ workflowId, runId, started, status, closedAt, nextRunId, failedTasks },
    entries: [...entries],
  }));
}

/** Discards all pending work. What the restored histories have pending starts again at its first attempt. */
export function restore(server: Temporal, snapshot: Snapshot): void {
  server.forgetAll();
  for (const kept of snapshot) {
    const run = server.add(kept.workflowId, kept.runId, kept.started);
    run.entries.push(...kept.entries);
    const { status, closedAt, nextRunId, failedTasks } = kept;
    Object.assign(run, { status, closedAt, nextRunId, failedTasks });
    restoreState(server, run);
    if (run.isRunning) timeOutOpenTask(run);
    for (const watcher of run.watchers) watcher();
  }
  for (const run of server.runs) if (run.isRunning) server.resumeRequests(run);
}

/** The worker of an open workflow task never answers. Further attempts of a task are in no history. */
function timeOutOpenTask(run: Run): void {
  const last = run.entries.findLast(({ type }) => TASK_EVENTS.has(type));
  if (!last || last.type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED) return;
  const { workflowTaskStartedEventAttributes: started } = last.event;
  if (started)
    timeOut(run, {
      scheduledEventId: started.scheduledEventId ?? null,
      startedEventId: id(last.id),
      timeoutType: TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE,
    });
  else if (last.type === EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED)
    timeOut(run, {
      scheduledEventId: id(last.id),
      timeoutType: TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START,
    });
  run.scheduleTask();
}

function timeOut(run: Run, attributes: NonNullable<Attributes['workflowTaskTimedOutEventAttributes']>): void {
  run.write(EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, {
    workflowTaskTimedOutEventAttributes: attributes,
  });
}

const TASK_EVENTS: ReadonlySet<EventType> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
]);
